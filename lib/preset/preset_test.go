package preset_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
)

var clock = time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)

// host returns a host with a home directory and the environment given. Whoever
// dials, the test fails: those that may replace Dial.
func host(t *testing.T, home string, environ map[string]string) preset.Host {
	return preset.Host{
		Home: home,
		Look: func(name string) (string, bool) { value, set := environ[name]; return value, set },
		Now:  func() time.Time { return clock },
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			t.Errorf("dialled %s", address)
			return nil, errors.New("no network in this test")
		},
		Program: func(string) bool { return false },
	}
}

// workdir makes an agent's directory with files in it.
func workdir(t *testing.T, files map[string]string) string {
	t.Helper()
	return bodytest.At(t, filepath.Join(t.TempDir(), "ann"), files).Dir()
}

// tree is what is below a directory: bytes, modes and times.
type tree map[string]string

func look(t *testing.T, dir string) tree {
	t.Helper()
	all := tree{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		said := info.Mode().String() + " " + info.ModTime().Format(time.RFC3339Nano)
		if info.Mode().IsRegular() {
			said += " " + bodytest.Contents(t, path)
		}
		all[path] = said
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// same fails when something below dir is no longer as it was.
func (before tree) same(t *testing.T, dir, what string) {
	t.Helper()
	after := look(t, dir)
	for path, said := range before {
		if after[path] != said {
			t.Errorf("%s: changed: %s", what, path)
		}
	}
	for path := range after {
		if _, there := before[path]; !there {
			t.Errorf("%s: new: %s", what, path)
		}
	}
}

// levels counts findings of a level.
func levels(findings []record.Finding, level string) (n int) {
	for _, f := range findings {
		if f.Level == level {
			n++
		}
	}
	return n
}

// A plain agent without presets, and one with.
const (
	plainInit = `{"covenant":"c","pad":"","manifest":{"llm":{"provider":"openai","model":"m"}}}`

	swapInit = `// of ann
{
  "covenant": "be kind", // the deal
  "pad": "",
  "manifest": {
    "llm": {"provider": "openai", "model": "old", "api_key": "sk-init-1"},
    "capabilities": {
      "shell": {"timeout": 5}, // quick
    },
    "preset": {
      "active": "a.json", /* now */
      "default": "a.json",
      "allowed": ["a.json", "b.jsonc", "~/c.json"],
    },
  },
}
`
	presetA = `{"name":"A","description":{"summary":"the usual","tier":"3"},
"manifest":{"llm":{"provider":"openai","model":"m-a","api_key":"sk-a-1","context_limit":100},
"capabilities":{"shell":{"timeout":30,"env":"a"},"skills":{"paths":["~/a"]},"vision":{"model":"v"}}}}`

	presetB = `{"description":{"summary":"small", "by":"dan"}, // a remark
"manifest":{"llm":{"provider":"anthropic","model":"m-b","api_key":"sk-b-1"},"context_limit":10,
"capabilities":{"shell":{"timeout":60},},},}`

	presetC = `{"description":{"summary":"at home"},"manifest":{"llm":{"provider":"openai","model":"m-c"},"capabilities":{}}}`
)

// swappable returns an agent's directory with three presets, and the host it is on.
func swappable(t *testing.T) (preset.Host, string) {
	t.Helper()
	dir := workdir(t, map[string]string{"init.json": swapInit, "a.json": presetA, "b.jsonc": presetB})
	home := filepath.Join(filepath.Dir(dir), "home")
	bodytest.Write(t, filepath.Join(home, "c.json"), presetC)
	return host(t, home, nil), dir
}

// raw is JSON as it is written.
func raw(text string) json.RawMessage { return json.RawMessage(text) }

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
