package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Configurations of clients are JSON with comments and trailing commas. They are
// edited as text, so that all of it that is not our entry stays as it is, byte for
// byte.

// member is a key of an object and where it stands.
type member struct {
	key       string
	at        int // of the key's first quote
	from, end int // of the value
	comma     int // after the value; -1: none
}

// body is an object and where it stands.
type body struct {
	open, close int // of its braces
	members     []member
}

var errShape = errors.New("not an object of JSON")

// jsonSet puts a value at a path of keys, making the objects on the way there.
func jsonSet(src string, path []string, value string) (string, error) {
	if strings.TrimSpace(src) == "" {
		src = "{\n}\n"
	}
	b, i, err := walk(src, path)
	if err != nil {
		return "", err
	}
	key := path[i]
	if m := b.member(key); m != nil { // walk stops early only where it is absent
		return src[:m.from] + value + src[m.end:], nil
	}
	for j := len(path) - 1; j > i; j-- {
		value = "{" + quoted(path[j]) + ": " + value + "}"
	}
	return b.insert(src, quoted(key)+": "+value), nil
}

// jsonCut takes a path out again.
func jsonCut(src string, path []string) (string, error) {
	if strings.TrimSpace(src) == "" {
		return src, nil
	}
	b, i, err := walk(src, path)
	if err != nil || i < len(path)-1 || b.member(path[i]) == nil {
		return src, err
	}
	return b.cut(src, path[i]), nil
}

// walk follows a path and returns the object of its last key, or the innermost one
// there is, and the place in the path of the key to look for there.
func walk(src string, path []string) (b body, i int, err error) {
	at, err := skip(src, 0)
	if err != nil {
		return b, 0, err
	}
	if b, err = objectAt(src, at); err != nil {
		return b, 0, err
	}
	if rest, err := skip(src, b.close+1); err != nil || rest < len(src) {
		return b, 0, fmt.Errorf("something follows the object at byte %d", rest)
	}
	for i = 0; i < len(path)-1; i++ {
		m := b.member(path[i])
		if m == nil {
			return b, i, nil
		}
		if b, err = objectAt(src, m.from); err != nil {
			return b, i, fmt.Errorf("%q: %w", path[i], err)
		}
	}
	return b, i, nil
}

func (b body) member(key string) *member {
	for i := len(b.members) - 1; i >= 0; i-- { // of two, the last counts
		if b.members[i].key == key {
			return &b.members[i]
		}
	}
	return nil
}

// insert adds a member at the end, on a line of its own where the brace is on one.
func (b body) insert(src, text string) string {
	line := strings.LastIndexByte(src[:b.close], '\n') + 1
	own := strings.TrimSpace(src[line:b.close]) == "" && line > b.open
	separator, tail := "", ""
	if n := len(b.members); n > 0 {
		last := b.members[n-1]
		if last.comma < 0 {
			src = src[:last.end] + "," + src[last.end:]
			b.close, line = b.close+1, line+1
		} else {
			tail = ","
		}
		separator = " "
	}
	if !own {
		// A comment that runs to the end of its line would swallow what follows it,
		// but then the brace is on a line of its own.
		return src[:b.close] + separator + text + tail + src[b.close:]
	}
	indent := src[line:b.close] + "  "
	if n := len(b.members); n > 0 {
		at := b.members[n-1].at
		first := strings.LastIndexByte(src[:at], '\n') + 1
		if lead := src[first:at]; strings.TrimSpace(lead) == "" {
			indent = lead
		}
	}
	end := "\n"
	if strings.HasSuffix(src[:line], "\r\n") {
		end = "\r\n"
	}
	return src[:line] + indent + text + tail + end + src[line:]
}

