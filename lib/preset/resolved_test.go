package preset_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
)

// L-13: written anew after each good reading. L-14: materialised, resolved, valid.
func TestL13L14TheResolvedManifest(t *testing.T) {
	h, dir := swappable(t)
	path := filepath.Join(dir, "system/manifest.resolved.json")
	r := h.Read(dir, preset.AtBoot)
	got, err := h.WriteResolved(r)
	if err != nil || got.Path != path || got.Preset != "a.json" {
		t.Fatalf("got %+v, %v", got, err)
	}
	want := `{
  "schema": "lingtai.manifest.resolved/v1",
  "schema_version": 1,
  "generated_at": "2026-07-06T13:15:02Z",
  "source": "kernel",
  "manifest": {
    "capabilities": {
      "shell": {
        "env": "a",
        "timeout": 5
      },
      "skills": {
        "paths": [
          "~/a"
        ]
      },
      "vision": {
        "model": "v"
      }
    },
    "context_limit": 100,
    "llm": {
      "model": "m-a",
      "provider": "openai"
    },
    "preset": {
      "active": "a.json",
      "allowed": [
        "a.json",
        "b.jsonc",
        "~/c.json"
      ],
      "default": "a.json"
    }
  },
  "preset": {
    "active": "a.json",
    "default": "a.json",
    "allowed": [
      "a.json",
      "b.jsonc",
      "~/c.json"
    ],
    "path": "` + filepath.Join(dir, "a.json") + `"
  }
}
`
	if text := bodytest.Contents(t, path); text != want {
		t.Errorf("got %s", text)
	}
	// Anew at a refresh, and only after a good one.
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := h.WriteResolved(h.Read(dir, preset.AtRefresh)); err != nil || bodytest.Contents(t, path) != want {
		t.Errorf("not written anew: %v", err)
	}
	bodytest.Write(t, filepath.Join(dir, "init.json"), "{")
	if _, err := h.WriteResolved(h.Read(dir, preset.AtRefresh)); !fault.Is(err, fault.Corrupt) || bodytest.Contents(t, path) != want {
		t.Errorf("after a failed reading: %v", err)
	}
	// An agent without presets has null for them.
	bodytest.Write(t, filepath.Join(dir, "init.json"), plainInit)
	if _, err := h.WriteResolved(h.Read(dir, preset.AtRefresh)); err != nil || !strings.Contains(bodytest.Contents(t, path), `"preset": null`) {
		t.Errorf("without presets: %v", err)
	}
}

