package preset

import (
	"bytes"
	"regexp"
	"strings"
	"unicode/utf8"
)

// maxExcerpt is the length of the longest excerpt, in characters.
const maxExcerpt = 300

// excerpt shows the line that a byte stands on so that people find it: its
// punctuation and, in quotes, the names that init.json and presets have anyway. All
// other words are left out, whatever they look like: on a line that does not parse
// nothing says which of them is a secret.
func (d *Doc) excerpt(offset int) string {
	start := bytes.LastIndexByte(d.text[:offset], '\n') + 1
	line, _, _ := strings.Cut(string(d.text[start:]), "\n")
	at := min(offset-start, len(line))
	shown := masked(line)
	if utf8.RuneCountInString(shown) <= maxExcerpt {
		return shown
	}
	// What matters is around the fault.
	before, after := []rune(masked(line[:at])), []rune(masked(line[at:]))
	before = before[max(0, len(before)-maxExcerpt*2/3):]
	if at > 0 && strings.ContainsRune(" \t", rune(line[at-1])) {
		before = append(before, ' ') // they are two words
	}
	return string(before) + string(after[:min(len(after), maxExcerpt-len(before))])
}

// masked replaces the words of a line that are not public by an ellipsis.
func masked(line string) string {
	const punctuation = " \t{}[]:,\""
	var b strings.Builder
	for i := 0; i < len(line); {
		word := line[i:]
		if j := strings.IndexAny(word, punctuation); j >= 0 {
			word = word[:j]
		}
		quoted := strings.HasSuffix(line[:i], `"`) && strings.HasPrefix(line[i+len(word):], `"`)
		switch {
		case word == "":
			word = line[i : i+1]
			b.WriteString(word)
		case quoted && public[word] || word == "true" || word == "false" || word == "null" || word == "//":
			b.WriteString(word)
		default:
			b.WriteString("…")
		}
		i += len(word)
	}
	return manyWords.ReplaceAllString(strings.TrimSpace(b.String()), "…")
}

var manyWords = regexp.MustCompile(`…([ \t]*…)+`)

// public are the names that excerpts may show.
var public = func() map[string]bool {
	all := map[string]bool{
		"manifest": true, "preset": true, "capabilities": true, "llm": true, "name": true, "description": true,
		"summary": true, "tier": true, "paths": true, "karma": true, "nirvana": true, "inherit": true,
	}
	for _, rules := range [][]rule{topRules, manifestRules, llmRules, soulRules, presetRules} {
		for _, r := range rules {
			all[r.key] = true
		}
	}
	for _, name := range capabilities {
		all[name] = true
	}
	return all
}()
