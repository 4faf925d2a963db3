package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/mcpserver"
)

// brought is a tool that gives what its call says.
func brought(t *testing.T) mcpserver.Tool {
	return mcpserver.Tool{
		Name: "echo", Says: "Says it again.",
		Takes: json.RawMessage(`{"type":"object","properties":{"records":{"type":"array"}}}`),
		Reads: true,
		Call: func(_ context.Context, arguments json.RawMessage) ([]json.RawMessage, error) {
			var a struct {
				Records []json.RawMessage
				Code    fault.Code
			}
			if err := json.Unmarshal(arguments, &a); err != nil {
				t.Error(err)
			}
			if a.Code != "" {
				return a.Records, fault.New(a.Code, "it is so: %q", "<b>").WithHint("with --force")
			}
			return a.Records, nil
		},
	}
}

func TestAToolThatAProgramBringsAlong(t *testing.T) {
	root, _ := space(t)
	cs := session(t, mcpserver.Config{Spaces: []string{root}, Tools: []mcpserver.Tool{brought(t)}}, nil)
	one, two := map[string]any{"type": "one", "text": "a < b\n"}, map[string]any{"type": "two", "n": 1.5}
	failed := `{"type":"error","code":"too_large","message":"it is so: \"<b>\"","hint":"with --force",` +
		`"thread":"","current":"","version":null}`
	for _, c := range []struct {
		give    args
		refused bool
		facts   string
	}{
		{args{"records": []any{one}}, false, `{"records":[{"text":"a < b\n","type":"one"}]}`},
		{args{}, false, `{"records":[]}`},
		// What was done before it failed is not lost.
		{args{"records": []any{one, two}, "code": "too_large"}, true, `{"records":[` +
			`{"text":"a < b\n","type":"one"},` +
			`{"n":1.5,"type":"two"},` + failed + `]}`},
	} {
		r := call(t, cs, "echo", c.give)
		if r.IsError != c.refused || r.text != c.facts {
			t.Errorf("%v: error %v, %s, want %s", c.give, r.IsError, r.text, c.facts)
		}
		var said map[string]any
		if err := json.Unmarshal([]byte(r.text), &said); err != nil || !reflect.DeepEqual(said, r.facts) {
			t.Errorf("the text is not what is structured: %v, %v", said, r.facts)
		}
	}
	// A refusal is as those of rooms, but its hint is the program's.
	r := call(t, cs, "echo", args{"code": "too_large"})
	want := "refused: it is so: \"<b>\"\nwhat to do: with --force\n" + failed
	if !r.IsError || r.text != want || r.facts["code"] != "too_large" {
		t.Errorf("got %v %s, want %s", r.IsError, r.text, want)
	}
}

func TestBroughtToolsStandBesideThoseOfRooms(t *testing.T) {
	root, _ := space(t)
	var logged []string
	cs := session(t, mcpserver.Config{
		Spaces: []string{root}, Name: "ann",
		Tools: []mcpserver.Tool{brought(t), {
			Name: "fail", Takes: json.RawMessage(`{"type":"object"}`), Replaces: true, Again: true,
			Call: func(context.Context, json.RawMessage) ([]json.RawMessage, error) { return nil, errors.New("odd") },
		}},
		Log: func(format string, _ ...any) { logged = append(logged, format) },
	}, nil)
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 18 {
		t.Fatalf("%d tools, %v", len(list.Tools), err)
	}
	for _, tool := range list.Tools {
		a := tool.Annotations
		hints := []bool{a.ReadOnlyHint, *a.DestructiveHint, a.IdempotentHint, *a.OpenWorldHint}
		want := map[string][]bool{"echo": {true, false, false, false}, "fail": {false, true, true, false}}[tool.Name]
		if want != nil && !reflect.DeepEqual(hints, want) {
			t.Errorf("%s: %v, want %v", tool.Name, hints, want)
		}
	}
	must(t, call(t, cs, "check_turn", args{"thread": "design"}))
	refused(t, call(t, cs, "fail", nil), "io")
	if n := len(logged); n < 2 || !strings.Contains(logged[n-1], "%s: %v, %d ms") {
		t.Errorf("logged: %q", logged)
	}
	// Arguments that do not come are none, and no trouble.
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "fail"})
	if err != nil || !res.IsError {
		t.Error(res, err)
	}
}
