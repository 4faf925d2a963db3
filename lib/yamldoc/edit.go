package yamldoc

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Every edit makes a tree of what the document must mean, then a text for it. The tree is new only
// along the path of the edit and shares all other nodes with the document's, so that a node's
// identity says "unchanged".

// A change makes the new value of a key from its old one; nil is no value. The old value itself
// means no change.
type change func(old *yaml.Node) (*yaml.Node, error)

// SetString sets the scalar at a path and creates missing parents. A value that already reads as
// this string stays as written. A new text keeps the quotes of the old one, and is quoted where
// some YAML reader would take it for something else. An error means that the path leads through, or
// to, something else than a mapping or scalar, or that the value is not UTF-8.
func (d *Doc) SetString(value string, path ...string) error {
	return d.set(path, func(old *yaml.Node) (*yaml.Node, error) {
		return d.scalar(old, path, text(value), func(n *yaml.Node) bool { return scalar(n) == value })
	})
}

// SetInt sets the number at a path as SetString does. It creates a missing key for 0 too.
func (d *Doc) SetInt(value int, path ...string) error {
	return d.set(path, func(old *yaml.Node) (*yaml.Node, error) {
		return d.scalar(old, path, integer(value), func(n *yaml.Node) bool {
			v, ok := number(n)
			return ok && v == value
		})
	})
}

// SetTime sets the time at a path as SetString does, in UTC as RFC 3339 without quotes: the form of
// created_at.
func (d *Doc) SetTime(value time.Time, path ...string) error {
	s := value.UTC().Format(time.RFC3339Nano)
	return d.set(path, func(old *yaml.Node) (*yaml.Node, error) {
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!timestamp", Value: s}
		return d.scalar(old, path, n, func(n *yaml.Node) bool { return n.Value == s })
	})
}

// SetStrings sets the list of scalars at a path. An item that stays keeps its text, its line
// comment and the comment lines right above it, and takes them along when the order changes; an
// item that goes takes them away. An empty list is written as [] where there was one, and not at
// all where there was none. An error means that the value is not such a list.
func (d *Doc) SetStrings(values []string, path ...string) error {
	now, err := d.Strings(path...)
	if err != nil || slices.Equal(now, values) {
		return err
	}
	return d.set(path, func(old *yaml.Node) (*yaml.Node, error) {
		stay := make(map[string][]*yaml.Node)
		list := like(old, yaml.SequenceNode)
		for _, item := range list.Content {
			value := resolve(item).Value
			stay[value] = append(stay[value], item)
		}
		list.Content = nil
		for _, value := range values {
			item := text(value)
			if s := stay[value]; len(s) > 0 {
				item, stay[value] = s[0], s[1:]
			}
			list.Content = append(list.Content, item)
		}
		return list, nil
	})
}

// SetInts sets the mapping to numbers at a path: what changed is changed in place, what is not in
// values is removed, what is new is added behind the rest, sorted. Comment lines stay. An empty
// mapping is written as {} where there was one, and not at all where there was none. An error means
// that the value is not a mapping.
func (d *Doc) SetInts(values map[string]int, path ...string) error {
	if now, err := d.Ints(path...); err == nil && maps.Equal(now, values) {
		return nil
	} else if _, err := d.Keys(path...); err != nil {
		return err
	}
	return d.set(path, func(old *yaml.Node) (*yaml.Node, error) {
		mapping := like(old, yaml.MappingNode)
		was := mapping.Content
		mapping.Content = nil
		for i := 0; i < len(was); i += 2 {
			want, ok := values[was[i].Value]
			if !ok {
				continue
			}
			v := was[i+1]
			if have, ok := number(v); !ok || have != want {
				n := integer(want)
				n.Anchor, v = v.Anchor, n
			}
			mapping.Content = append(mapping.Content, was[i], v)
		}
		for _, key := range slices.Sorted(maps.Keys(values)) {
			if index(mapping, key) < 0 {
				mapping.Content = append(mapping.Content, text(key), integer(values[key]))
			}
		}
		return mapping, nil
	})
}

// Delete removes a key with its value; comment lines above it stay. Without such a key it does
// nothing. A mapping that loses its last key is written as {}.
func (d *Doc) Delete(path ...string) error {
	return d.set(path, func(*yaml.Node) (*yaml.Node, error) { return nil, nil })
}

// AppendItem adds a mapping with these keys and values, in this order, to the list at a path, and
// creates the list when it is missing. An error means that the value is not a list.
func (d *Doc) AppendItem(fields [][2]string, path ...string) error {
	return d.AppendItems([][][2]string{fields}, path...)
}

