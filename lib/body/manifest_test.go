package body_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

func limit(n int) *int { return &n }

// profile has a secret wherever one may get in.
var profile = body.Profile{
	Name: "Ann", Admin: map[string]any{"karma": true}, Language: "en", State: "asleep", SoulDelay: 120, SoulVoice: "inner",
	LLM: body.LLM{
		Provider: "p", Model: "m", BaseURL: "https://user:hunter2@example.org:8443/v1?key=hunter2#hunter2", ContextLimit: limit(200000),
	},
	Capabilities: []body.Capability{
		{Name: "web", Args: map[string]any{
			"api_key": "hunter2", "api_key_env": "hunter2", "max_tokens": 5,
			"deep": []any{map[string]any{"botToken": "hunter2", "secretary": "eve"}},
		}},
		{Name: "file"},
	},
	Preset: &body.PresetRefs{Active: "p/a.json", Default: "p/a.json", Allowed: []string{"p/a.json"}}, Started: noon,
}

func TestL04TheManifestIsASanitisedProjection(t *testing.T) {
	b := bodytest.New(t, nil)
	_, err := b.Project(profile, noon)
	do(t, err)
	text, err := os.ReadFile(b.Path(body.ManifestFile))
	do(t, err)
	if strings.Contains(string(text), "hunter2") {
		t.Errorf("a secret got in: %s", text)
	}
	got := strings.ReplaceAll(string(text), b.Address(), "ADDRESS")
	got = regexp.MustCompile(`20261130-120000-[0-9a-f]{4}`).ReplaceAllString(got, "ID")
	const want = `{
  "agent_id": "ID",
  "agent_name": "Ann",
  "nickname": null,
  "address": "ADDRESS",
  "created_at": "2026-11-30T12:00:00Z",
  "started_at": "2026-11-30T12:00:00Z",
  "admin": {
    "karma": true
  },
  "language": "en",
  "state": "asleep",
  "soul_delay": 120,
  "soul_voice": "inner",
  "molt_count": 0,
  "llm": {
    "api_compat": null,
    "base_url": "https://example.org:8443/v1",
    "context_limit": 200000,
    "model": "m",
    "provider": "p"
  },
  "capabilities": [
    [
      "web",
      {
        "deep": [
          {
            "secretary": "eve"
          }
        ],
        "max_tokens": 5
      }
    ],
    [
      "file",
      {}
    ]
  ],
  "combo": null,
  "preset": {
    "active": "p/a.json",
    "default": "p/a.json",
    "allowed": [
      "p/a.json"
    ]
  }
}
`
	if got != want {
		t.Errorf("got %s", got)
	}
	if profile.Capabilities[0].Args["api_key"] != "hunter2" {
		t.Error("the configuration itself lost its secret")
	}
	// Deleting it and starting again regenerates it.
	do(t, os.Remove(b.Path(body.ManifestFile)))
	m, err := b.Project(profile, noon)
	if err != nil || !regexp.MustCompile(`^20261130-120000-[0-9a-f]{4}$`).MatchString(m.AgentID()) {
		t.Errorf("got %q, %v", m.AgentID(), err)
	}
	clean(t, b)
}

func TestL03AProjectionKeepsTheIdentity(t *testing.T) {
	b := bodytest.New(t, map[string]string{body.ManifestFile: `{"agent_id":"20250101-000000-beef","created_at":"2025-01-01T00:00:00Z",
		"molt_count":3,"nickname":"nan","agent_name":"Old","theirs":{"deep":[1]},"state":"active","address":"elsewhere","llm":{"api_key":"hunter2"}}`})
	p := profile
	p.Name = ""
	for range 2 {
		m, err := b.Project(p, noon)
		do(t, err)
		again := b.Manifest()
		for key, want := range map[string]string{
			"agent_id": "20250101-000000-beef", "created_at": "2025-01-01T00:00:00Z", "nickname": "nan", "agent_name": "Old",
			"state": "asleep", "address": b.Address(),
		} {
			if m.Text(key) != want || again.Text(key) != want {
				t.Errorf("%s: got %q, %q", key, m.Text(key), again.Text(key))
			}
		}
		if again.Number("molt_count") != 3 || string(again.Sub("theirs").Compact()) != `{"deep":[1]}` {
			t.Errorf("got %s", again.Compact())
		}
		if again.Sub("llm").Get("api_key") != nil {
			t.Error("a secret stayed")
		}
	}
}

