package preset_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
)

func tokens(n int64) *int64 { return &n }

// L-25: what is not allowed is refused before it is looked at, and nothing changes.
// L-26: so is what is too small, before activation. L-29, L-30: an empty preset is
// none; a preset and a revert exclude each other.
func TestL25L26L29L30RefusalsInTheirOrderWriteNothing(t *testing.T) {
	const small = `{"description":{"summary":"s"},"manifest":{"llm":{"provider":"p","model":"m","context_limit":10},"capabilities":{}}}`
	block := func(active, home, allowed string) string {
		return `{"covenant":"","pad":"","manifest":{"llm":{"provider":"p","model":"m"},"preset":{"active":` + active + `,"default":` + home + `,"allowed":` + allowed + `}}}`
	}
	usual := block(`"a.json"`, `"a.json"`, `["a.json","b.jsonc","small.json","gone.json","bad.json","conf.json","key.json"]`)
	for _, c := range []struct {
		what, init string
		q          preset.Request
		code       fault.Code
		says, kind string
	}{
		{"L-30 both", usual, preset.Request{Preset: "b.jsonc", Revert: true}, fault.BadInput, `either a preset or a revert, not both: "b.jsonc"`, ""},
		{"L-30 both, before init.json is read", "{", preset.Request{Preset: "x", Revert: true}, fault.BadInput, "either a preset", ""},
		{"a broken init.json", "{", preset.Request{Preset: "b.jsonc"}, fault.Corrupt, "JSON_PARSE", ""},
		{"an empty init.json", "", preset.Request{Preset: "b.jsonc"}, fault.Corrupt, "JSON_PARSE", ""},
		{"no default", block(`"a.json"`, `null`, `["a.json"]`), preset.Request{Revert: true}, fault.BadInput, "nothing to revert to", ""},
		{"no presets", plainInit, preset.Request{Revert: true}, fault.BadInput, "nothing to revert to", ""},
		{"L-25 not allowed", usual, preset.Request{Preset: "other.json"}, fault.Denied, `not in manifest.preset.allowed: "other.json"`, "preset_swap_refused_unauthorized"},
		{"L-25 not allowed, nor there", usual, preset.Request{Preset: "nosuch.json"}, fault.Denied, "not in manifest.preset.allowed", "preset_swap_refused_unauthorized"},
		{"L-25 a stem", usual, preset.Request{Preset: "a"}, fault.Denied, "not in manifest.preset.allowed", "preset_swap_refused_unauthorized"},
		{"no presets at all", plainInit, preset.Request{Preset: "a.json"}, fault.Denied, "not in manifest.preset.allowed", "preset_swap_refused_unauthorized"},
		{"allowed is null", block(`"a.json"`, `"a.json"`, `null`), preset.Request{Preset: "a.json"}, fault.Denied, "not in manifest.preset.allowed", "preset_swap_refused_unauthorized"},
		{"a default that is not allowed", block(`"a.json"`, `"other.json"`, `["a.json"]`), preset.Request{Revert: true}, fault.Denied, "not in manifest.preset.allowed", "preset_swap_refused_unauthorized"},
		{"missing", usual, preset.Request{Preset: "gone.json"}, fault.BadInput, `preset not found: "gone.json"`, ""},
		{"malformed", usual, preset.Request{Preset: "bad.json"}, fault.Corrupt, `preset failed to activate: preset is malformed: "bad.json"`, ""},
		{"L-26 too small by one", usual, preset.Request{Preset: "small.json", Tokens: tokens(11)}, fault.Denied, `"small.json" holds 10 tokens, it has 11`, "preset_swap_refused_oversize"},
		{"L-26 a revert too", block(`"a.json"`, `"small.json"`, `["a.json","small.json"]`), preset.Request{Revert: true, Tokens: tokens(11)}, fault.Denied, "conversation too large", "preset_swap_refused_oversize"},
		{"one that an agent could not start with", usual, preset.Request{Preset: "key.json"}, fault.Corrupt, `preset failed to activate: "key.json": VALIDATE`, ""},
		{"one with both names", usual, preset.Request{Preset: "conf.json"}, fault.Corrupt, "preset failed to activate: manifest.capabilities.bash", ""},
	} {
		dir := workdir(t, map[string]string{
			"init.json": c.init, "a.json": presetA, "b.jsonc": presetB, "other.json": presetA, "small.json": small, "bad.json": "{",
			"key.json":  `{"description":{"summary":"s"},"manifest":{"llm":{"provider":"p","model":"m","api_key_env":"K"},"capabilities":{}}}`,
			"conf.json": `{"description":{"summary":"s"},"manifest":{"llm":{"provider":"p","model":"m"},"capabilities":{"bash":{},"shell":{"a":1}}}}`,
		})
		before := look(t, filepath.Dir(dir))
		swap, events, err := host(t, "", nil).Activate(t.Context(), dir, c.q)
		if !fault.Is(err, c.code) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %+v, %v", c.what, swap, err)
		}
		kind := ""
		if len(events) > 0 {
			kind = events[0].Type
		}
		if kind != c.kind || len(events) > 1 {
			t.Errorf("%s: events %+v", c.what, events)
		}
		before.same(t, filepath.Dir(dir), c.what)
	}
}