// AppendItems is AppendItem for several at once, at the cost of one.
func (d *Doc) AppendItems(items [][][2]string, path ...string) error {
	if _, err := d.Items(path...); err != nil {
		return err
	}
	return d.set(path, func(old *yaml.Node) (*yaml.Node, error) {
		if old != nil && old.Kind == yaml.AliasNode {
			return nil, d.errorIn(old, "%q is an alias", last(path))
		}
		list := like(old, yaml.SequenceNode)
		list.Content = slices.Clip(list.Content)
		for _, fields := range items {
			item := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
			for _, f := range fields {
				item.Content = append(item.Content, text(f[0]), text(f[1]))
			}
			list.Content = append(list.Content, item)
		}
		return list, nil
	})
}

// scalar is the change to want of a value that is a scalar or nothing.
func (d *Doc) scalar(
	old *yaml.Node, path []string, want *yaml.Node, equal func(*yaml.Node) bool,
) (*yaml.Node, error) {
	switch {
	case old == nil:
		return want, nil
	case resolve(old).Kind != yaml.ScalarNode:
		return nil, d.errorIn(old, "%q is %s, not a scalar", last(path), kind(resolve(old)))
	case equal(resolve(old)):
		return old, nil
	}
	want.Anchor = old.Anchor
	if want.Tag == "!!str" && want.Style == 0 {
		want.Style = old.Style & quoted
	}
	return want, nil
}

func (d *Doc) set(path []string, c change) error {
	if len(path) == 0 {
		return errors.New("edit a document: no key given")
	}
	root, err := d.put(d.root, path, c)
	if err == nil && root != d.root {
		err = d.commit(root)
	}
	var at *Error
	if err != nil && !errors.As(err, &at) {
		return fmt.Errorf("edit %q in %q: %w", strings.Join(path, "."), d.path, err)
	}
	return err
}

// put returns a mapping in which the value at a path is changed; m itself when it is not.
func (d *Doc) put(m *yaml.Node, path []string, c change) (*yaml.Node, error) {
	if m != nil && m.Kind != yaml.MappingNode && !null(m) {
		return nil, d.errorIn(m, "the value above %q is %s, not a mapping", path[0], kind(m))
	}
	var old, v *yaml.Node
	to := like(m, yaml.MappingNode)
	at := index(to, path[0])
	if at >= 0 {
		old = to.Content[at+1]
	}
	var err error
	if len(path) == 1 {
		v, err = c(old)
	} else {
		v, err = d.put(old, path[1:], c)
	}
	switch {
	case v == old || err != nil:
		return m, err
	case v == nil:
		to.Content = slices.Delete(slices.Clone(to.Content), at, at+2)
	case at >= 0:
		to.Content = slices.Clone(to.Content)
		to.Content[at+1] = v
	default:
		to.Content = slices.Insert(slices.Clone(to.Content), d.place(m, path[0]), text(path[0]), v)
	}
	return to, nil
}

// place returns where a new key goes in the content of a mapping.
func (d *Doc) place(m *yaml.Node, key string) int {
	if m == nil {
		return 0
	}
	for range d.after { // at most so many hops, also when the places form a ring
		var ok bool
		if key, ok = d.after[key]; !ok || m != d.root {
			break
		}
		if at := index(m, key); at >= 0 {
			return at + 2
		}
	}
	return len(m.Content)
}

// like returns a copy of n that may be given other content; an empty one when n is nothing, null or
// an alias.
func like(n *yaml.Node, kind yaml.Kind) *yaml.Node {
	if n != nil && n.Kind == kind {
		c := *n
		return &c
	}
	c := &yaml.Node{Kind: kind, Tag: "!!seq"}
	if kind == yaml.MappingNode {
		c.Tag = "!!map"
	}
	if n != nil {
		c.Anchor = n.Anchor
	}
	return c
}

const quoted = yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle

func integer(value int) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: strconv.Itoa(value)}
}

// text returns a string as a node that every YAML reader takes for this string. To what yaml.v3
// quotes this adds what YAML 1.1 readers stumble over, such as = or the 45th of a month, and keeps
// the text in one line.
func text(value string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value}
	var probe yaml.Node
	switch err := probe.Encode(value); {
	case err != nil, strings.ContainsAny(value, "\n\r\t\u0085\u2028\u2029"):
		n.Style = yaml.DoubleQuotedStyle
	default:
		n.Style = probe.Style & quoted
	}
	if n.Style == 0 && strings.IndexAny(value, "0123456789+-.=<~") == 0 {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}
