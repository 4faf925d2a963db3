package transcript

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/substrate-tools/substrate/lib/stamp"
)

const (
	fence = "---"
)

// File returns the content of the file an entry is kept in. Its front matter is
// for people: readers take author and time from the name.
func File(e Entry) []byte {
	var b bytes.Buffer
	b.WriteString(fence + "\nauthor: " + scalar(e.Author) + "\ntimestamp: " + stamp.Record(e.Time) + "\n")
	if e.ID != "" {
		id, _ := json.Marshal(e.ID) // a JSON string is a YAML string too
		b.WriteString("id: " + string(id) + "\n")
	}
	b.WriteString(fence + "\n\n" + e.Body + "\n")
	return b.Bytes()
}

// scalar quotes a name that YAML would read as something other than a string:
// a number, a date, or one of its words.
func scalar(s string) string {
	if strings.Trim(s, "0123456789-./abcdefox") == "" {
		return `"` + s + `"`
	}
	switch s {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n":
		return `"` + s + `"`
	}
	return s
}

// ParseFile returns the body in an entry's file, trimmed, and the ID in its front
// matter. A BOM before the front matter and CRLF line ends in it are accepted.
func ParseFile(data []byte) (body, id string) {
	front, rest, ok := frontMatter(string(data))
	if !ok {
		return strings.TrimSpace(string(data)), ""
	}
	for line := range strings.Lines(front) {
		if value, found := strings.CutPrefix(line, "id:"); found {
			id = unquote(strings.TrimSpace(value))
		}
	}
	return strings.TrimSpace(rest), id
}

// frontMatter cuts through the first line after the opening one that is exactly
// ---. ok is false when there is no opening line or no such line.
func frontMatter(s string) (front, rest string, ok bool) {
	s = strings.TrimPrefix(s, "\ufeff")
	at := 0
	for line := range strings.Lines(s) {
		text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		switch {
		case at == 0 && (text != fence || text == line):
			return "", "", false
		case at > 0 && text == fence:
			return s[:at], s[at+len(line):], true
		}
		at += len(line)
	}
	return "", "", false
}

func unquote(s string) string {
	var out string
	if strings.HasPrefix(s, `"`) && json.Unmarshal([]byte(s), &out) == nil {
		return out
	}
	if len(s) > 1 && s[0] == '\'' && s[len(s)-1] == '\'' {
		return strings.ReplaceAll(s[1:len(s)-1], "''", "'")
	}
	return s
}
