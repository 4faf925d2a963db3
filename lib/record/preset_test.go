package record_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/record"
)

func TestRecordsOfConfigurationsSayThemselves(t *testing.T) {
	for _, c := range []struct {
		what interface{ Text() string }
		want string
	}{
		{record.Reading{Outcome: "FULLY_EFFECTIVE", Dir: "/a"}, "FULLY_EFFECTIVE  /a"},
		{record.Reading{
			Outcome: "READ_FAILED", Dir: "/a", Stage: "VALIDATE", Message: "pad: missing", File: "/a/init.json", Line: 3, Column: 7,
			Excerpt: "{", NextStep: "give it",
		}, "READ_FAILED  /a  VALIDATE: pad: missing  at /a/init.json:3:7\n      {\n      next: give it"},
		{record.Reading{Outcome: "READ_FAILED", Dir: "/a\nb", Stage: "S", Message: "m\nn", NextStep: "n\no"},
			`READ_FAILED  /a\nb  S: m\nn` + "\n      next: n\\no"},
		{record.Resolved{Path: "/a/m.json", Outcome: "O", Preset: "p.json"}, "/a/m.json  O  p.json"},
		{record.Setting{Path: "a.b", Source: "init", File: "/f", Value: json.RawMessage("3")}, "a.b = 3  (init /f)"},
		{record.Setting{Path: "a.b", Source: "default", Secret: true, Value: json.RawMessage(`"withheld"`)}, "a.b = (secret)  (default)"},
		{record.Preset{
			Preset: "p.json", Active: true, Tier: "3", LLM: record.Model{Provider: "p", Model: "m"},
			Description: json.RawMessage(`{"summary":"a\nb"}`), Connectivity: record.Connectivity{Status: "ok"},
		}, `* p.json  p/m  tier 3  ok  a\nb`},
		{record.Preset{Preset: "p.json", Description: json.RawMessage(`3`), Connectivity: record.Connectivity{Status: "unreachable", Error: "e"}},
			"  p.json  /  unreachable e  "},
		{record.PresetFile{Path: "/p.json", Error: "bad\n"}, `/p.json  unusable: bad\n`},
		{record.PresetFile{Path: "/p.json", Summary: "s", LLM: record.Model{Provider: "p", Model: "m"}}, "/p.json  p/m  s"},
		{record.Swap{Preset: "b", Previous: "a", Default: "b", LLM: record.Model{Provider: "p", Model: "m"}},
			"active from the next refresh on: b  p/m  (was a, default b)"},
		{record.Prompt{Path: "/s.md", Bytes: 9, Sections: []record.PromptSection{{Name: "a"}, {Name: "b"}}}, "/s.md  9 bytes  a, b"},
		{record.Guidance{Sections: []record.GuidanceSection{{Text: "A"}, {Text: "B"}}}, "A\n\nB"},
	} {
		if got := c.what.Text(); got != c.want {
			t.Errorf("got %q, want %q", got, c.want)
		}
	}
}

func TestListsOfConfigurationsAreNeverNull(t *testing.T) {
	for _, v := range []any{record.Reading{Type: "reading"}, record.Preset{Type: "preset", Description: json.RawMessage("{}")}} {
		line, err := record.Encode(v)
		if err != nil || strings.Contains(string(line), "null") || !strings.HasPrefix(string(line), `{"type":"`) {
			t.Errorf("got %s, %v", line, err)
		}
	}
}
