package preset

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/substrate-tools/substrate/lib/fault"
)

// With returns the text with a value at a path, which is made where it is missing.
// Only the members that differ are edited: a value that is the same already keeps
// its bytes, an object is edited member by member, a list that has grown at its end
// is added to, and whatever else is in the text, remarks included, stays as it is.
func (d *Doc) With(value any, path ...string) (*Doc, error) {
	value, err := plain(value)
	if err != nil {
		return nil, err
	}
	return d.edit(edit{value: value}, path)
}

// Without returns the text without the value at a path.
func (d *Doc) Without(path ...string) (*Doc, error) { return d.edit(edit{remove: true}, path) }

// plain returns a value in the types that Doc.Value has.
func plain(value any) (v any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	err = in.Decode(&v)
	return v, err
}

// edit is what is to become of one value.
type edit struct {
	value  any
	remove bool
}

func (d *Doc) edit(e edit, path []string) (*Doc, error) {
	// Parsed once more, since the library's Clone drops commas at the end of lists.
	tree, err := hujson.Parse(bytes.Clone(d.text))
	if err != nil {
		return nil, err
	}
	p := patcher{newline: d.newline}
	if err := p.descend(&tree, layout{unit: "  "}, e, path, 0); err != nil {
		return nil, err
	}
	text := tree.Pack()
	if d.unended {
		text = bytes.TrimSuffix(text, []byte("\n"))
	}
	if d.bom {
		text = append([]byte(bom), text...)
	}
	return ParseDoc(text)
}

// layout is how the members of an object or list are set out.
type layout struct {
	indent string // before a member that has a line of its own
	unit   string // what one level more adds to it
	lines  bool   // each member has a line of its own
}

// below returns the layout of what v, a member of what l is of, contains.
func (l layout) below(v hujson.Value) layout {
	var first hujson.Extra
	empty := false
	switch v := v.Value.(type) {
	case *hujson.Object:
		if empty = len(v.Members) == 0; !empty {
			first = v.Members[0].Name.BeforeExtra
		}
	case *hujson.Array:
		if empty = len(v.Elements) == 0; !empty {
			first = v.Elements[0].BeforeExtra
		}
	}
	if empty {
		return layout{l.indent + l.unit, l.unit, l.lines}
	}
	i := bytes.LastIndexByte(first, '\n')
	if i < 0 {
		return layout{unit: l.unit}
	}
	rest := string(first[i+1:])
	indent := rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]
	unit, deeper := strings.CutPrefix(indent, l.indent)
	if !deeper || unit == "" {
		unit = l.unit
	}
	return layout{indent, unit, true}
}

type patcher struct{ newline string }

func (p patcher) descend(v *hujson.Value, l layout, e edit, path []string, depth int) error {
	if depth == len(path) {
		return p.put(v, l, e.value)
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return fault.New(fault.BadInput, "%s: not an object", Path(path[:depth]...))
	}
	inner := l.below(*v)
	if depth == 0 {
		inner.lines = inner.lines || len(o.Members) == 0
	}
	i := last(o, path[depth])
	switch {
	case e.remove && i < 0:
		return nil
	case e.remove && depth == len(path)-1:
		return p.remove(o, path[depth])
	case i >= 0:
		return p.descend(&o.Members[i].Value, inner, e, path, depth+1)
	}
	value := e.value
	for _, key := range slices.Backward(path[depth+1:]) {
		value = map[string]any{key: value}
	}
	return p.add(o, l, inner, path[depth], value)
}

// put gives v, whose siblings are set out as l says, a value.
func (p patcher) put(v *hujson.Value, l layout, value any) error {
	old := new(Doc).decode(v.Value, nil)
	if reflect.DeepEqual(old, value) {
		return nil
	}
	inner := l.below(*v)
	switch tree := v.Value.(type) {
	case *hujson.Object:
		if wanted, ok := value.(map[string]any); ok && len(wanted) > 0 {
			return p.merge(tree, l, inner, wanted)
		}
	case *hujson.Array:
		had := old.([]any)
		if wanted, ok := value.([]any); ok && len(wanted) > len(had) && reflect.DeepEqual(had, wanted[:len(had)]) {
			return p.extend(tree, l, inner, wanted[len(had):])
		}
	}
	text, err := p.encode(value, l)
	if err != nil {
		return err
	}
	parsed, err := hujson.Parse(text)
	v.Value = parsed.Value
	return err
}