func TestTheTwoKindsOfErrorStayApart(t *testing.T) {
	h, dir := swappable(t)
	for _, c := range []struct {
		file string
		want error
	}{{"a.json", preset.ErrMissing}, {"b.jsonc", preset.ErrMalformed}} {
		path := filepath.Join(dir, c.file)
		if c.want == preset.ErrMissing {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		} else {
			bodytest.Write(t, path, "{")
		}
		if _, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: c.file}); !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
}

func TestTheEventOfAPresetThatIsTooSmall(t *testing.T) {
	h, dir := swappable(t)
	_, events, err := h.Activate(t.Context(), dir, preset.Request{Preset: "b.jsonc", Tokens: tokens(11)})
	if err == nil || encode(t, events) != `[{"Type":"preset_swap_refused_oversize","Fields":{"current_tokens":11,"preset":"b.jsonc","target_limit":10}}]` {
		t.Errorf("got %s, %v", encode(t, events), err)
	}
}

// The edge tests of the gate: equal fits, unknown on either side is allowed.
func TestL26WhatFits(t *testing.T) {
	for _, c := range []struct {
		ref  string
		have *int64
	}{{"b.jsonc", tokens(10)}, {"b.jsonc", tokens(0)}, {"b.jsonc", nil}, {"~/c.json", tokens(1 << 40)}} {
		h, dir := swappable(t)
		if _, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: c.ref, Tokens: c.have}); err != nil {
			t.Errorf("%s: %v", c.ref, err)
		}
	}
}

// L-29: nothing asked for is nothing done; blanks are nothing, and do not stand in the
// way of a revert.
func TestL29AnEmptyPresetIsAbsent(t *testing.T) {
	h, dir := swappable(t)
	before := look(t, dir)
	for _, ref := range []string{"", " \t\n"} {
		if swap, events, err := h.Activate(t.Context(), dir, preset.Request{Preset: ref}); swap.Type != "" || events != nil || err != nil {
			t.Errorf("got %+v, %v, %v", swap, events, err)
		}
	}
	before.same(t, dir, "nothing")
	if swap, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: " ", Revert: true}); err != nil || !swap.Revert {
		t.Errorf("got %+v, %v", swap, err)
	}
	if swap, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: " b.jsonc\n"}); err != nil || swap.Preset != "b.jsonc" {
		t.Errorf("got %+v, %v", swap, err)
	}
}

