package main

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
)

// command is a program with its arguments and its standard input.
type command struct {
	program string
	args    []string
	in      string
}

// command returns what a call means. It runs nothing: what is not in the table is
// refused before anything happens.
func (v verbs) command(l life, arguments json.RawMessage) (c command, err error) {
	a, input, err := v.read(arguments)
	if err != nil {
		return c, err
	}
	operands := strings.Fields(a.command)
	c.program, operands = operands[0], operands[1:]
	if i := slices.Index(operands, "BODY"); i >= 0 {
		operands[i] = l.body.Dir()
	} else {
		c.args = []string{"--body=" + l.body.Dir(), "--lock-timeout=" + l.wait.String()}
	}
	c.args = append(c.args, "--errors=json")
	for _, key := range slices.Sorted(maps.Keys(input)) {
		k := v.keys[key]
		words, err := k.words(key, input[key])
		switch {
		case err != nil:
			return c, err
		case k.to == "":
			operands = append(operands, words...)
		case k.shape == yes:
			c.args = append(c.args, words...)
		case !strings.HasSuffix(k.to, fed):
			for _, w := range words {
				c.args = append(c.args, k.to+"="+w)
			}
		case slices.Contains(c.args, fed):
			return c, misuse("both of text and data")
		default:
			c.args, c.in = append(c.args, strings.Fields(k.to)...), words[0]
		}
	}
	c.args = append(append(c.args, "--"), operands...)
	if strings.Contains(strings.Join(c.args, ""), "\x00") {
		return c, fault.New(fault.BadInput, "a NUL character in the input")
	}
	return c, nil
}

// read takes a call apart: its action, and the input that is not null.
func (v verbs) read(arguments json.RawMessage) (a action, input map[string]json.RawMessage, err error) {
	call, err := members("arguments", arguments)
	if err != nil {
		return a, nil, err
	}
	if err := only("argument", call, []string{"action", "input"}); err != nil {
		return a, nil, err
	}
	var actions []string
	for _, a := range v.actions {
		actions = append(actions, a.name)
	}
	var wanted string
	switch {
	case json.Unmarshal(call["action"], &wanted) != nil || wanted == "":
		return a, nil, misuse("action missing, or no string").WithHint("one of %s", strings.Join(actions, ", "))
	case !slices.Contains(actions, wanted):
		return a, nil, unknown("action", wanted, actions)
	}
	a = v.actions[slices.Index(actions, wanted)]
	if input, err = members("input", call["input"]); err != nil {
		return a, nil, err
	}
	maps.DeleteFunc(input, func(_ string, value json.RawMessage) bool { return string(value) == "null" })
	known, needed := a.takes()
	for _, key := range needed {
		if _, given := input[key]; !given {
			return a, nil, misuse("input of %s missing: %q", a.name, key)
		}
	}
	return a, input, only("input of "+a.name, input, known)
}

// takes returns the keys of an action, and those that must be given.
func (a action) takes() (known, needed []string) {
	for key := range strings.FieldsSeq(a.keys) {
		bare, must := strings.CutSuffix(key, "!")
		if known = append(known, bare); must {
			needed = append(needed, bare)
		}
	}
	return known, needed
}

// members reads an object; none at all is an empty one.
func members(what string, raw json.RawMessage) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	if len(raw) > 0 && json.Unmarshal(raw, &all) != nil {
		return nil, misuse("no object: %s", what)
	}
	return all, nil
}

func only(what string, given map[string]json.RawMessage, known []string) error {
	for _, key := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, key) {
			return unknown(what, key, known)
		}
	}
	return nil
}

func unknown(what, given string, known []string) error {
	err := misuse("unknown %s: %q", what, given)
	switch near := name.Near(given, known); {
	case len(near) > 0:
		return err.WithHint("did you mean %s?", strings.Join(near, ", "))
	case len(known) == 0:
		return err.WithHint("there is none")
	}
	return err.WithHint("one of %s", strings.Join(known, ", "))
}

func misuse(format string, args ...any) *fault.Error { return fault.New(fault.Usage, format, args...) }

// words returns what the value of a key is on a command line, or on standard input.
func (k key) words(key string, raw json.RawMessage) (words []string, err error) {
	switch k.shape {
	case list, names:
		err = json.Unmarshal(raw, &words)
		if i := slices.IndexFunc(words, parted); k.shape == names && i >= 0 {
			return nil, fault.New(fault.BadInput, "a comma or a blank in a name: %q", words[i])
		}
		if k.shape == names {
			words = []string{strings.Join(words, ",")}
		}
		return words, mistyped(key, "a list of strings", err)
	case yes:
		var set bool
		if err = json.Unmarshal(raw, &set); set {
			words = []string{k.to}
		}
		return words, mistyped(key, "true or false", err)
	case number:
		var n json.Number
		if err = json.Unmarshal(raw, &n); raw[0] == '"' {
			err = fault.New(fault.BadInput, "a string")
		}
		return []string{string(raw)}, mistyped(key, "a number", err)
	case seconds:
		var n float64
		err = json.Unmarshal(raw, &n)
		return []string{strconv.FormatFloat(n, 'f', -1, 64) + "s"}, mistyped(key, "a number of seconds", err)
	case object:
		_, err = members(key, raw)
		return []string{string(raw)}, mistyped(key, "an object", err)
	}
	var given string
	err = json.Unmarshal(raw, &given)
	return []string{given}, mistyped(key, "a string", err)
}

// parted says that a list parted by commas would not hold a name as one.
func parted(name string) bool { return name == "" || strings.ContainsAny(name, ", ") }

func mistyped(key, wanted string, err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.BadInput, "not %s: %q", wanted, key)
}
