package preset_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/preset"
)

// L-18: a preset is one file, and its path is its identity, whatever name it gives
// itself.
func TestL18APresetIsItsPath(t *testing.T) {
	dir := workdir(t, map[string]string{"a.json": presetA, "b.json": presetA, "a": presetA})
	h := host(t, "", nil)
	a, err := h.Load(dir, "a.json")
	if err != nil {
		t.Fatal(err)
	}
	b, err := h.Load(dir, "b.json")
	if err != nil {
		t.Fatal(err)
	}
	if a.Name != b.Name || a.Path == b.Path || a.Path != filepath.Join(dir, "a.json") {
		t.Errorf("got %s at %s, %s at %s", a.Name, a.Path, b.Name, b.Path)
	}
	if h.Member(dir, "b.json", []any{"a.json"}) || !h.Member(dir, "a.json", []any{"a.json"}) {
		t.Error("the name counts")
	}
}

// L-19: absolute, below ~, relative to the agent's directory.
// L-20: no stem, no suffix left out, no search, and nothing relative to nowhere.
func TestL19L20HowAPresetIsNamed(t *testing.T) {
	dir := workdir(t, map[string]string{"a.json": presetA, "sub/b.jsonc": presetB, "sub/c.txt": presetA, "d": presetA, "file.json/": ""})
	home := t.TempDir()
	bodytest.Write(t, filepath.Join(home, "c.json"), presetC)
	h := host(t, home, nil)
	for ref, want := range map[string]error{
		"a.json": nil, "./a.json": nil, "../ann/a.json": nil, "sub/b.jsonc": nil, "~/c.json": nil,
		filepath.Join(dir, "a.json"): nil,
		"a":                          preset.ErrMalformed,
		"sub/b":                      preset.ErrMalformed,
		"b.jsonc":                    preset.ErrMissing, // no search
		"c.json":                     preset.ErrMissing,
		"sub/c.txt":                  preset.ErrMalformed,
		"d":                          preset.ErrMalformed,
		"":                           preset.ErrMalformed,
		"a.json ":                    preset.ErrMalformed,
		"a.JSON":                     preset.ErrMalformed,
		"a.json/x.json":              preset.ErrMissing,
		"~dan/c.json":                preset.ErrMissing,
		"~c.json":                    preset.ErrMissing,
	} {
		_, err := h.Load(dir, ref)
		if !errors.Is(err, want) {
			t.Errorf("%q: got %v, want %v", ref, err, want)
		}
	}
	if _, err := h.Load("", "a.json"); !errors.Is(err, preset.ErrMalformed) {
		t.Errorf("relative to nowhere: got %v", err)
	}
	if _, err := host(t, "", nil).Load(dir, "~/c.json"); !errors.Is(err, preset.ErrMalformed) {
		t.Errorf("no home: got %v", err)
	}
}