// L-27: one edit has active, default, allowed, model and capabilities, and the rest of
// the text stays, remarks too. L-28: a swap makes the default; a revert goes by it.
func TestL27L28ASwapIsOneEdit(t *testing.T) {
	h, dir := swappable(t)
	path := filepath.Join(dir, "init.json")
	swap, events, err := h.Activate(t.Context(), dir, preset.Request{Preset: "./b.jsonc"})
	if err != nil || events != nil {
		t.Fatal(events, err)
	}
	want := `{"type":"swap","dir":"` + dir + `","preset":"./b.jsonc","previous":"a.json","default":"./b.jsonc","revert":false,` +
		`"llm":{"provider":"anthropic","model":"m-b"},"context_limit":10,"changed":true,"backup":""}`
	if got := encode(t, swap); got != want {
		t.Errorf("got %s", got)
	}
	text := `// of ann
{
  "covenant": "be kind", // the deal
  "pad": "",
  "manifest": {
    "llm": {"provider": "anthropic", "model": "m-b", "api_key": "sk-b-1"},
    "capabilities": {
      "shell": {"timeout": 5}, // quick
    },
    "preset": {
      "active": "./b.jsonc", /* now */
      "default": "./b.jsonc",
      "allowed": ["a.json", "b.jsonc", "~/c.json", "./b.jsonc"],
    },
    "context_limit": 10
  },
}
`
	if got := bodytest.Contents(t, path); got != text {
		t.Errorf("got %s", got)
	}
	// The next boot has it, and has it again.
	if r := h.Read(dir, preset.AtBoot); r.Outcome != preset.Effective || r.Config.LLM().Model != "m-b" || r.Config.Preset().Default != "./b.jsonc" {
		t.Errorf("got %+v, %v", r.Reading, r.Err())
	}
	// Back by hand: the default is what a revert goes by, and it stays.
	bodytest.Write(t, path, strings.Replace(text, `"default": "./b.jsonc"`, `"default": "~/c.json"`, 1))
	swap, _, err = h.Activate(t.Context(), dir, preset.Request{Revert: true})
	if err != nil || swap.Preset != "~/c.json" || swap.Default != "~/c.json" || swap.Previous != "./b.jsonc" || swap.ContextLimit != 0 {
		t.Errorf("got %+v, %v", swap, err)
	}
	if got := bodytest.Contents(t, path); strings.Contains(got, "context_limit") || !strings.Contains(got, `"default": "~/c.json"`) {
		t.Errorf("got %s", got)
	}
	// A second time there is nothing to write.
	before := look(t, dir)
	if swap, _, err = h.Activate(t.Context(), dir, preset.Request{Revert: true}); err != nil || swap.Changed {
		t.Errorf("got %+v, %v", swap, err)
	}
	before.same(t, dir, "the same preset again")
}

// Class 10: the arguments of one preset do not drift into the next, and the
// operator's own are never lost.
func TestClass10ThereAndBackIsWhereItWas(t *testing.T) {
	h, dir := swappable(t)
	go1 := func(ref string) string {
		t.Helper()
		if _, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: ref}); err != nil {
			t.Fatal(err)
		}
		r := h.Read(dir, preset.AtBoot)
		return encode(t, r.Config.Object("manifest", "capabilities")) + fmt.Sprint(r.Config.Limit())
	}
	a, b, c := go1("a.json"), go1("b.jsonc"), go1("~/c.json")
	if want := `{"shell":{"env":"a","timeout":5},"skills":{"paths":["~/a"]},"vision":{"model":"v"}}100`; a != want {
		t.Errorf("a: got %s", a)
	}
	if want := `{"shell":{"timeout":5},"skills":{}}10`; b != want {
		t.Errorf("b: got %s", b)
	}
	if want := `{"shell":{"timeout":5},"skills":{}}0`; c != want {
		t.Errorf("c: got %s", c)
	}
	for range 3 {
		if got := go1("b.jsonc"); got != b {
			t.Errorf("b again: got %s", got)
		}
		if got := go1("a.json"); got != a {
			t.Errorf("a again: got %s", got)
		}
	}
}

func TestAnOldNameStaysTheOperatorsToChange(t *testing.T) {
	h, dir := swappable(t)
	path := filepath.Join(dir, "init.json")
	bodytest.Write(t, path, strings.Replace(swapInit, `"shell"`, `"bash"`, 1))
	if _, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: "b.jsonc"}); err != nil {
		t.Fatal(err)
	}
	if got := bodytest.Contents(t, path); !strings.Contains(got, `"bash": {"timeout": 5}, // quick`) || strings.Contains(got, `"shell"`) {
		t.Errorf("got %s", got)
	}
}

