// Package yamldoc edits a YAML file as a document: the bytes of what was not changed stay as they
// were, with comments, blank lines, unknown keys, key order, list indentation, quoting, BOM and
// line ends.
//
// Files of the room format (spec/rooms-format.md, sections 1, 4 and 9) are also written by other
// programs and by hand, so to decode one and write it again would lose what its people put there.
// Here yaml.v3 tells where a value stands and what it means; an edit changes only that text, and is
// kept only if the new text reads back as exactly what was asked.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"
)

// MaxBytes is the size of the largest document, in bytes. The largest file of the format, a crew or
// cursors of thousands of rooms, is well below; above, someone has put something else in its place.
const MaxBytes = 4 << 20

// MaxDepth is how deep mappings and lists may nest. The format itself uses five levels.
const MaxDepth = 100

const bom = "\ufeff"

// A Doc is one YAML document whose root is a mapping. It is not safe for concurrent use.
type Doc struct {
	path  string
	bom   string     // what stands before the text: a byte order mark or nothing
	text  string     // the document, without bom
	node  *yaml.Node // as decoded: comments around the root; nil when the file holds no root
	root  *yaml.Node // a mapping, always; an empty one on line 0 when the file holds none
	after map[string]string
}

// An Error says where a document is not as it must be.
type Error struct {
	Path         string // as given to Parse
	Line, Column int    // from 1; a column counts characters
	Problem      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Line, e.Column, e.Problem)
}

// Parse reads one YAML document whose root is a mapping; an empty file, or one of only comments, is
// an empty mapping. The path is only for messages.
//
// Every error is an *Error. Beside what is not YAML it refuses what would be read differently by
// another program or only after a guess: several documents, a key given twice at any level, a key
// that is not a scalar, merge conflict markers, control characters and invalid UTF-8, an alias
// inside its own anchor; and what is larger than MaxBytes or deeper than MaxDepth. Aliases are
// never expanded.
func Parse(path string, data []byte) (*Doc, error) {
	d := &Doc{path: path}
	if len(data) > MaxBytes {
		return nil, d.errorAt(1, 1, "larger than %d bytes", MaxBytes)
	}
	d.text = string(data)
	if rest, ok := strings.CutPrefix(d.text, bom); ok {
		d.bom, d.text = bom, rest
	}
	if err := d.checkText(); err != nil {
		return nil, err
	}
	if err := d.decode(); err != nil {
		return nil, err
	}
	if err := d.checkNode(d.root, 1, map[string]bool{}); err != nil {
		return nil, err
	}
	return d, nil
}

// Bytes returns the document. Unless something was changed, it is byte for byte what was given to
// Parse.
func (d *Doc) Bytes() []byte { return []byte(d.bom + d.text) }

// Place makes a top-level key that a later edit adds stand right behind another one. When that one
// is missing too, its own place counts; a key without a place is added at the end. It changes
// nothing by itself.
func (d *Doc) Place(key, after string) {
	if d.after == nil {
		d.after = make(map[string]string)
	}
	d.after[key] = after
}

func (d *Doc) errorAt(line, column int, format string, args ...any) error {
	return &Error{d.path, max(line, 1), max(column, 1), fmt.Sprintf(format, args...)}
}

func (d *Doc) errorIn(n *yaml.Node, format string, args ...any) error {
	return d.errorAt(n.Line, n.Column, format, args...)
}

// decode sets node and root.
func (d *Doc) decode() (err error) {
	defer func() {
		if p := recover(); p != nil { // no input is known to do this; a bad file must not end a program
			err = d.errorAt(1, 1, "not readable as YAML: %v", p)
		}
	}()
	d.root = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	dec := yaml.NewDecoder(strings.NewReader(d.text))
	var doc, second yaml.Node
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return nil
	} else if err != nil {
		return d.located(err)
	}
	if err := dec.Decode(&second); err == nil {
		return d.errorIn(&second, "a second document starts here")
	} else if !errors.Is(err, io.EOF) {
		return d.located(err)
	}
	switch root := doc.Content[0]; {
	case root.Kind == yaml.MappingNode:
		d.node, d.root = &doc, root
	case !bare(root):
		return d.errorIn(root, "the document is %s, not a mapping", kind(root))
	}
	return nil
}

// encode renders the whole document anew: the last resort of an edit.
func (d *Doc) encode(root *yaml.Node) (text string, ok bool) {
	if d.node == nil {
		return "", false
	}
	doc := *d.node
	doc.Content = []*yaml.Node{root}
	text, ok = marshal(&doc)
	return strings.ReplaceAll(text, "\n", newScanner(d.text).eol), ok
}

func marshal(n *yaml.Node) (text string, ok bool) {
	defer func() {
		if recover() != nil { // yaml.v3 panics on a node it cannot write
			ok = false
		}
	}()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(4)
	ok = enc.Encode(n) == nil
	return strings.ReplaceAll(b.String(), "\r\n", "\n"), ok
}