func TestManifestKinds(t *testing.T) {
	for _, c := range []struct {
		text, what          string
		kind                body.Kind
		agent, human, karma bool
		nirvana             bool
	}{
		{"", "empty", body.Malformed, true, false, false, false},
		{"{", "cut short", body.Malformed, true, false, false, false},
		{"[]", "a list", body.Malformed, true, false, false, false},
		{"{\"a\":\"\xff\"}", "not UTF-8", body.Malformed, true, false, false, false},
		{`{}`, "no admin", body.Present, true, true, false, false},
		{`{"admin":null}`, "null", body.Present, true, true, false, false},
		{`{"admin":{}}`, "an avatar", body.Present, true, false, false, false},
		{`{"admin":{"karma":true}}`, "karma", body.Present, true, false, true, false},
		{`{"admin":{"karma":1,"nirvana":"yes"}}`, "truthy", body.Present, true, false, true, true},
		{`{"admin":{"karma":0,"nirvana":false}}`, "not", body.Present, true, false, false, false},
		{`{"admin":"karma"}`, "a text", body.Present, true, false, false, false},
	} {
		b := bodytest.New(t, map[string]string{body.ManifestFile: c.text})
		m := b.Manifest()
		if m.Kind != c.kind || m.IsAgent() != c.agent || m.IsHuman() != c.human || m.Karma() != c.karma || m.Nirvana() != c.nirvana {
			t.Errorf("%s: got %v, %v, %v, %v, %v", c.what, m.Kind, m.IsAgent(), m.IsHuman(), m.Karma(), m.Nirvana())
		}
	}
	b := bodytest.New(t, nil)
	if m := b.Manifest(); m.Kind != body.Absent || m.IsAgent() || m.IsHuman() {
		t.Errorf("none: got %+v", m)
	}
	do(t, os.Mkdir(b.Path(body.ManifestFile), 0o700))
	if m := b.Manifest(); m.Kind != body.Malformed || !m.IsAgent() {
		t.Errorf("a directory: got %+v", m)
	}
}

func TestAHumanIsAliveWithoutAHeartbeat(t *testing.T) {
	b := bodytest.New(t, map[string]string{body.ManifestFile: `{"admin":null}`})
	if !b.Alive(noon, ten) {
		t.Error("not alive")
	}
	do(t, os.WriteFile(b.Path(body.HeartbeatFile), []byte("0"), 0o600))
	if !b.Alive(noon, ten) {
		t.Error("its heartbeat was read")
	}
}

func TestAMalformedManifestIsPutAside(t *testing.T) {
	const broken = `{"agent_id":"20250101-000000-beef",`
	b := bodytest.New(t, map[string]string{body.ManifestFile: broken})
	if err := b.Amend(func(o *body.Object) error { return o.Set("state", "idle") }); !fault.Is(err, fault.Corrupt) {
		t.Errorf("got %v", err)
	}
	if got, _ := os.ReadFile(b.Path(body.ManifestFile)); string(got) != broken {
		t.Errorf("written over: %q", got)
	}
	if _, err := b.Project(profile, noon); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(b.Path(body.ManifestFile + ".malformed")); string(got) != broken {
		t.Errorf("got %q", got)
	}
	if m := b.Manifest(); m.Kind != body.Present {
		t.Errorf("got %+v", m)
	}
	// What cannot be read is not replaced at all.
	do(t, os.Remove(b.Path(body.ManifestFile)))
	do(t, os.Mkdir(b.Path(body.ManifestFile), 0o700))
	if _, err := b.Project(profile, noon); !fault.Is(err, fault.Corrupt) {
		t.Errorf("got %v", err)
	}
}

func TestAmendIsForAgentsThatAreThere(t *testing.T) {
	b := bodytest.New(t, nil)
	if err := b.SetNickname("x"); !fault.Is(err, fault.BadInput) || disk.Exists(b.Path(body.ManifestFile)) {
		t.Errorf("got %v", err) // or it would be a human
	}
	_, err := b.Project(profile, noon)
	do(t, err)
	before, err := os.Stat(b.Path(body.ManifestFile))
	do(t, err)
	do(t, b.Amend(func(o *body.Object) error { return o.Set("state", "asleep") }))
	if after, _ := os.Stat(b.Path(body.ManifestFile)); !os.SameFile(before, after) {
		t.Error("written though nothing changed")
	}
	do(t, b.Amend(func(o *body.Object) error { return o.Set("molt_count", 1) }))
	if got := b.Manifest().Number("molt_count"); got != 1 {
		t.Errorf("got %v", got)
	}
}

