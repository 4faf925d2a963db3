// Package name holds the one grammar for participants, rooms and space labels
// (spec/rooms-format.md, section 2), and the path component a name becomes.
package name

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/fault"
)

// Max is the length of the longest name, in bytes.
const Max = 64

// Rule says what a name may be, for messages.
const Rule = "a name is 1 to 64 of a-z 0-9 - / . and starts with a letter or digit"

// Check returns nil when s is a name. Otherwise the error has the code
// invalid_name and says what is wrong with it; what names the kind of thing,
// such as "room".
func Check(what, s string) error {
	problem := problem(s)
	if problem == "" {
		return nil
	}
	err := fault.New(fault.InvalidName, "invalid %s name: %q %s", what, clip(s), problem).WithHint(Rule)
	if lower := strings.ToLower(s); lower != s && Valid(lower) {
		err.WithHint("%s; did you mean %q?", Rule, lower)
	}
	return err
}

// Valid reports whether s is a name.
func Valid(s string) bool { return problem(s) == "" }

func problem(s string) string {
	switch {
	case s == "":
		return "is empty"
	case len(s) > Max:
		return "is longer than 64 bytes"
	}
	for i, r := range s {
		if !letter(r) && r != '-' && r != '/' && r != '.' {
			return describe(s[i:], i)
		}
	}
	switch {
	case !letter(rune(s[0])):
		return "does not start with a letter or digit"
	case strings.HasSuffix(s, "/"), strings.HasSuffix(s, "."), strings.HasSuffix(s, "-"):
		return "ends in " + s[len(s)-1:]
	case strings.Contains(s, ".."):
		return "contains .."
	case strings.Contains(s, "//"):
		return "contains //"
	}
	return ""
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }

// describe names an unwelcome character by its code point, since a look-alike
// letter or a control character would not tell itself apart when shown.
func describe(s string, offset int) string {
	r, width := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && width == 1 {
		return fmt.Sprintf("is not valid UTF-8 at byte %d", offset)
	}
	return fmt.Sprintf("has %U at byte %d", r, offset)
}

func clip(s string) string {
	if len(s) > 2*Max {
		return s[:2*Max] + "…"
	}
	return s
}

// Reserved reports whether a directory of this name could not be made on
// Windows, where a few device names are taken whatever their ending. Such rooms
// are read but not opened anew.
func Reserved(s string) bool {
	stem, _, _ := strings.Cut(s, ".")
	switch stem {
	case "con", "prn", "aux", "nul":
		return true
	}
	port := strings.TrimPrefix(strings.TrimPrefix(stem, "com"), "lpt")
	return len(stem) == 4 && len(port) == 1 && port[0] >= '1' && port[0] <= '9'
}

// Component returns a name as one path component.
func Component(s string) string { return strings.ReplaceAll(s, "/", "%2F") }

// FromComponent is the inverse of Component. ok is false for a component that is
// not the form of any name; readers skip those.
func FromComponent(c string) (s string, ok bool) {
	s = strings.ReplaceAll(c, "%2F", "/")
	return s, !strings.Contains(c, "/") && Valid(s)
}