// L-15: no secret-bearing key at any depth; the rule, over a table. Class 14: and
// near-words stay.
func TestL15Class14NoSecretBearingKey(t *testing.T) {
	gone := []string{
		"api_key", "apiKey", "API_KEY", "apikey", "APIKEY", "x-api-key", "api_key_env", "openaiApiKey", "secret", "secrets", "appSecret",
		"clientsecret", "client_secret", "password", "dbPassword", "passwd", "credential", "credentials", "aws_credentials_file",
		"private_key", "privateKeyPath", "access_key", "accessKeyId", "token", "botToken", "bottoken", "access_token", "token_url",
		"Authorization", "proxy-authorization", "cookie", "api_keys",
	}
	stay := []string{
		"max_tokens", "secretary", "tokens", "tokenizer", "keyboard", "api", "key", "passage", "public_key", "monkey", "accessory",
		"author", "private", "access", "wordpass",
	}
	inner := map[string]any{}
	for _, key := range append(append([]string{}, gone...), stay...) {
		inner[key] = "VALUE-" + key
	}
	nested := []any{"x", inner, []any{inner, map[string]any{"deeper": inner}}}
	d, err := preset.ParseDoc([]byte(plainInit))
	for _, at := range [][]string{{"manifest", "admin"}, {"manifest", "llm", "default_headers"}, {"manifest", "capabilities", "vision"}} {
		if err == nil {
			d, err = d.With(map[string]any{"in": inner, "list": nested}, at...)
		}
	}
	if err == nil {
		d, err = d.With("https://dan:pw-VALUE@host/v1?key=KEY-VALUE#x", "manifest", "llm", "base_url")
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := workdir(t, map[string]string{"init.json": string(d.Bytes())})
	h := host(t, "", nil)
	r := h.Read(dir, preset.AtBoot)
	before := encode(t, r.Config.Object("manifest"))
	if _, err := h.WriteResolved(r); err != nil {
		t.Fatal(err)
	}
	text := bodytest.Contents(t, filepath.Join(dir, "system/manifest.resolved.json"))
	for _, key := range gone {
		if strings.Contains(text, `"`+key+`"`) || strings.Contains(text, "VALUE-"+key+`"`) {
			t.Errorf("there is %s", key)
		}
	}
	for _, key := range stay {
		if strings.Count(text, `"`+key+`": "VALUE-`+key+`"`) != 12 {
			t.Errorf("%s is not there 12 times", key)
		}
	}
	if strings.Contains(text, "pw-VALUE") || strings.Contains(text, "KEY-VALUE") || !strings.Contains(text, `"https://host/v1"`) {
		t.Errorf("the URL: %s", text)
	}
	if encode(t, r.Config.Object("manifest")) != before {
		t.Error("what the agent runs on has changed")
	}
}

func TestExplainSaysWhereAValueComesFromAndNoSecret(t *testing.T) {
	h, dir := swappable(t)
	d, err := preset.ParseDoc([]byte(swapInit))
	if err == nil {
		d, err = d.With(raw(`{"provider":"inherit"}`), "manifest", "capabilities", "vision")
	}
	if err != nil {
		t.Fatal(err)
	}
	bodytest.Write(t, filepath.Join(dir, "init.json"), string(d.Bytes()))
	settings, err := h.Read(dir, preset.AtBoot).Explain()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	last := ""
	for _, s := range settings {
		got[s.Path] = s.Source + " " + filepath.Base(s.File) + " " + string(s.Value)
		if s.Path <= last {
			t.Errorf("%s behind %s", s.Path, last)
		}
		if last = s.Path; !json.Valid(s.Value) {
			t.Errorf("%s: %s", s.Path, s.Value)
		}
	}
	for path, want := range map[string]string{
		"manifest.llm.model":                        `preset a.json "m-a"`,
		"manifest.llm.api_key":                      `preset a.json "withheld"`,
		"manifest.context_limit":                    `preset a.json 100`,
		"manifest.capabilities.shell.timeout":       `init init.json 5`,
		"manifest.capabilities.shell.env":           `preset a.json "a"`,
		"manifest.capabilities.vision.provider":     `inherit a.json "openai"`,
		"manifest.capabilities.vision.api_key":      `inherit a.json "withheld"`,
		"manifest.capabilities.vision.model":        `preset a.json "v"`,
		"manifest.capabilities.knowledge":           `default . {}`,
		"manifest.aed_timeout":                      `default . 360`,
		"manifest.pseudo_agent_subscriptions":       `default . ["../human"]`,
		"manifest.preset.active":                    `init init.json "a.json"`,
		"covenant":                                  `init init.json "be kind"`,
		"manifest.summarize_notification_threshold": `default . 3000`,
	} {
		if got[path] != want {
			t.Errorf("%s: got %s, want %s", path, got[path], want)
		}
	}
	if said := encode(t, settings); strings.Contains(said, "sk-") {
		t.Errorf("got %s", said)
	}
}

// Class 14: what is shown to people leaves out what looks like a key under any name.
func TestClass14ExplainAndListShowNothingThatLooksLikeAKey(t *testing.T) {
	keys := []string{
		"sk-abcdefghijklmnop0123", "ghp_abcdefghijklmnopqrstuvwxyz01", "github_pat_abcdefghijklmnopqrstuvw", "xoxb-123456789012-abc",
		"AKIAABCDEFGHIJKLMNOP", "AIzaabcdefghijklmnopqrstuvwxyz0123456", "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl",
		"Bearer abcdefghijklmnop0123", "123456789:abcdefghijklmnopqrstuvwxyz012345678",
	}
	h, dir := swappable(t)
	d, err := preset.ParseDoc([]byte(swapInit))
	for _, at := range [][]string{{"manifest", "plugins"}, {"manifest", "admin", "note"}, {"manifest", "capabilities", "shell", "with"}} {
		if err == nil {
			d, err = d.With([]any{"x", map[string]any{"y": keys}}, at...)
		}
	}
	if err == nil {
		d, err = d.With(raw(`{"s":{"command":"c","args":["--pw","hunter2"],"env":{"X":"hunter2"},"headers":["hunter2"]}}`), "mcp")
	}
	if err != nil {
		t.Fatal(err)
	}
	bodytest.Write(t, filepath.Join(dir, "init.json"), string(d.Bytes()))
	bodytest.Write(t, filepath.Join(dir, "b.jsonc"), `{"description":{"summary":"s","hint":`+encode(t, keys)+`},"manifest":{"llm":{"provider":"mine","model":"m"},"capabilities":{}}}`)
	h.Dial = answering
	settings, err := h.Read(dir, preset.AtBoot).Explain()
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := list(t, h, dir)
	said := encode(t, settings) + encode(t, rows)
	for _, key := range append(keys, "hunter2") {
		if strings.Contains(said, key) {
			t.Errorf("there is %s", key)
		}
	}
	if !strings.Contains(said, `"mcp.s.command"`) || !strings.Contains(said, `"summary":"s"`) {
		t.Errorf("too much is left out: %s", said)
	}
}

// Class 13: a reader sees the one file or the other, whole.
func TestClass13TheResolvedManifestIsAlwaysWhole(t *testing.T) {
	h, dir := swappable(t)
	r := h.Read(dir, preset.AtBoot)
	first, err := h.WriteResolved(r)
	if err != nil {
		t.Fatal(err)
	}
	want := bodytest.Contents(t, first.Path)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 10 {
				if _, err := h.WriteResolved(r); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 500 {
		if got := bodytest.Contents(t, first.Path); got != want {
			t.Fatalf("got %q", got)
		}
	}
	wait.Wait()
	if left, _ := filepath.Glob(filepath.Join(dir, "system", ".tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestTheResolvedManifestWhereItCannotBeWritten(t *testing.T) {
	h, dir := swappable(t)
	bodytest.Write(t, filepath.Join(dir, "system"), "a file")
	before := look(t, dir)
	if _, err := h.WriteResolved(h.Read(dir, preset.AtBoot)); err == nil {
		t.Error("it was written")
	}
	before.same(t, dir, "a failed write")
}

func TestConfigDefaults(t *testing.T) {
	dir := workdir(t, map[string]string{"init.json": plainInit})
	c := host(t, "", nil).Read(dir, preset.AtBoot).Config
	if n := c.Int(0, "manifest", "max_aed_attempts"); n != 3 {
		t.Errorf("got %d", n)
	}
	if d := c.Seconds(0, "manifest", "aed_timeout"); d.Seconds() != 360 {
		t.Errorf("got %v", d)
	}
	if got := c.Texts("manifest", "pseudo_agent_subscriptions"); !reflect.DeepEqual(got, []string{"../human"}) {
		t.Errorf("got %q", got)
	}
	if c.Limit() != 0 || c.Preset() != nil || !c.Bool(true, "manifest", "streaming") || c.Float(1.5, "manifest", "nosuch") != 1.5 {
		t.Error("something else than what was asked for")
	}
}