// cut takes a member out, with its line when nothing else is on it, and with the
// comma that it needed.
func (b body) cut(src, key string) string {
	i := len(b.members) - 1
	for b.members[i].key != key {
		i--
	}
	m := b.members[i]
	end := m.end
	if m.comma >= 0 {
		end = m.comma + 1
	}
	at := m.at
	line := strings.LastIndexByte(src[:at], '\n') + 1
	rest := strings.IndexByte(src[end:], '\n')
	if strings.TrimSpace(src[line:at]) == "" && rest >= 0 && strings.TrimSpace(src[end:end+rest]) == "" {
		at, end = line, end+rest+1
	} else if at > 0 && src[at-1] == ' ' && i > 0 {
		at--
	}
	if m.comma < 0 && i > 0 {
		comma := b.members[i-1].comma
		return src[:comma] + src[comma+1:at] + src[end:]
	}
	return src[:at] + src[end:]
}

// objectAt reads the object that begins at a place.
func objectAt(src string, at int) (b body, err error) {
	b.open = at
	if at >= len(src) || src[at] != '{' {
		return b, errShape
	}
	for i := at + 1; ; {
		if i, err = skip(src, i); err != nil {
			return b, err
		}
		if i < len(src) && src[i] == '}' {
			b.close = i
			return b, nil
		}
		m := member{at: i, comma: -1}
		if i, err = str(src, i); err != nil {
			return b, err
		}
		if err := json.Unmarshal([]byte(src[m.at:i]), &m.key); err != nil {
			return b, err
		}
		if i, err = skip(src, i); err != nil || i >= len(src) || src[i] != ':' {
			return b, fmt.Errorf("no colon after the key %q", m.key)
		}
		if m.from, err = skip(src, i+1); err != nil {
			return b, err
		}
		if m.end, err = value(src, m.from, 0); err != nil {
			return b, err
		}
		if i, err = skip(src, m.end); err != nil {
			return b, err
		}
		switch {
		case i < len(src) && src[i] == ',':
			m.comma = i
			i++
		case i >= len(src) || src[i] != '}':
			return b, fmt.Errorf("no comma and no end after the key %q", m.key)
		}
		b.members = append(b.members, m)
	}
}

// skip goes over blanks and comments.
func skip(src string, i int) (int, error) {
	for i < len(src) {
		switch {
		case strings.IndexByte(" \t\r\n", src[i]) >= 0 || strings.HasPrefix(src[i:], "\ufeff") && i == 0:
			if src[i] >= 0x80 {
				i += 2
			}
			i++
		case strings.HasPrefix(src[i:], "//"):
			n := strings.IndexByte(src[i:], '\n')
			if n < 0 {
				return len(src), nil
			}
			i += n
		case strings.HasPrefix(src[i:], "/*"):
			n := strings.Index(src[i+2:], "*/")
			if n < 0 {
				return i, errors.New("a comment has no end")
			}
			i += n + 4
		default:
			return i, nil
		}
	}
	return i, nil
}

// str goes over a string.
func str(src string, i int) (int, error) {
	if i >= len(src) || src[i] != '"' {
		return i, fmt.Errorf("no string at byte %d", i)
	}
	for j := i + 1; j < len(src); j++ {
		switch src[j] {
		case '\\':
			j++
		case '"':
			return j + 1, nil
		}
	}
	return i, errors.New("a string has no end")
}

// value goes over any value. What is inside an array or a word is not looked at
// closely: it stays as it is.
func value(src string, i, depth int) (int, error) {
	switch {
	case i >= len(src) || depth > 1000:
		return i, errors.New("a value is missing, or too deep")
	case src[i] == '"':
		return str(src, i)
	case src[i] != '{' && src[i] != '[':
		n := strings.IndexAny(src[i:], ",]} \t\r\n/")
		if n <= 0 {
			return i, fmt.Errorf("no value at byte %d", i)
		}
		return i + n, nil
	}
	end := map[byte]byte{'{': '}', '[': ']'}[src[i]]
	for i++; ; {
		var err error
		if i, err = skip(src, i); err != nil {
			return i, err
		}
		switch {
		case i >= len(src):
			return i, errors.New("an object or a list has no end")
		case src[i] == end:
			return i + 1, nil
		case src[i] == ',' || src[i] == ':':
			i++
		default:
			if i, err = value(src, i, depth+1); err != nil {
				return i, err
			}
		}
	}
}
