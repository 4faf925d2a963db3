package body

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/record"
)

// Object is a JSON object whose keys keep their order and whose values keep their
// spelling, so that what we do not know survives a change of what we do. The zero
// Object is empty.
type Object struct {
	keys   []string
	values map[string]json.RawMessage
}

// ParseObject reads one JSON object and nothing else. Of a key that stands there
// twice the last value counts.
func ParseObject(data []byte) (*Object, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("not UTF-8")
	}
	in := json.NewDecoder(bytes.NewReader(data))
	if t, err := in.Token(); err != nil {
		return nil, unexpected(err)
	} else if t != json.Delim('{') {
		return nil, errors.New("not a JSON object")
	}
	o := &Object{}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return nil, unexpected(err)
		}
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return nil, unexpected(err)
		}
		o.put(key.(string), value)
	}
	if _, err := in.Token(); err != nil {
		return nil, unexpected(err)
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return o, nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (o *Object) put(key string, value json.RawMessage) {
	if o.values == nil {
		o.values = map[string]json.RawMessage{}
	}
	if _, known := o.values[key]; !known {
		o.keys = append(o.keys, key)
	}
	o.values[key] = value
}

// Keys returns the keys in their order.
func (o *Object) Keys() []string { return slices.Clone(o.keys) }

// Get returns a value as it is spelled, nil when there is none.
func (o *Object) Get(key string) json.RawMessage { return o.values[key] }

// Null reports whether a key is missing or null.
func (o *Object) Null(key string) bool {
	value := o.values[key]
	return len(value) == 0 || string(value) == "null"
}

// Text returns a value that is a string, "" for any other.
func (o *Object) Text(key string) string {
	var s string
	if json.Unmarshal(o.values[key], &s) != nil {
		return ""
	}
	return s
}

// Number returns a value that is a number, 0 for any other.
func (o *Object) Number(key string) float64 {
	var n float64
	if json.Unmarshal(o.values[key], &n) != nil {
		return 0
	}
	return n
}

// Truthy reports whether a value counts as true: true, a number other than 0, and
// a string, list or object that is not empty.
func (o *Object) Truthy(key string) bool {
	var v any
	if json.Unmarshal(o.values[key], &v) != nil {
		return false
	}
	switch v := v.(type) {
	case bool:
		return v
	case float64:
		return v != 0
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return false
}

// Sub returns a value that is an object, an empty one for any other. It is a copy:
// Set puts it back.
func (o *Object) Sub(key string) *Object {
	sub, err := ParseObject(o.values[key])
	if err != nil {
		return &Object{}
	}
	return sub
}

// Set gives a key a value: an *Object or anything else that JSON can say.
func (o *Object) Set(key string, v any) error {
	if sub, ok := v.(*Object); ok {
		o.put(key, sub.Compact())
		return nil
	}
	line, err := record.Encode(v)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	o.put(key, bytes.TrimSuffix(line, []byte("\n")))
	return nil
}

// Delete takes a key out.
func (o *Object) Delete(key string) {
	delete(o.values, key)
	o.keys = slices.DeleteFunc(o.keys, func(k string) bool { return k == key })
}

// Compact returns the object without white space.
func (o *Object) Compact() []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, key := range o.keys {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := record.Encode(key) // a string always encodes
		b.Write(bytes.TrimSuffix(name, []byte("\n")))
		b.WriteByte(':')
		if err := json.Compact(&b, o.values[key]); err != nil {
			b.WriteString("null") // cannot be: it was parsed or encoded
		}
	}
	b.WriteByte('}')
	return b.Bytes()
}

// Indented returns the object indented by two blanks, as the files of an agent are.
func (o *Object) Indented() []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, o.Compact(), "", "  "); err != nil {
		return o.Compact()
	}
	return append(b.Bytes(), '\n')
}

// MarshalJSON writes the object in the order of its keys.
func (o *Object) MarshalJSON() ([]byte, error) { return o.Compact(), nil }

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
