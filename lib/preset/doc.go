package preset

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// maxFile is the largest of the files that are read here, in bytes; maxBrackets is
// how many objects and lists one may have, so that none is too deep to read.
const (
	maxFile     = 4 << 20
	maxBrackets = 10000
)

// Doc is a JSON text that may have comments and trailing commas, and what it says.
// It is the one reader of init.json and of presets, so that no two places differ in
// what they take. It is never changed; With returns another one.
type Doc struct {
	Value any      // map[string]any, []any, string, json.Number, bool or nil
	Twice []string // dotted paths of keys that stand more than once; the last one counts

	text    []byte // without a byte order mark, its last line ended
	bom     bool
	unended bool // the last line had no end
	tree    hujson.Value
	newline string
}

const bom = "\ufeff"

// SyntaxError says where a text stops being JSON. It repeats no word of the text,
// which may be a secret.
type SyntaxError struct {
	Line, Column int // from 1; columns count characters
	What         string
	Excerpt      string // see excerpt
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.What) }

// ParseDoc reads a text. An error is a *SyntaxError.
func ParseDoc(data []byte) (*Doc, error) {
	d := &Doc{newline: "\n"}
	d.text, d.bom = bytes.CutPrefix(data, []byte(bom))
	if bytes.Contains(d.text, []byte("\r\n")) {
		d.newline = "\r\n"
	}
	// The parser wants an end of line behind a remark, even where the text ends.
	if d.unended = !bytes.HasSuffix(d.text, []byte("\n")); d.unended {
		d.text = append(bytes.Clone(d.text), '\n')
	}
	if i := invalid(d.text); i >= 0 {
		return nil, d.fault(i, "not UTF-8")
	}
	if n := bytes.Count(d.text, []byte("{")) + bytes.Count(d.text, []byte("[")); n > maxBrackets {
		return nil, d.fault(0, fmt.Sprintf("more than %d objects and lists", maxBrackets))
	}
	var err error
	if d.tree, err = hujson.Parse(d.text); err != nil {
		return nil, d.syntax(err)
	}
	d.Value = d.decode(d.tree.Value, nil)
	return d, nil
}

// invalid returns where the first byte is that is no UTF-8, or -1.
func invalid(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func (d *Doc) fault(offset int, what string) *SyntaxError {
	line, column := d.position(offset)
	return &SyntaxError{line, column, what, d.excerpt(offset)}
}

// syntax turns the parser's error, which may repeat a part of the text, into ours.
func (d *Doc) syntax(err error) error {
	var line, column int
	text := err.Error()
	if _, scan := fmt.Sscanf(text, "hujson: line %d, column %d:", &line, &column); scan != nil {
		return d.fault(0, "not JSON")
	}
	offset := 0
	for range line - 1 {
		offset += bytes.IndexByte(d.text[offset:], '\n') + 1
	}
	offset = min(offset+column-1, len(d.text))
	what := text[strings.Index(text, ": ")+2:]
	what = what[strings.Index(what, ": ")+2:]
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		offset, what = len(bytes.TrimRight(d.text, " \t\r\n")), "the text ends too soon"
	case strings.HasPrefix(what, "invalid literal"):
		what = "not a JSON value; a text stands in double quotes, on one line"
	}
	return d.fault(offset, what)
}

// position returns where a byte stands.
func (d *Doc) position(offset int) (line, column int) {
	before := d.text[:offset]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}

func (d *Doc) decode(v hujson.ValueTrimmed, path []string) any {
	switch v := v.(type) {
	case *hujson.Object:
		o := make(map[string]any, len(v.Members))
		for i := range v.Members {
			key := nameOf(v, i)
			at := append(path[:len(path):len(path)], key)
			if _, twice := o[key]; twice {
				d.Twice = append(d.Twice, Path(at...))
			}
			o[key] = d.decode(v.Members[i].Value.Value, at)
		}
		return o
	case *hujson.Array:
		list := make([]any, len(v.Elements))
		for i := range v.Elements {
			list[i] = d.decode(v.Elements[i].Value, append(path[:len(path):len(path)], strconv.Itoa(i)))
		}
		return list
	case hujson.Literal:
		switch v.Kind() {
		case '"':
			return v.String()
		case '0':
			return json.Number(v)
		case 'n':
			return nil
		}
		return v.Bool()
	}
	return nil
}

func nameOf(o *hujson.Object, i int) string { return o.Members[i].Name.Value.(hujson.Literal).String() }

// last returns which member of an object counts for a key, -1 for none.
func last(o *hujson.Object, key string) int {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if nameOf(o, i) == key {
			return i
		}
	}
	return -1
}

// Object returns the object that the text is; ok is false for any other value.
func (d *Doc) Object() (o map[string]any, ok bool) {
	o, ok = d.Value.(map[string]any)
	return o, ok
}

// At returns where a value stands or, when it is not there, what would hold it.
func (d *Doc) At(path ...string) (line, column int) { return d.position(d.offset(path)) }

func (d *Doc) offset(path []string) int { return d.find(path).StartOffset }

// find returns a value or, when it is not there, what would hold it.
func (d *Doc) find(path []string) *hujson.Value {
	at := &d.tree
	for _, key := range path {
		var next *hujson.Value
		switch v := at.Value.(type) {
		case *hujson.Object:
			if i := last(v, key); i >= 0 {
				next = &v.Members[i].Value
			}
		case *hujson.Array:
			if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v.Elements) {
				next = &v.Elements[i]
			}
		}
		if next == nil {
			break
		}
		at = next
	}
	return at
}

// Bytes returns the text as it was read.
func (d *Doc) Bytes() []byte {
	text := d.text
	if d.unended {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	if d.bom {
		return append([]byte(bom), text...)
	}
	return bytes.Clone(text)
}

// Path returns keys as one dotted path; a key that is no plain word is quoted.
func Path(keys ...string) string {
	parts := make([]string, len(keys))
	for i, key := range keys {
		plain := func(r rune) bool {
			return r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		}
		if parts[i] = key; key == "" || strings.ContainsFunc(key, func(r rune) bool { return !plain(r) }) {
			parts[i] = strconv.Quote(key)
		}
	}
	return strings.Join(parts, ".")
}