// Class 10: what no swap back could bring is kept beside the file, once.
func TestClass10WhatASwapCannotKeep(t *testing.T) {
	for _, c := range []struct {
		capabilities string // of init.json, where presetA has vision with a model, and presetB a shell
		lost         bool
	}{
		{`"shell": {"timeout": 5}, "avatar": null`, false}, // no preset has that
		{`"shell": null`, true},
		{`"shell": {"timeout": 5}`, false},
		{`"shell": {"timeout": 5}, "vision": {"model": "v"}`, false}, // a.json has that
		{`"shell": {"timeout": 5}, "vision": {"detail": "high"}`, true},
		{`"shell": {"timeout": 5}, // mine` + "\n" + `"vision": {"model": "v"} // tuned`, true},
	} {
		h, dir := swappable(t)
		path := filepath.Join(dir, "init.json")
		before := `{"manifest": {"preset": {"active": "a.json", "default": "a.json", "allowed": ["a.json", "b.jsonc"]}, ` +
			`"llm": {"provider": "p", "model": "m-a"}, "capabilities": {` + c.capabilities + "\n}}, \"covenant\": \"c\", \"pad\": \"\"}"
		bodytest.Write(t, path, before)
		if err := os.Chmod(path, 0o640); err != nil {
			t.Fatal(err)
		}
		for i, ref := range []string{"b.jsonc", "a.json", "b.jsonc"} {
			swap, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: ref})
			if err != nil || (swap.Backup != "") != (c.lost && i == 0) {
				t.Errorf("%s: %+v, %v", c.capabilities, swap, err)
			}
			if swap.Backup == "" {
				continue
			}
			if info, err := os.Stat(swap.Backup); err != nil || info.Mode().Perm() != 0o640 || bodytest.Contents(t, swap.Backup) != before {
				t.Errorf("%s: the backup: %v, %v", c.capabilities, info, err)
			}
		}
		if all, _ := filepath.Glob(path + ".*.backup"); len(all) > 1 || len(all) == 1 != c.lost {
			t.Errorf("%s: %q", c.capabilities, all)
		}
	}
}

// What init.json says of the model counts where no preset does: then a swap keeps a copy.
func TestClass10WhatNoPresetSays(t *testing.T) {
	for _, c := range []struct {
		active string
		kept   bool
	}{{"gone.json", true}, {"a.json", false}} {
		h, dir := swappable(t)
		path := filepath.Join(dir, "init.json")
		bodytest.Write(t, path, `{"manifest": {"preset": {"active": "`+c.active+`", "default": "b.jsonc", "allowed": ["gone.json", "a.json", "b.jsonc"]},
			"llm": {"provider": "p", "model": "m", "api_key": "sk-mine"}, "capabilities": {}}, "covenant": "c", "pad": ""}`)
		swap, _, err := h.Activate(t.Context(), dir, preset.Request{Revert: true})
		if err != nil || (swap.Backup != "") != c.kept {
			t.Errorf("%s: %+v, %v", c.active, swap, err)
		}
		if c.kept && !strings.Contains(bodytest.Contents(t, swap.Backup), "sk-mine") {
			t.Errorf("%s: not in the backup", c.active)
		}
	}
}

// A swap is the cure for an active preset that is malformed or gone.
func TestASwapMendsAnActivePresetThatFails(t *testing.T) {
	h, dir := swappable(t)
	bodytest.Write(t, filepath.Join(dir, "a.json"), "{")
	if _, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: "b.jsonc"}); err != nil {
		t.Error(err)
	}
	if r := h.Read(dir, preset.AtBoot); r.Config == nil {
		t.Error(r.Err())
	}
}

// L-31: what else is in init.json, such as an MCP that cannot start, is no part of a
// swap.
func TestL31ADeadServerDoesNotStopASwap(t *testing.T) {
	h, dir := swappable(t)
	d, err := preset.ParseDoc([]byte(swapInit))
	if err == nil {
		d, err = d.With(raw(`{"dead":{"command":"/nosuch","url":"http://127.0.0.1:1"}}`), "mcp")
	}
	if err != nil {
		t.Fatal(err)
	}
	bodytest.Write(t, filepath.Join(dir, "init.json"), string(d.Bytes()))
	if _, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: "b.jsonc"}); err != nil {
		t.Error(err)
	}
}

