package preset_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
)

// L-06: file, JSON, old names, preset, schema, paths, in this order: of all faults at
// once the first stage is told, and when it is mended the next.
func TestL06TheStagesHaveTheirOrder(t *testing.T) {
	dir := workdir(t, nil)
	h := host(t, "", nil) // no home directory: ~ is the fault of the last stage
	stages := []struct{ stage, text string }{
		{"FILE_READ", ""},
		{"JSON_PARSE", `{"manifest":3 "capabilities"}`},
		{"MANIFEST_SHAPE", `{"manifest":3}`},
		{"CAPABILITY_SHAPE", `{"manifest":{"capabilities":[1],"preset":{"active":"x.json","default":"x.json","allowed":["x.json"]}}}`},
		{"CAPABILITY_SHAPE", `{"manifest":{"capabilities":{"shell":1},"preset":{"active":"x.json","default":"x.json","allowed":["x.json"]}}}`},
		{"CONFLICT", `{"manifest":{"capabilities":{"bash":{"a":1},"shell":{}},"preset":{"active":"x.json","default":"x.json","allowed":["x.json"]}}}`},
		{"PRESET", `{"manifest":{"capabilities":{"bash":{},"shell":{}},"preset":{"active":"x.json","default":"x.json","allowed":["x.json"]}}}`},
		{"VALIDATE", `{"covenant_file":"~/c","pad":1,"manifest":{"preset":{"active":"a.json","default":"a.json","allowed":["a.json"]}}}`},
		{"RESOLVE", `{"covenant_file":"~/c","pad":"","manifest":{"preset":{"active":"a.json","default":"a.json","allowed":["a.json"]}}}`},
	}
	bodytest.Write(t, filepath.Join(dir, "a.json"), presetA)
	for i, s := range stages {
		if i > 0 {
			bodytest.Write(t, filepath.Join(dir, "init.json"), s.text)
		}
		r := h.Read(dir, preset.AtBoot)
		if r.Stage != s.stage || r.Outcome != preset.Failed || r.Config != nil || r.Err() == nil || r.NextStep == "" {
			t.Errorf("%s: got %+v", s.stage, r.Reading)
		}
	}
	bodytest.Write(t, filepath.Join(dir, "init.json"), strings.ReplaceAll(stages[len(stages)-1].text, "~/c", "c"))
	if r := h.Read(dir, preset.AtBoot); r.Outcome != preset.Effective || r.Err() != nil {
		t.Errorf("mended: got %+v", r.Reading)
	}
}

func TestAFailureStopsABootAndKeepsWhatALiveAgentHad(t *testing.T) {
	dir := workdir(t, map[string]string{"init.json": "{"})
	h := host(t, "", nil)
	for when, want := range map[preset.When]string{preset.AtBoot: "STOP", preset.AtRefresh: "KEEP_PREVIOUS_EFFECTIVE"} {
		if r := h.Read(dir, when); r.Behaviour != want || r.Outcome != preset.Failed {
			t.Errorf("got %+v", r.Reading)
		}
	}
	// L-08 and the edge test: a refresh on a broken file leaves the caller with the last good configuration.
	good := host(t, "", nil).Read(workdir(t, map[string]string{"init.json": plainInit}), preset.AtBoot).Config
	if r := h.Read(dir, preset.AtRefresh); r.Config != nil {
		t.Error("there is a configuration")
	} else if good.Text("manifest", "llm", "model") != "m" {
		t.Error("the one before has changed")
	}
}