func (p patcher) merge(o *hujson.Object, l, inner layout, wanted map[string]any) error {
	for i := len(o.Members) - 1; i >= 0; i-- {
		if i >= len(o.Members) {
			continue // more than one went at once
		}
		if key := nameOf(o, i); !has(wanted, key) {
			if err := p.remove(o, key); err != nil {
				return err
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wanted)) {
		var err error
		if i := last(o, key); i >= 0 {
			err = p.put(&o.Members[i].Value, inner, wanted[key])
		} else {
			err = p.add(o, l, inner, key, wanted[key])
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func has(o map[string]any, key string) bool {
	_, ok := o[key]
	return ok
}

// remove takes out every member of that name.
func (p patcher) remove(o *hujson.Object, key string) error {
	for last(o, key) >= 0 {
		end := o.AfterExtra
		atEnd := nameOf(o, len(o.Members)-1) == key
		if err := p.library(o, "remove", key, nil); err != nil {
			return err
		}
		// The library may leave the closing bracket where the member stood.
		if i := bytes.LastIndexByte(end, '\n'); atEnd && i >= 0 && len(bytes.TrimSpace(end[i:])) == 0 {
			kept := bytes.TrimRight(o.AfterExtra, " \t")
			if !bytes.HasSuffix(kept, []byte("\n")) {
				kept = slices.Concat(kept, []byte(p.newline))
			}
			o.AfterExtra = slices.Concat(kept, end[i+1:])
		}
	}
	return nil
}

// add adds a member at an object's end. The library knows which remarks belong to
// the member before; where the new one stands is ours.
func (p patcher) add(o *hujson.Object, outer, inner layout, key string, value any) error {
	empty := len(o.Members) == 0
	text, err := p.encode(value, inner)
	if err != nil {
		return err
	}
	if err := p.library(o, "add", key, text); err != nil {
		return err
	}
	m := &o.Members[len(o.Members)-1]
	m.Value.BeforeExtra = hujson.Extra(" ")
	p.place(&m.Name.BeforeExtra, &o.AfterExtra, outer, inner, empty)
	return nil
}

// extend adds elements at a list's end.
func (p patcher) extend(list *hujson.Array, outer, inner layout, values []any) error {
	for _, value := range values {
		empty := len(list.Elements) == 0
		text, err := p.encode(value, inner)
		if err != nil {
			return err
		}
		if err := p.library(list, "add", "-", text); err != nil {
			return err
		}
		p.place(&list.Elements[len(list.Elements)-1].BeforeExtra, &list.AfterExtra, outer, inner, empty)
	}
	return nil
}

// place puts a new member on a line of its own, or behind a blank.
func (p patcher) place(before, after *hujson.Extra, outer, inner layout, empty bool) {
	add := func(to *hujson.Extra, s string) { *to = slices.Concat(*to, []byte(s)) } // it may share memory
	switch {
	case !inner.lines:
		if !empty {
			add(before, " ")
		}
		return
	case !bytes.HasSuffix(*before, []byte("\n")):
		add(before, p.newline)
	}
	add(before, inner.indent)
	switch {
	case !bytes.Contains(*after, []byte("\n")):
		add(after, p.newline+outer.indent)
	case p.newline == "\r\n" && bytes.HasPrefix(*after, []byte("\n")): // the library took its \r
		*after = slices.Concat([]byte("\r"), *after)
	}
}

// library has the library apply one operation to a member or element.
func (p patcher) library(v hujson.ValueTrimmed, op, key string, value []byte) error {
	pointer := "/" + strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
	quoted, err := json.Marshal(pointer)
	if err != nil {
		return err
	}
	patch := `[{"op":"` + op + `","path":` + string(quoted)
	if value != nil {
		patch += `,"value":` + string(value)
	}
	return (&hujson.Value{Value: v}).Patch([]byte(patch + "}]"))
}

// encode writes a value as a member of what l is of.
func (p patcher) encode(value any, l layout) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if l.lines {
		enc.SetIndent(l.indent, l.unit)
	}
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return bytes.ReplaceAll(text, []byte("\n"), []byte(p.newline)), nil
}
