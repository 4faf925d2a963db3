package body

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// secretWords are the runs of words that make a key secret.
var secretWords = [][]string{
	{"api", "key"}, {"apikey"}, {"secret"}, {"secrets"}, {"password"}, {"passwd"}, {"credential"},
	{"credentials"}, {"private", "key"}, {"access", "key"}, {"token"},
}

// Secret reports whether a key names a secret: in its snake form it holds, as whole
// words, one of api_key, apikey, secret, secrets, password, passwd, credential,
// credentials, private_key, access_key and token, or without its separators it ends
// in secret or token. So api_key_env is one, max_tokens and secretary are not.
func Secret(key string) bool {
	words := snake(key)
	for _, run := range secretWords {
		for i := 0; i+len(run) <= len(words); i++ {
			if slices.Equal(words[i:i+len(run)], run) {
				return true
			}
		}
	}
	compact := strings.Join(words, "")
	return strings.HasSuffix(compact, "secret") || strings.HasSuffix(compact, "token")
}

// snake parts a key into its words, in lower case.
func snake(key string) []string {
	var b strings.Builder
	runes := []rune(key)
	for i, r := range runes {
		after := i > 0 && (unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1]))
		before := i > 0 && unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
		if unicode.IsUpper(r) && (after || before) { // botToken, APIKey
			b.WriteByte(' ')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	separator := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return strings.FieldsFunc(b.String(), separator)
}

// WithoutSecrets returns a copy of a JSON value, as encoding/json has it, without
// the keys that name secrets, at any depth. The value itself is left alone.
func WithoutSecrets(v any) any { return strip(v, nil) }

// Redacted returns a copy of a JSON value whose secrets, those under keys that name
// one, are replaced by a remark. The value itself is left alone.
func Redacted(v any) any {
	return strip(v, func(key string) any { return fmt.Sprintf("[redacted: %s]", key) })
}

func strip(v any, instead func(key string) any) any {
	switch v := v.(type) {
	case map[string]any:
		kept := make(map[string]any, len(v))
		for key, value := range v {
			switch {
			case !Secret(key):
				kept[key] = strip(value, instead)
			case instead != nil:
				kept[key] = instead(key)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, value := range v {
			kept[i] = strip(value, instead)
		}
		return kept
	}
	return v
}