func TestNames(t *testing.T) {
	b := bodytest.New(t, nil)
	p := profile
	p.Name = ""
	_, err := b.Project(p, noon)
	do(t, err)
	if err := b.SetName(""); !fault.Is(err, fault.BadInput) {
		t.Errorf("got %v", err)
	}
	do(t, b.SetName("Zoe"))
	do(t, b.SetName("Zoe"))
	if err := b.SetName("Eve"); !fault.Is(err, fault.Exists) || b.Manifest().Name() != "Zoe" {
		t.Errorf("got %v", err)
	}
	for _, nick := range []string{"z", "zz", ""} {
		do(t, b.SetNickname(nick))
		if got := b.Manifest(); got.Text("nickname") != nick || nick == "" && !got.Null("nickname") {
			t.Errorf("got %s", got.Get("nickname"))
		}
	}
}

func TestSafeURL(t *testing.T) {
	for raw, want := range map[string]string{
		"https://u:p@h:1/a/b?q=1#f": "https://h:1/a/b", "http://127.0.0.1:8080/v1": "http://127.0.0.1:8080/v1", "": "",
		"https://h/?": "https://h/", "://x": "", "u:p@h": "",
	} {
		if got := body.SafeURL(raw); got != want {
			t.Errorf("%s: got %q", raw, got)
		}
	}
}

func TestSecretKeys(t *testing.T) {
	for _, key := range []string{
		"api_key", "API_KEY", "apiKey", "apikey", "openai_api_key", "api_key_env", "secret", "secrets", "client-secret", "appSecret",
		"botToken", "BOTTOKEN", "token", "access_token", "password", "db.passwd", "credentials", "private_key", "accessKey", "APIKey",
		"x-api-key", "githubtoken",
	} {
		if !body.Secret(key) {
			t.Errorf("%s is none", key)
		}
	}
	for _, key := range []string{"", "max_tokens", "tokens", "secretary", "keyboard", "key", "public_key", "tokenizer", "apikeys", "pass", "author"} {
		if body.Secret(key) {
			t.Errorf("%s is one", key)
		}
	}
}

func TestSecretsLeaveTheOriginalAlone(t *testing.T) {
	v := map[string]any{"a": []any{map[string]any{"token": "x", "n": 1.0}}, "token": map[string]any{"deep": "x"}}
	before, _ := json.Marshal(v)
	dropped, _ := json.Marshal(body.WithoutSecrets(v))
	redacted, _ := json.Marshal(body.Redacted(v))
	after, _ := json.Marshal(v)
	if string(before) != string(after) {
		t.Errorf("got %s", after)
	}
	if want := `{"a":[{"n":1}]}`; string(dropped) != want {
		t.Errorf("got %s", dropped)
	}
	if want := `{"a":[{"n":1,"token":"[redacted: token]"}],"token":"[redacted: token]"}`; string(redacted) != want {
		t.Errorf("got %s", redacted)
	}
}

func TestStatus(t *testing.T) {
	b := bodytest.New(t, nil)
	if _, kind := b.Status(); kind != body.Absent {
		t.Errorf("got %v", kind)
	}
	age := 0.5
	want := body.Status{
		Identity: body.Identity{AgentID: "x", Name: "Ann", Address: b.Address()},
		Runtime:  body.Runtime{Process: body.ProcessOf(os.Getpid()), Running: true, State: "idle", HeartbeatAge: &age},
		Tokens:   body.Tokens{Input: 1, Context: body.Context{Tokens: 5, Limit: 10, Usage: 0.5}},
	}
	do(t, b.WriteStatus(want))
	got, kind := b.Status()
	if kind != body.Present || got.Runtime.State != "idle" || *got.Runtime.HeartbeatAge != 0.5 || got.Tokens != want.Tokens ||
		got.Runtime.Process != want.Runtime.Process {
		t.Errorf("got %+v, %v", got, kind)
	}
	text, _ := os.ReadFile(b.Path(body.StatusFile))
	for _, part := range []string{"\n  \"runtime\": {\n    \"pid\": ", "\n  \"active_turn\": null,", "\n  \"deferred_notifications\": []\n"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
	do(t, os.WriteFile(b.Path(body.StatusFile), []byte("{"), 0o600))
	if _, kind := b.Status(); kind != body.Malformed {
		t.Errorf("got %v", kind)
	}
	clean(t, b)
}

func TestAgentIDs(t *testing.T) {
	here := time.FixedZone("here", 3600)
	if got := body.NewAgentID(noon.In(here)); !strings.HasPrefix(got, "20261130-120000-") || len(got) != len("20261130-120000-beef") {
		t.Errorf("got %q", got)
	}
}
