package yamldoc

import (
	"strconv"

	"gopkg.in/yaml.v3"
)

// String returns the scalar at a path of keys as its text is written: a plain no, 1e3, 0123 or
// 2026-01-01 is that string, whatever another reader would make of it. A plain null, ~ or nothing
// is "". It reports false when the key is missing, and an *Error when the value is a list or
// mapping.
func (d *Doc) String(path ...string) (value string, ok bool, err error) {
	n, err := d.find(path)
	if n == nil || err != nil {
		return "", false, err
	}
	if n.Kind != yaml.ScalarNode {
		return "", false, d.errorIn(n, "%q is %s, not a scalar", last(path), kind(n))
	}
	return scalar(n), true, nil
}

// Int returns the whole decimal number at a path, such as next_index. It reports false when the key
// is missing or its value null, and an *Error when it is anything else: a leading 0 or +, which
// readers take for different numbers, too.
func (d *Doc) Int(path ...string) (value int, ok bool, err error) {
	n, err := d.find(path)
	if n == nil || err != nil || null(n) {
		return 0, false, err
	}
	value, ok = number(n)
	if !ok {
		return 0, false, d.errorIn(n, "%q is not a whole number", last(path))
	}
	return value, true, nil
}

// Strings returns the list of scalars at a path, such as turn_order, each as written. A missing,
// null or empty list is nil. Anything else is an *Error.
func (d *Doc) Strings(path ...string) ([]string, error) {
	n, err := d.collection(yaml.SequenceNode, path)
	if n == nil || err != nil {
		return nil, err
	}
	var values []string
	for _, item := range n.Content {
		if resolve(item).Kind != yaml.ScalarNode {
			return nil, d.errorIn(item, "an item of %q is %s, not a scalar", last(path), kind(item))
		}
		values = append(values, resolve(item).Value)
	}
	return values, nil
}

// Ints returns the mapping to whole numbers at a path, such as quieted. A missing, null or empty
// one is nil. Anything else is an *Error.
func (d *Doc) Ints(path ...string) (map[string]int, error) {
	n, err := d.collection(yaml.MappingNode, path)
	if n == nil || err != nil || len(n.Content) == 0 {
		return nil, err
	}
	values := make(map[string]int, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		v, ok := number(n.Content[i+1])
		if !ok {
			return nil, d.errorIn(n.Content[i+1], "%q is not a whole number", n.Content[i].Value)
		}
		values[n.Content[i].Value] = v
	}
	return values, nil
}

// Keys returns the keys of the mapping at a path in the order of the document; those of the root
// without a path. A missing, null or empty mapping has none. Anything else is an *Error.
func (d *Doc) Keys(path ...string) ([]string, error) {
	n, err := d.collection(yaml.MappingNode, path)
	if n == nil || err != nil {
		return nil, err
	}
	var keys []string
	for i := 0; i < len(n.Content); i += 2 {
		keys = append(keys, n.Content[i].Value)
	}
	return keys, nil
}

// An Item is one mapping of a list, such as a participant.
type Item struct {
	Line, Column int // where it begins, from 1
	node         *yaml.Node
}

// Items returns the list at a path. A missing, null or empty list is nil; what is not a list is an
// *Error. An item that is not a mapping is returned too, and has no keys: one bad item disables
// only itself.
func (d *Doc) Items(path ...string) ([]Item, error) {
	n, err := d.collection(yaml.SequenceNode, path)
	if n == nil || err != nil {
		return nil, err
	}
	var items []Item
	for _, item := range n.Content {
		items = append(items, Item{Line: item.Line, Column: item.Column, node: resolve(item)})
	}
	return items, nil
}

// String returns the scalar of a key as Doc.String does. It reports false when there is none.
func (i Item) String(key string) (value string, ok bool) {
	if i.node == nil || i.node.Kind != yaml.MappingNode {
		return "", false
	}
	at := index(i.node, key)
	if at < 0 {
		return "", false
	}
	n := resolve(i.node.Content[at+1])
	return scalar(n), n.Kind == yaml.ScalarNode
}

// find returns the value at a path, nil when it is missing. An alias is followed once: what it
// names is no alias.
func (d *Doc) find(path []string) (*yaml.Node, error) {
	n := d.root
	for i, key := range path {
		if n.Kind != yaml.MappingNode {
			if null(n) {
				return nil, nil
			}
			return nil, d.errorIn(n, "%q is %s, not a mapping", path[i-1], kind(n))
		}
		at := index(n, key)
		if at < 0 {
			return nil, nil
		}
		n = resolve(n.Content[at+1])
	}
	return n, nil
}

// collection returns the list or mapping at a path, nil when it is missing or null.
func (d *Doc) collection(want yaml.Kind, path []string) (*yaml.Node, error) {
	n, err := d.find(path)
	switch {
	case n == nil || err != nil || null(n):
		return nil, err
	case n.Kind != want:
		return nil, d.errorIn(n, "%q is %s, not %s", last(path), kind(n), kind(&yaml.Node{Kind: want}))
	}
	return n, nil
}

// index returns where a key stands in the content of a mapping, or -1.
func index(mapping *yaml.Node, key string) int {
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func resolve(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func scalar(n *yaml.Node) string {
	if null(n) {
		return ""
	}
	return n.Value
}

func number(n *yaml.Node) (value int, ok bool) {
	n = resolve(n)
	value, err := strconv.Atoi(n.Value)
	return value, err == nil && n.Kind == yaml.ScalarNode && strconv.Itoa(value) == n.Value
}

// null reports whether n is a plain null, ~ or nothing.
func null(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && n.Tag == "!!null"
}

// bare reports whether n is a value without any text.
func bare(n *yaml.Node) bool { return null(n) && n.Value == "" && n.Anchor == "" }

// block reports whether n is a list or mapping of one or more lines an item.
func block(n *yaml.Node) bool { return len(n.Content) > 0 && n.Style&yaml.FlowStyle == 0 }

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	return "a scalar"
}

func last(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return path[len(path)-1]
}
