package mcpserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/record"
)

// Schemas are written by hand, in the few words of JSON Schema that every client
// reads: an object at the root, one type a property, no references. Inference from
// Go types says ["null","array"] of a list, and some clients then drop all tools.

const (
	text   = `{"type":"string"%s}`
	number = `{"type":"integer"%s}`
	yes    = `{"type":"boolean"%s}`
	names  = `{"type":"array","items":{"type":"string"}%s}`
)

// property is one argument of a tool, or one key of its result.
type property struct{ schema, says string }

// arguments are the same thing in every tool that takes them.
var arguments = map[string]property{
	"space":            {text, "label or root, if several"},
	"participant_name": {text, "you, if not the default"},
	"thread":           {text, "room"},
	"after":            {text, "go on after this room"},
	"last_n":           {number, "only the last N lines"},
	"from_line":        {number, "from this transcript line on"},
	"from_entry":       {text, "first entry"},
	"through_entry":    {text, "last entry"},
	"max_bytes":        {number, "default 49152"},
	"timeout_secs":     {number, "default 45, at most 3600"},
	"content":          {text, "Markdown; or the word pass"},
	"expect_version":   {number, "refuse if not the version"},
	"id":               {text, "a repeated id writes nothing"},
	"next":             {text, "hand the floor to; moderator only"},
	"name":             {text, "participant"},
	"topic":            {text, "one line"},
	"moderator":        {text, "default: you"},
	"turn_order":       {names, "the moderator comes first"},
	"turns":            {number, "0 lifts it"},
	"order":            {names, "everybody who takes turns"},
	"policy":           {text, "full, incremental or explicit"},
}

// results are the keys of results that a client may rely on; there are more. version
// is not among them: an error record has null there, and some clients hold errors
// against the schema too.
var results = map[string]string{
	"type": text, "thread": text, "topic": text, "status": text, "moderator": text, "current": text, "turn_order": names,
	"your_turn": yes, "timed_out": yes, "entry": text, "next": text, "text": text, "next_entry": text,
	"rules": text, "you": text, "spaces": objects, "rooms": objects, "entries": objects, "after": text,
}

const objects = `{"type":"array","items":{"type":"object"%s}}`

// object writes the schema of an object. keys are parted by blanks; one that ends
// with ! is required.
func object(keys string, of func(key string) string) json.RawMessage {
	var properties, required []string
	for _, key := range strings.Fields(keys) {
		bare, must := strings.CutSuffix(key, "!")
		if must {
			required = append(required, fmt.Sprintf("%q", bare))
		}
		properties = append(properties, fmt.Sprintf("%q:%s", bare, of(bare)))
	}
	s := `{"type":"object","properties":{` + strings.Join(properties, ",") + `}`
	if len(required) > 0 {
		s += `,"required":[` + strings.Join(required, ",") + `]`
	}
	return json.RawMessage(s)
}

// input is the schema of what a tool takes.
func (t tool) input() json.RawMessage {
	s := object(t.takes, func(key string) string {
		says := arguments[key].says
		if own, ok := t.words[key]; ok {
			says = own
		}
		return fmt.Sprintf(arguments[key].schema, fmt.Sprintf(`,"description":%q`, says))
	})
	return append(s, `,"additionalProperties":false}`...)
}

// output is the schema of what a tool gives.
func (t tool) output() json.RawMessage {
	s := object("type "+t.gives, func(key string) string { return fmt.Sprintf(results[key], "") })
	return append(s, '}')
}

// described is the tool as clients are told of it.
func (t tool) described() *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name: t.name, Description: t.says, InputSchema: t.input(), OutputSchema: t.output(),
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: t.reads, DestructiveHint: &t.replaces, IdempotentHint: t.again, OpenWorldHint: &no,
		},
	}
}

// values are the arguments of all tools. One that is absent, null or empty is zero.
type values struct {
	Space         string   `json:"space"`
	Participant   string   `json:"participant_name"`
	Thread        string   `json:"thread"`
	After         string   `json:"after"`
	LastN         int      `json:"last_n"`
	FromLine      int      `json:"from_line"`
	FromEntry     string   `json:"from_entry"`
	ThroughEntry  string   `json:"through_entry"`
	MaxBytes      int      `json:"max_bytes"`
	TimeoutSecs   *float64 `json:"timeout_secs"`
	Content       string   `json:"content"`
	ExpectVersion *int     `json:"expect_version"`
	ID            string   `json:"id"`
	Next          string   `json:"next"`
	Name          string   `json:"name"`
	Topic         string   `json:"topic"`
	Moderator     string   `json:"moderator"`
	TurnOrder     []string `json:"turn_order"`
	Turns         int      `json:"turns"`
	Order         []string `json:"order"`
	Policy        string   `json:"policy"`
}

// read takes a call's arguments. The SDK could hold them against the schema, but
// what it answers is not the error record that every other refusal is.
func (t tool) read(raw json.RawMessage) (v values, err error) {
	given := map[string]json.RawMessage{}
	if err := record.Sound(raw); err != nil {
		return v, fault.New(fault.BadInput, "arguments: %w", err)
	}
	if len(raw) > 0 {
		err = json.Unmarshal(raw, &given)
	}
	if err != nil {
		return v, fault.New(fault.BadInput, "arguments are not an object")
	}
	var known []string
	for _, key := range strings.Fields(t.takes) {
		bare, must := strings.CutSuffix(key, "!")
		known = append(known, bare)
		if _, ok := given[bare]; must && (!ok || string(given[bare]) == "null") {
			return v, fault.New(fault.BadInput, "argument missing: %q", bare).
				WithHint("%s needs it (%s)", t.name, arguments[bare].says)
		}
	}
	for key := range given {
		if !slices.Contains(known, key) {
			err := fault.New(fault.BadInput, "unknown argument: %q", key)
			if near := name.Near(key, known); len(near) > 0 {
				return v, err.WithHint("did you mean %s?", strings.Join(near, ", "))
			}
			return v, err.WithHint("%s takes %s", t.name, strings.Join(known, ", "))
		}
	}
	if err := json.Unmarshal(raw, &v); len(raw) > 0 && err != nil {
		var typed *json.UnmarshalTypeError
		if errors.As(err, &typed) {
			return v, fault.New(fault.BadInput, "argument of the wrong type: %q is a JSON %s", typed.Field, typed.Value)
		}
		return v, fault.New(fault.BadInput, "arguments do not parse: %w", err)
	}
	for key, n := range map[string]int{"last_n": v.LastN, "from_line": v.FromLine, "max_bytes": v.MaxBytes} {
		if n < 0 {
			return v, fault.New(fault.BadInput, "argument below 0: %q", key)
		}
	}
	return v, nil
}