func TestTheFileKeepsItsModeAndItsLink(t *testing.T) {
	for _, mode := range []os.FileMode{0o600, 0o640, 0o644} {
		h, dir := swappable(t)
		path, real := filepath.Join(dir, "init.json"), filepath.Join(h.Home, "ann.json")
		if err := os.Rename(path, real); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(real, path); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(real, mode); err != nil {
			t.Fatal(err)
		}
		if _, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: "b.jsonc"}); err != nil {
			t.Fatal(err)
		}
		info, err := os.Lstat(real)
		if err != nil || info.Mode() != mode {
			t.Errorf("%v became %v, %v", mode, info.Mode(), err)
		}
		if to, err := os.Readlink(path); err != nil || to != real || !strings.Contains(bodytest.Contents(t, path), "m-b") {
			t.Errorf("the link: %q, %v", to, err)
		}
		for _, d := range []string{dir, h.Home} {
			if left, _ := filepath.Glob(filepath.Join(d, ".tmp-*")); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		}
	}
}

// Class 13 and 10: writers at once leave a whole file whose parts belong together, and
// readers see no other.
func TestClass10Class13ManySwapsAtOnce(t *testing.T) {
	h, dir := swappable(t)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			ref := []string{"a.json", "b.jsonc", "~/c.json"}[i%3]
			for range 3 {
				if _, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: ref, Wait: time.Minute}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	models := map[string]string{"a.json": "m-a", "b.jsonc": "m-b", "~/c.json": "m-c"}
	first := true
	done := make(chan struct{})
	go func() { wait.Wait(); close(done) }()
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		d, err := preset.ParseDoc([]byte(bodytest.Contents(t, filepath.Join(dir, "init.json"))))
		if err != nil {
			t.Fatal(err)
		}
		m := d.Value.(map[string]any)["manifest"].(map[string]any)
		block, model := m["preset"].(map[string]any), m["llm"].(map[string]any)["model"].(string)
		if model == "old" && first {
			continue
		}
		first = false
		if models[block["active"].(string)] != model || block["default"] != block["active"] {
			t.Fatalf("%v with %s", block, model)
		}
	}
	if r := h.Read(dir, preset.AtBoot); r.Config == nil {
		t.Error(r.Err())
	}
}

func TestASwapWaitsForAnotherWriterAndGivesUp(t *testing.T) {
	h, dir := swappable(t)
	unlock, err := disk.Lock(t.Context(), filepath.Join(dir, ".init.lock"), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	before := look(t, dir)
	if _, _, err := h.Activate(t.Context(), dir, preset.Request{Preset: "b.jsonc"}); !fault.Is(err, fault.Busy) {
		t.Errorf("got %v", err)
	}
	before.same(t, dir, "a busy file")
}

func TestSwapTellsTheLogAndAsksTheStatus(t *testing.T) {
	h, dir := swappable(t)
	b, err := body.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.WriteStatus(body.Status{Tokens: body.Tokens{Context: body.Context{Tokens: 11}}}); err != nil {
		t.Fatal(err)
	}
	if _, unlogged, err := h.Swap(t.Context(), b, preset.Request{Preset: "b.jsonc"}); !fault.Is(err, fault.Denied) || unlogged != nil {
		t.Errorf("got %v, %v", unlogged, err)
	}
	line := bodytest.Contents(t, filepath.Join(dir, "logs/events.jsonl"))
	if !strings.HasPrefix(line, `{"type":"preset_swap_refused_oversize",`) || strings.Count(line, "\n") != 1 {
		t.Errorf("got %s", line)
	}
	// What is given comes before the status.
	if swap, _, err := h.Swap(t.Context(), b, preset.Request{Preset: "b.jsonc", Tokens: tokens(9)}); err != nil || swap.Preset != "b.jsonc" {
		t.Errorf("got %+v, %v", swap, err)
	}
	// A log that cannot be written is said, and does not stand in the way.
	if err := os.RemoveAll(filepath.Join(dir, "logs")); err != nil {
		t.Fatal(err)
	}
	bodytest.Write(t, filepath.Join(dir, "logs"), "a file")
	if _, unlogged, err := h.Swap(t.Context(), b, preset.Request{Preset: "other.json"}); !fault.Is(err, fault.Denied) || unlogged == nil {
		t.Errorf("got %v, %v", unlogged, err)
	}
}