func TestMissingAndMalformedAreDistinct(t *testing.T) {
	const llm = `"llm":{"provider":"p","model":"m"}`
	dir := workdir(t, nil)
	h := host(t, "", nil)
	for what, text := range map[string]string{
		"no JSON":                 `{`,
		"empty":                   ``,
		"a list":                  `[]`,
		"no description":          `{"manifest":{` + llm + `,"capabilities":{}}}`,
		"a blank summary":         `{"description":{"summary":" "},"manifest":{` + llm + `,"capabilities":{}}}`,
		"no summary":              `{"description":{},"manifest":{` + llm + `,"capabilities":{}}}`,
		"tier 6":                  `{"description":{"summary":"s","tier":"6"},"manifest":{` + llm + `,"capabilities":{}}}`,
		"tier a number":           `{"description":{"summary":"s","tier":3},"manifest":{` + llm + `,"capabilities":{}}}`,
		"no manifest":             `{"description":{"summary":"s"}}`,
		"no llm":                  `{"description":{"summary":"s"},"manifest":{"capabilities":{}}}`,
		"no model":                `{"description":{"summary":"s"},"manifest":{"llm":{"provider":"p"},"capabilities":{}}}`,
		"an empty provider":       `{"description":{"summary":"s"},"manifest":{"llm":{"provider":"","model":"m"},"capabilities":{}}}`,
		"a limit that is true":    `{"description":{"summary":"s"},"manifest":{"llm":{"provider":"p","model":"m","context_limit":true},"capabilities":{}}}`,
		"no capabilities":         `{"description":{"summary":"s"},"manifest":{` + llm + `}}`,
		"capabilities a list":     `{"description":{"summary":"s"},"manifest":{` + llm + `,"capabilities":[]}}`,
		"a capability a number":   `{"description":{"summary":"s"},"manifest":{` + llm + `,"capabilities":{"shell":3}}}`,
		"a name that is a number": `{"name":1,"description":{"summary":"s"},"manifest":{` + llm + `,"capabilities":{}}}`,
	} {
		bodytest.Write(t, filepath.Join(dir, "x.json"), text)
		if _, err := h.Load(dir, "x.json"); !errors.Is(err, preset.ErrMalformed) || errors.Is(err, preset.ErrMissing) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "d.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Load(dir, "d.json"); !errors.Is(err, preset.ErrMalformed) {
		t.Errorf("a directory: got %v", err)
	}
	if err := os.Symlink("nowhere.json", filepath.Join(dir, "l.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Load(dir, "l.json"); !errors.Is(err, preset.ErrMissing) {
		t.Errorf("a dangling link: got %v", err)
	}
}

func TestTheContextLimitMayStandWhereItDidBefore(t *testing.T) {
	dir := workdir(t, nil)
	for text, want := range map[string]int64{
		`"llm":{"provider":"p","model":"m"},"context_limit":7`:                   7,
		`"llm":{"provider":"p","model":"m","context_limit":8},"context_limit":7`: 8,
		`"llm":{"provider":"p","model":"m","context_limit":null}`:                0,
		`"llm":{"provider":"p","model":"m"}`:                                     0,
	} {
		bodytest.Write(t, filepath.Join(dir, "x.json"), `{"description":{"summary":"s"},"manifest":{"capabilities":{},`+text+`}}`)
		p, err := host(t, "", nil).Load(dir, "x.json")
		if err != nil || p.Limit != want || p.LLM["context_limit"] != nil {
			t.Errorf("%s: got %+v, %v", text, p, err)
		}
	}
}

// The edge tests: ~, absolute and relative spellings of one file, a link; fail closed.
func TestMember(t *testing.T) {
	dir := workdir(t, map[string]string{"p/a.json": presetA})
	home := filepath.Dir(dir)
	if err := os.Symlink("p/a.json", filepath.Join(dir, "link.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("ann", filepath.Join(home, "other")); err != nil {
		t.Fatal(err)
	}
	spellings := []string{
		"p/a.json", "./p/a.json", "p/../p/a.json", "link.json", "~/ann/p/a.json", "~/other/p/a.json", "../other/p/a.json",
		filepath.Join(dir, "p/a.json"), filepath.Join(home, "other/link.json"),
	}
	h := host(t, home, nil)
	for _, a := range spellings {
		for _, b := range spellings {
			if !h.Member(dir, a, []any{"other.json", b}) {
				t.Errorf("%s is not %s", a, b)
			}
		}
	}
	for _, c := range []struct {
		what            string
		candidate, refs any
		want            bool
	}{
		{"refs null", "p/a.json", nil, false},
		{"refs a text", "p/a.json", "p/a.json", false},
		{"refs an object", "p/a.json", map[string]any{"p/a.json": true}, false},
		{"refs empty", "p/a.json", []any{}, false},
		{"nothing", "", []any{""}, false},
		{"nothing, and the directory itself", "", []any{".", "./"}, false},
		{"null", nil, []any{nil}, false},
		{"a number", 3, []any{3}, false},
		{"bad items are skipped", "p/a.json", []any{nil, 3, "", []any{"p/a.json"}, "p/a.json"}, true},
		{"only bad items", "p/a.json", []any{nil, 3, "", []any{"p/a.json"}}, false},
		{"a neighbour", "p/b.json", []any{"p/a.json"}, false},
		{"a stem", "p/a", []any{"p/a.json"}, false},
		{"the directory", "p", []any{"p/a.json"}, false},
		{"gone, by another spelling", "./p/gone.json", []any{"p/gone.json"}, true},
	} {
		if got := h.Member(dir, c.candidate, c.refs); got != c.want {
			t.Errorf("%s: got %v", c.what, got)
		}
	}
	// Without a directory or a home only the same words count.
	h = host(t, "", nil)
	if h.Member("", "./p/a.json", []any{"p/a.json"}) || h.Member(dir, "~/ann/p/a.json", []any{"p/a.json"}) {
		t.Error("a member from nowhere")
	}
	if !h.Member("", "~/x.json", []any{"~/x.json"}) {
		t.Error("the same words are no member")
	}
}

// L-24: active and default must be in allowed, by the same words.
func TestL24TheBlockOfPresets(t *testing.T) {
	const at = "manifest.preset"
	for _, c := range []struct{ block, want, next string }{
		{`{"active":"a.json","default":"a.json","allowed":["a.json"]}`, "", ""},
		{`{"default":"a.json","allowed":["a.json"]}`, at + ".active: missing", ""},
		{`{"active":"a.json","allowed":["a.json"]}`, at + ".default: missing", ""},
		{`{"active":"a.json","default":"a.json"}`, at + ".allowed: missing", ""},
		{`{"path":"a.json"}`, at + ".active: missing", "path is the old name: give active, default and allowed"},
		{`{"active":"","default":"a.json","allowed":["a.json"]}`, at + ".active: empty", ""},
		{`{"active":1,"default":"a.json","allowed":["a.json"]}`, at + ".active: want text, found a number", ""},
		{`{"active":"a.json","default":"a.json","allowed":[]}`, at + ".allowed: want a list of one or more texts, none of them empty", ""},
		{`{"active":"a.json","default":"a.json","allowed":["a.json",""]}`, at + ".allowed: want a list of one or more texts, none of them empty", ""},
		{`{"active":"a.json","default":"a.json","allowed":["a.json",3]}`, at + ".allowed: want a list of one or more texts, none of them empty", ""},
		{`{"active":"a.json","default":"a.json","allowed":null}`, at + ".allowed: want list, found null", ""},
		{`{"active":"./a.json","default":"a.json","allowed":["a.json"]}`, at + ".active: not in manifest.preset.allowed", "add the same path to manifest.preset.allowed"},
		{`{"active":"a.json","default":"./a.json","allowed":["a.json"]}`, at + ".default: not in manifest.preset.allowed", "add the same path to manifest.preset.allowed"},
	} {
		dir := workdir(t, map[string]string{"a.json": presetA, "init.json": `{"covenant":"","pad":"","manifest":{"preset":` + c.block + `}}`})
		r := host(t, "", nil).Read(dir, preset.AtBoot)
		if r.Message != c.want || c.next != "" && r.NextStep != c.next || c.want != "" && r.Stage != "VALIDATE" {
			t.Errorf("%s: got %+v", c.block, r.Reading)
		}
	}
}

func blockOf(active, home string) string {
	return fmt.Sprintf(`{"covenant":"","pad":"","manifest":{"capabilities":{"shell":{"timeout":5}},
		"preset":{"active":%q,"default":%q,"allowed":["a.json","b.jsonc","gone.json","bad.json"]}}}`, active, home)
}

// L-32: a missing active preset may be replaced by the default, which is said.
// L-33: a malformed one never is. Class 10: a missing file does not brick a boot.
func TestL32L33Class10WhatTakesThePlaceOfTheActivePreset(t *testing.T) {
	for _, c := range []struct {
		active, home, model, stage, says string
	}{
		{"a.json", "b.jsonc", "m-a", "", ""},
		{"gone.json", "b.jsonc", "m-b", "", ""},
		{"gone.json", "gone.json", "", "PRESET", `preset not found: "gone.json"`},
		{"gone.json", "bad.json", "", "PRESET", `preset is malformed: "bad.json"`},
		{"bad.json", "a.json", "", "PRESET", `preset is malformed: "bad.json"`},
		{"bad.json", "bad.json", "", "PRESET", `preset is malformed: "bad.json"`},
	} {
		text := blockOf(c.active, c.home)
		dir := workdir(t, map[string]string{"init.json": text, "a.json": presetA, "b.jsonc": presetB, "bad.json": "{"})
		r := host(t, "", nil).Read(dir, preset.AtBoot)
		if r.Stage != c.stage || !strings.Contains(r.Message, c.says) {
			t.Errorf("%s, %s: got %+v", c.active, c.home, r.Reading)
		}
		if r.Config == nil {
			continue
		}
		if got := r.Config.LLM().Model; got != c.model {
			t.Errorf("%s, %s: got %s", c.active, c.home, got)
		}
		fell := c.active == "gone.json"
		if got := r.Config.Preset().Active; fell != (got == c.home) || fell != (levels(r.Findings, "warn") == 1) {
			t.Errorf("%s, %s: active %s, %+v", c.active, c.home, got, r.Findings)
		}
		if bodytest.Contents(t, filepath.Join(dir, "init.json")) != text {
			t.Error("init.json has changed")
		}
	}
}

func TestL32ADefaultThatIsTheSameFileIsNoWayOut(t *testing.T) {
	dir := workdir(t, map[string]string{"init.json": strings.Replace(blockOf("gone.json", "./gone.json"), `"a.json",`, `"./gone.json",`, 1)})
	r := host(t, "", nil).Read(dir, preset.AtBoot)
	if r.Stage != "PRESET" || !strings.Contains(r.Message, "nor can the default take its place") {
		t.Errorf("got %+v", r.Reading)
	}
}

// Class 10: the merge loses no argument.
func TestClass10MaterialisingMerges(t *testing.T) {
	for _, c := range []struct{ what, own, given, want string }{
		{"the preset picks the set", `{"vision":{"x":1},"web":{}}`, `{"web":{}}`, `{"web":{}}`},
		{"init's arguments win, key by key", `{"shell":{"a":1,"b":2}}`, `{"shell":{"b":3,"c":4}}`, `{"shell":{"a":1,"b":2,"c":4}}`},
		{"a core default keeps its own", `{"shell":{"a":1},"vision":{"b":2}}`, `{"vision":{}}`, `{"shell":{"a":1},"vision":{"b":2}}`},
		{"so does what is always on", `{"email":{"a":1}}`, `{}`, `{"email":{"a":1}}`},
		{"an opt-out stays", `{"avatar":null}`, `{"shell":{}}`, `{"avatar":null,"shell":{}}`},
		{"the preset opts out", `{"avatar":{"a":1}}`, `{"avatar":null}`, `{"avatar":null}`},
		{"the preset opts in", `{"avatar":null}`, `{"avatar":{"a":1}}`, `{"avatar":{"a":1}}`},
		{"paths of both", `{"skills":{"paths":["x","a"]}}`, `{"skills":{"paths":["a","b","a"]}}`, `{"skills":{"paths":["a","b","x"]}}`},
		{"an old name here, a new one there", `{"bash":{"a":1}}`, `{"shell":{"a":2,"b":3}}`, `{"shell":{"a":1,"b":3}}`},
		{"and the other way round", `{"shell":{"a":1}}`, `{"bash":{"a":2,"b":3}}`, `{"shell":{"a":1,"b":3}}`},
		{"an old name that is left out", `{"bash":{"a":1}}`, `{}`, `{"shell":{"a":1}}`},
	} {
		dir := workdir(t, map[string]string{
			"init.json": `{"covenant":"","pad":"","manifest":{"capabilities":` + c.own + `,"preset":{"active":"x.json","default":"x.json","allowed":["x.json"]}}}`,
			"x.json":    `{"description":{"summary":"s"},"manifest":{"llm":{"provider":"p","model":"m"},"capabilities":` + c.given + `}}`,
		})
		r := host(t, "", nil).Read(dir, preset.AtBoot)
		if r.Config == nil {
			t.Errorf("%s: %v", c.what, r.Err())
			continue
		}
		if got := encode(t, r.Config.Object("manifest", "capabilities")); got != c.want {
			t.Errorf("%s: got %s", c.what, got)
		}
	}
}

func TestMaterialisingReplacesTheModelAsAWhole(t *testing.T) {
	dir := workdir(t, map[string]string{
		"init.json": `{"covenant":"","pad":"","manifest":{"llm":{"provider":"o","model":"o","base_url":"http://old","api_key":"k"},"context_limit":5,
			"preset":{"active":"a.json","default":"a.json","allowed":["a.json"]}}}`,
		"a.json": presetA,
	})
	r := host(t, "", nil).Read(dir, preset.AtBoot)
	got := encode(t, r.Config.Object("manifest", "llm"))
	if got != `{"api_key":"sk-a-1","model":"m-a","provider":"openai"}` || r.Config.Limit() != 100 {
		t.Errorf("got %s, %d", got, r.Config.Limit())
	}
}

func TestAPresetWithBothNamesConflictsInItsFile(t *testing.T) {
	dir := workdir(t, map[string]string{
		"init.json": blockOf("a.json", "a.json"),
		"a.json":    "{\"description\":{\"summary\":\"s\"},\n\"manifest\":{\"llm\":{\"provider\":\"p\",\"model\":\"m\"},\n\"capabilities\":{\"bash\":{\"a\":1},\"shell\":{}}}}",
	})
	r := host(t, "", nil).Read(dir, preset.AtBoot)
	if r.Stage != "CONFLICT" || r.File != filepath.Join(dir, "a.json") || r.Line != 3 {
		t.Errorf("got %+v", r.Reading)
	}
}