func TestAFileThatCannotBeRead(t *testing.T) {
	h := host(t, "", nil)
	dir := workdir(t, nil)
	if r := h.Read(dir, preset.AtBoot); r.Message != "no such file or directory" || !fault.Is(r.Err(), fault.Corrupt) {
		t.Errorf("got %+v, %v", r.Reading, r.Err())
	}
	if err := os.Mkdir(filepath.Join(dir, "init.json"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := h.Read(dir, preset.AtBoot); r.Stage != "FILE_READ" || r.Message != "not a regular file" {
		t.Errorf("got %+v", r.Reading)
	}
	if r := h.Read(filepath.Join(dir, "nosuch"), preset.AtBoot); r.Stage != "FILE_READ" {
		t.Errorf("got %+v", r.Reading)
	}
}

// L-07, L-08, L-10, L-11, L-12: whatever is read, at boot or refresh, sound, old,
// failing or falling back, once or twice, nothing is written: bytes and times are the
// same.
func TestL07L08L10L11L12ReadingWritesNothing(t *testing.T) {
	block := `"preset":{"active":"%s","default":"a.json","allowed":["a.json","gone.json","bad.json"]}`
	for what, text := range map[string]string{
		"L-07 sound":                      strings.ReplaceAll(swapInit, "~/c.json", "c.json"),
		"L-09 old names":                  `{"covenant":"","pad":"","soul":"x","manifest":{"stamina":1,"molt_pressure":2,"llm":{"provider":"p","model":"m"},"capabilities":{"bash":{}}}}`,
		"L-10 fallback":                   fmt.Sprintf(`{"covenant":"","pad":"","manifest":{`+block+`}}`, "gone.json"),
		"L-11 venv":                       `{"covenant":"","pad":"","venv_path":"venv","env_file":".env","manifest":{"llm":{"provider":"p","model":"m"}}}`,
		"L-12 malformed active":           fmt.Sprintf(`{"covenant":"","pad":"","manifest":{`+block+`}}`, "bad.json"),
		"a broken text":                   `{"manifest":`,
		"a conflict":                      `{"manifest":{"capabilities":{"bash":{"a":1},"shell":{}}}}`,
		"a fault of the schema":           `{"manifest":{"llm":1}}`,
		"an empty file":                   ``,
		"remarks and a key that is twice": "// x\n{\"covenant\":\"\",\"pad\":\"\",\"manifest\":{\"llm\":{\"provider\":\"p\",\"model\":\"m\",},},\"pad\":\"\",}",
	} {
		dir := workdir(t, map[string]string{"init.json": text, "a.json": presetA, "bad.json": "{", "b.jsonc": presetB})
		h := host(t, "", nil)
		before := look(t, filepath.Dir(dir))
		first := h.Read(dir, preset.AtBoot)
		for range 2 {
			second := h.Read(dir, preset.AtRefresh)
			if first.Outcome != second.Outcome || first.Stage != second.Stage || !slices.Equal(first.IgnoredPaths, second.IgnoredPaths) {
				t.Errorf("%s: read twice: %+v and %+v", what, first.Reading, second.Reading)
			}
		}
		if first.Config != nil {
			if _, err := first.Explain(); err != nil {
				t.Error(err)
			}
		}
		before.same(t, filepath.Dir(dir), what)
	}
}

// L-09: old names are told, and the agent has the capability all the same.
func TestL09OldNamesAreReportedNotRewritten(t *testing.T) {
	dir := workdir(t, map[string]string{"init.json": `{"covenant":"","pad":"","principle":"x","soul_file":"y","what":1,
		"manifest":{"llm":{"provider":"p","model":"m"},"stamina":9,"molt_x":1,"odd":2,
		"capabilities":{"bash":{"timeout":7},"web_search":{},"web":{},"telepathy":{}}}}`})
	r := host(t, "", nil).Read(dir, preset.AtBoot)
	if r.Outcome != preset.WithIgnored {
		t.Fatalf("got %+v", r.Reading)
	}
	if want := []string{"manifest.capabilities.bash", "manifest.capabilities.web_search"}; !slices.Equal(r.CompatibilityPaths, want) {
		t.Errorf("compatibility paths: got %q", r.CompatibilityPaths)
	}
	want := []string{"principle", "soul_file", "what", "manifest.molt_x", "manifest.odd", "manifest.stamina", "manifest.capabilities.telepathy"}
	if !slices.Equal(r.IgnoredPaths, want) {
		t.Errorf("ignored paths: got %q", r.IgnoredPaths)
	}
	if n := levels(r.Findings, "warn"); n != len(want)+2 {
		t.Errorf("got %d findings: %+v", n, r.Findings)
	}
	if n := r.Config.Int(0, "manifest", "capabilities", "shell", "timeout"); n != 7 {
		t.Errorf("shell has lost its arguments: %d", n)
	}
	if m := r.Config.Manifest(); m["stamina"] != nil || m["capabilities"].(map[string]any)["telepathy"] != nil {
		t.Errorf("in effect: %v", m)
	}
}

func TestOldAndNewNamesThatDifferConflict(t *testing.T) {
	for text, paths := range map[string]string{
		`{"bash":{"a":1},"shell":{"a":2}}`:                                   "manifest.capabilities.bash manifest.capabilities.shell",
		`{"bash":null,"shell":{}}`:                                           "manifest.capabilities.bash manifest.capabilities.shell",
		`{"web_search":{"x":[1]},"web":{"x":[2]},"bash":{}}`:                 "manifest.capabilities.web_search manifest.capabilities.web",
		`{"bash":{"a":1.0,"b":[{"c":"d"}]},"shell":{"a":1,"b":[{"c":"d"}]}}`: "",
	} {
		dir := workdir(t, map[string]string{"init.json": `{"covenant":"","pad":"","manifest":{"llm":{"provider":"p","model":"m"},"capabilities":` + text + `}}`})
		r := host(t, "", nil).Read(dir, preset.AtBoot)
		if got := strings.Join(r.ConflictPaths, " "); got != paths || (r.Stage == "CONFLICT") != (paths != "") {
			t.Errorf("%s: got %+v", text, r.Reading)
		}
	}
}

// The schema, a row a rule: what is put where in a sound init.json, and what is said
// of it; "" for nothing. A message names the dotted path, never the value.
func TestSchema(t *testing.T) {
	for _, c := range []struct{ path, value, want string }{
		{"covenant", "", "covenant: missing"},
		{"pad", "", "pad: missing"},
		{"covenant", "3", "covenant: want text, found a number"},
		{"covenant_file", "true", "covenant_file: want text, found true or false"},
		{"comment", "null", "comment: want text, found null"},
		{"lingtai_file", "[]", "lingtai_file: want text, found a list"},
		{"base_prompt", "{}", "base_prompt: want text, found an object"},
		{"env_file", "1", "env_file: want text, found a number"},
		{"venv_path", "null", "venv_path: want text, found null"},
		{"addons", `["a",1]`, "addons: want list of texts, found a list whose item 1 is a number"},
		{"addons", `[]`, ""},
		{"mcp", `[]`, "mcp: want object, found a list"},
		{"manifest.llm", "", "manifest.llm: missing"},
		{"manifest.llm", "[]", "manifest.llm: want object, found a list"},
		{"manifest.llm.provider", "", "manifest.llm.provider: missing"},
		{"manifest.llm.model", "null", "manifest.llm.model: want text, found null"},
		{"manifest.llm.api_key", "null", ""},
		{"manifest.llm.api_key", "12", "manifest.llm.api_key: want text or null, found a number"},
		{"manifest.llm.api_key_env", `"KEY"`, "env_file: missing: manifest.llm.api_key_env needs it"},
		{"manifest.llm.base_url", "null", ""},
		{"manifest.llm.wire_api", `"responses"`, ""},
		{"manifest.llm.wire_api", `"soap"`, "manifest.llm.wire_api: want one of auto, chat_completions, responses"},
		{"manifest.llm.thinking", `"xhigh"`, ""},
		{"manifest.llm.thinking", `"most"`, "manifest.llm.thinking: want one of none, minimal, low, medium, high, xhigh"},
		{"manifest.llm.compact_threshold", "null", ""},
		{"manifest.llm.compact_threshold", "0", "manifest.llm.compact_threshold: want 1 or more"},
		{"manifest.llm.compact_threshold", "true", "manifest.llm.compact_threshold: want whole number or null, found true or false"},
		{"manifest.llm.default_headers", `{"X":1}`, ""},
		{"manifest.llm.api_compat", `"openai"`, ""},
		{"manifest.agent_name", "null", ""},
		{"manifest.agent_name", "1", "manifest.agent_name: want text or null, found a number"},
		{"manifest.language", "null", "manifest.language: want text, found null"},
		{"manifest.admin", "true", "manifest.admin: want object, found true or false"},
		{"manifest.disable", "{}", "manifest.disable: want list, found an object"},
		{"manifest.soul", "1", "manifest.soul: want object, found a number"},
		{"manifest.soul.delay", "1.5", ""},
		{"manifest.soul.delay", "true", "manifest.soul.delay: want number, found true or false"},
		{"manifest.soul.delay", `"30"`, "manifest.soul.delay: want number, found a text"},
		{"manifest.soul.consultation_past_count", "1.5", "manifest.soul.consultation_past_count: want whole number, found a number that is not whole, or too large"},
		{"manifest.context_limit", "null", ""},
		{"manifest.context_limit", "false", "manifest.context_limit: want whole number or null, found true or false"},
		{"manifest.max_turns", "true", "manifest.max_turns: want whole number, found true or false"},
		{"manifest.max_turns", "1.0", "manifest.max_turns: want whole number, found a number that is not whole, or too large"},
		{"manifest.max_turns", "99999999999999999999", "manifest.max_turns: want whole number, found a number that is not whole, or too large"},
		{"manifest.max_rpm", `"60"`, "manifest.max_rpm: want whole number, found a text"},
		{"manifest.max_aed_attempts", "0", "manifest.max_aed_attempts: want 1 or more"},
		{"manifest.max_aed_attempts", "1", ""},
		{"manifest.aed_timeout", "1e400", "manifest.aed_timeout: want number, found a number that is too large"},
		{"manifest.aed_timeout", "0.5", ""},
		{"manifest.cache_miss_budget", "0", "manifest.cache_miss_budget: want 1 or more"},
		{"manifest.summarize_notification_threshold", "0", ""},
		{"manifest.summarize_notification_threshold", "-1", "manifest.summarize_notification_threshold: want 0 or more"},
		{"manifest.streaming", "1", "manifest.streaming: want true or false, found a number"},
		{"manifest.time_awareness", "false", ""},
		{"manifest.timezone_awareness", `"no"`, "manifest.timezone_awareness: want true or false, found a text"},
		{"manifest.pseudo_agent_subscriptions", `"../human"`, "manifest.pseudo_agent_subscriptions: want list of texts, found a text"},
		{"manifest.plugins", "null", "manifest.plugins: want list, found null"},
		{"manifest.preset", "null", "manifest.preset: want object, found null"},
		{"manifest.capabilities", "null", "manifest.capabilities: want object, found null"},
		{"manifest.capabilities.shell", "null", ""},
		{"manifest.capabilities.shell", "true", "manifest.capabilities.shell: want object or null, found true or false"},
		{"manifest.capabilities.skills", `{"paths":["a"]}`, ""},
		{"manifest.capabilities.skills", `{"paths":"a"}`, "manifest.capabilities.skills.paths: want list of texts, found a text"},
		{"manifest.capabilities.skills", `{"path":["a"]}`, "manifest.capabilities.skills.path: skills takes paths only"},
	} {
		d, err := preset.ParseDoc([]byte(plainInit))
		if err != nil {
			t.Fatal(err)
		}
		path := strings.Split(c.path, ".")
		if c.value == "" {
			d, err = d.Without(path...)
		} else {
			d, err = d.With(raw(c.value), path...)
		}
		if err != nil {
			t.Fatalf("%s %s: %v", c.path, c.value, err)
		}
		dir := workdir(t, map[string]string{"init.json": string(d.Bytes())})
		r := host(t, "", nil).Read(dir, preset.AtBoot)
		if r.Message != c.want {
			t.Errorf("%s = %s: got %q, want %q", c.path, c.value, r.Message, c.want)
		}
		if path, _, _ := strings.Cut(c.want, ":"); r.JSONPath != path || c.want != "" && r.Line == 0 {
			t.Errorf("%s = %s: at %q, line %d", c.path, c.value, r.JSONPath, r.Line)
		}
	}
}

func TestEveryFaultIsFoundAndTheFirstIsTold(t *testing.T) {
	dir := workdir(t, map[string]string{"init.json": "{\"covenant\":\"\",\n\"manifest\":{\"max_turns\":true,\n \"llm\":{\"provider\":\"p\"},\"soul\":{\"delay\":\"x\"}}}"})
	r := host(t, "", nil).Read(dir, preset.AtBoot)
	if n := levels(r.Findings, "fail"); n != 4 || r.JSONPath != "pad" || r.NextStep != "give pad or pad_file" {
		t.Errorf("got %d: %+v, %+v", n, r.Reading, r.Findings)
	}
	bodytest.Write(t, filepath.Join(dir, "init.json"), "{\"covenant\":\"\",\"pad\":\"\",\n\"manifest\":{\"max_turns\":true,\n \"llm\":{\"provider\":\"p\",\"model\":\"m\"}}}")
	r = host(t, "", nil).Read(dir, preset.AtBoot)
	if r.Line != 2 || r.Column != 25 || r.Excerpt != `"manifest":{"max_turns":true,` || r.File != filepath.Join(dir, "init.json") {
		t.Errorf("got %+v", r.Reading)
	}
}

// The edge test and class 14: no word of a text that does not parse gets out, whatever
// is broken around a key.
func TestClass14NoExcerptAndNoMessageShowsAKey(t *testing.T) {
	const key = "sk-live-0123456789abcdefXYZ"
	for _, text := range []string{
		`{"manifest":{"llm":{"api_key": "KEY" "provider":"p"}}}`,
		`{"manifest":{"llm":{"api_key": KEY}}}`,
		`{"manifest":{"llm":{"api_key": "KEY}}}`,
		`{"manifest":{"llm":{api_key: "KEY"}}}`,
		"{\"manifest\":{\"llm\":{\"api_key\": \"KEY\n\"}}}",
		`{"manifest":{"llm":{"KEY"}}}`,
		`{"manifest":{"llm":{"api_key": "KEY"}} // KEY`,
		`{"manifest":{"llm":{"api_key": "KEY" /* KEY`,
		`{"covenant":"","pad":"","manifest":{"llm":{"api_key":"KEY","provider":"p"}}}`,
		`{"covenant":"","pad":"","manifest":{"llm":{"thinking":"KEY","provider":"p","model":"m"}}}`,
		`{"covenant":"","pad":"","manifest":{"max_turns":"KEY","llm":{"provider":"p","model":"m"}}}`,
		`{"covenant":"","pad":"","manifest":{"llm":["KEY"]}}`,
		`{"covenant":"","pad":"","manifest":{"llm":"KEY"}}`,
		`{"covenant":"","pad":"","manifest":{"capabilities":{"bash":{"api_key":"KEY"},"shell":{}},"llm":{"provider":"p","model":"m"}}}`,
		`{"covenant":"","pad":"","manifest":{"llm":{"provider":"p","model":"m","api_key_env":"KEY"}}}`,
		`{"covenant":"","pad":"","manifest":{"preset":{"active":"bad.json","default":"bad.json","allowed":["bad.json"]}}}`,
		strings.Repeat(" ", 500) + `"KEY"` + strings.Repeat(" ", 500),
	} {
		text = strings.ReplaceAll(text, "KEY", key)
		dir := workdir(t, map[string]string{"init.json": text, "bad.json": `{"manifest":{"llm":{"api_key":"` + key + `"`})
		r := host(t, "", nil).Read(dir, preset.AtBoot)
		if r.Outcome != preset.Failed {
			t.Fatalf("%s: got %+v", text, r.Reading)
		}
		said := fmt.Sprintf("%+v %v %s %+v", r.Reading, r.Err(), fault.From(r.Err()).Hint, r.Findings)
		for n := 8; n <= len(key); n++ {
			for i := 0; i+n <= len(key); i++ {
				if strings.Contains(said, key[i:i+n]) {
					t.Fatalf("%s: got %s", text, said)
				}
			}
		}
		if len([]rune(r.Excerpt)) > 300 {
			t.Errorf("the excerpt has %d characters", len([]rune(r.Excerpt)))
		}
	}
}

func TestAnExcerptShowsTheShapeAroundTheFault(t *testing.T) {
	long := `"pad":"` + strings.Repeat(`x `, 400) + `","covenant" 3`
	dir := workdir(t, map[string]string{"init.json": "{\n  \"manifest\": {\"llm\": {\"provider\": \"p\" \"model\": true}},\n" + long + "}"})
	r := host(t, "", nil).Read(dir, preset.AtBoot)
	if r.Excerpt != `"manifest": {"llm": {"provider": "…" "model": true}},` || r.Line != 2 {
		t.Errorf("got %+v", r.Reading)
	}
	// A word that init.json may have is a secret's, where it does not stand alone.
	bodytest.Write(t, filepath.Join(dir, "init.json"), `{"pad": "correct shell file" manifest}`)
	if r = host(t, "", nil).Read(dir, preset.AtBoot); r.Excerpt != `{"pad": "…" …}` {
		t.Errorf("got %+v", r.Reading)
	}
	bodytest.Write(t, filepath.Join(dir, "init.json"), "{\n"+strings.Repeat(`"pad":1,`, 200)+long+"}")
	if r = host(t, "", nil).Read(dir, preset.AtBoot); !strings.HasSuffix(r.Excerpt, `,"pad":"… ","covenant" …}`) || len([]rune(r.Excerpt)) > 300 {
		t.Errorf("got %+v", r.Reading)
	}
	bodytest.Write(t, filepath.Join(dir, "init.json"), "{\n"+long+"}")
	if r = host(t, "", nil).Read(dir, preset.AtBoot); r.Excerpt != `"pad":"… ","covenant" …}` {
		t.Errorf("got %+v", r.Reading)
	}
}

func TestPathsAreResolvedAndAFileThatIsThereComesFirst(t *testing.T) {
	dir := workdir(t, map[string]string{"c.md": "from the file", "init.json": `{"covenant":"inline","covenant_file":"c.md","pad":"p","pad_file":"nosuch.md",
		"env_file":"~/env","venv_path":"/opt/../v","comment_file":"a/../k.md","manifest":{"llm":{"provider":"p","model":"m"}}}`})
	home := t.TempDir()
	h := host(t, home, nil)
	r := h.Read(dir, preset.AtBoot)
	if r.Config == nil {
		t.Fatal(r.Err())
	}
	for key, want := range map[string]string{
		"covenant_file": filepath.Join(dir, "c.md"), "pad_file": filepath.Join(dir, "nosuch.md"),
		"env_file": filepath.Join(home, "env"), "venv_path": "/v", "comment_file": filepath.Join(dir, "k.md"),
	} {
		if got := r.Config.Text(key); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	if n := levels(r.Findings, "warn"); n != 3 {
		t.Errorf("what is not there: got %d: %+v", n, r.Findings)
	}
	for name, want := range map[string]string{"covenant": "from the file", "pad": "p", "comment": "", "lingtai": ""} {
		if got, _, err := r.Config.Prompt(name); got != want || err != nil {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if _, source, _ := r.Config.Prompt("covenant"); source != filepath.Join(dir, "c.md") {
		t.Errorf("source: got %q", source)
	}
}

// L-16: system/manifest.resolved.json is never an input.
func TestL16TheResolvedManifestIsNeverRead(t *testing.T) {
	h, dir := swappable(t)
	want := h.Read(dir, preset.AtBoot)
	path := filepath.Join(dir, "system/manifest.resolved.json")
	for _, text := range []string{"{", "\xff\x00", `{"manifest":{"llm":{"provider":"evil","model":"evil"},"preset":{"active":"evil.json"}}}`} {
		bodytest.Write(t, path, text)
		r := h.Read(dir, preset.AtBoot)
		if r.Outcome != want.Outcome || r.Config.LLM() != want.Config.LLM() && r.Config.LLM().Model != want.Config.LLM().Model {
			t.Errorf("%q: got %+v", text, r.Reading)
		}
		if _, err := h.WriteResolved(r); err != nil {
			t.Fatal(err)
		}
		if got := bodytest.Contents(t, path); !strings.Contains(got, `"m-a"`) || strings.Contains(got, "evil") {
			t.Errorf("%q: not written anew: %s", text, got)
		}
	}
}

func TestInheritCopiesAllButTheModel(t *testing.T) {
	dir := workdir(t, map[string]string{"init.json": `{"covenant":"","pad":"","manifest":{
		"llm":{"provider":"p","model":"m","api_key":"k","base_url":"http://h","api_compat":"x","wire_api":"auto","thinking":"low"},
		"capabilities":{"vision":{"provider":"inherit","model":"v","base_url":"http://own","size":1},"web":{"provider":"other"}}}}`})
	r := host(t, "", nil).Read(dir, preset.AtBoot)
	if r.Config == nil {
		t.Fatal(r.Err())
	}
	got := fmt.Sprint(r.Config.Object("manifest", "capabilities"))
	if want := "map[vision:map[api_compat:x api_key:k base_url:http://h model:v provider:p size:1 wire_api:auto] web:map[provider:other]]"; got != want {
		t.Errorf("got %s", got)
	}
}

func TestCapabilitiesThatAnAgentHas(t *testing.T) {
	dir := workdir(t, map[string]string{"init.json": `{"covenant":"","pad":"","manifest":{"llm":{"provider":"p","model":"m"},
		"disable":["avatar","email",3],"capabilities":{"mcp":null,"web":{},"email":null,"shell":{"timeout":3}}}}`})
	r := host(t, "", nil).Read(dir, preset.AtBoot)
	var got []string
	for _, c := range r.Config.Capabilities() {
		got = append(got, fmt.Sprint(c.Name, len(c.Args)))
	}
	want := "context0 daemon0 email0 file0 knowledge0 notification0 plugin0 psyche0 shell1 skills0 soul0 system0 task_card0 web0"
	if strings.Join(got, " ") != want {
		t.Errorf("got %q", got)
	}
	if r.Config.Has("vision") || !r.Config.Has("web") || r.Config.Has("mcp") {
		t.Error("Has differs")
	}
}
