package preset_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
)

// answering is a dialer that connects.
func answering(_ context.Context, _, _ string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	theirs.Close()
	return ours, nil
}

func list(t *testing.T, h preset.Host, dir string) ([]record.Preset, []error) {
	t.Helper()
	rows, bad, err := h.List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return rows, bad
}

// L-21: exactly what is allowed, sorted, each file once; what merely lies in the
// library is absent. L-22: each row has what one chooses by, probed now.
func TestL21L22TheListIsWhatIsAllowed(t *testing.T) {
	h, dir := swappable(t)
	h.Dial = answering
	bodytest.Write(t, filepath.Join(h.Home, preset.Library, "lib.json"), presetC)
	bodytest.Write(t, filepath.Join(dir, "other.json"), presetC)
	bodytest.Write(t, filepath.Join(dir, "bad.json"), "{")
	if err := os.Symlink("b.jsonc", filepath.Join(dir, "z.jsonc")); err != nil {
		t.Fatal(err)
	}
	d, err := preset.ParseDoc([]byte(swapInit))
	if err == nil {
		d, err = d.With(raw(`["~/c.json","b.jsonc","./a.json","a.json","a.json",3,null,"","gone.json","bad.json","stem","z.jsonc"]`), "manifest", "preset", "allowed")
	}
	if err != nil {
		t.Fatal(err)
	}
	bodytest.Write(t, filepath.Join(dir, "init.json"), string(d.Bytes()))
	before := look(t, dir)
	rows, bad := list(t, h, dir)
	var refs []string
	for _, row := range rows {
		refs = append(refs, row.Preset)
	}
	if !slices.Equal(refs, []string{"a.json", "b.jsonc", "~/c.json"}) {
		t.Errorf("got %q", refs)
	}
	if len(bad) != 3 {
		t.Errorf("skipped: got %v", bad)
	}
	want := `{"type":"preset","preset":"a.json","name":"A","active":true,"default":true,"tier":"3",` +
		`"description":{"summary":"the usual","tier":"3"},"llm":{"provider":"openai","model":"m-a"},"context_limit":100,` +
		`"capabilities":["shell","skills","vision"],` +
		`"connectivity":{"status":"ok","checked_at":"2026-07-06T13:15:02.084Z","latency_ms":0,"error":""}}`
	if got := encode(t, rows[0]); got != want {
		t.Errorf("got %s", got)
	}
	if got := encode(t, rows[1]); !strings.Contains(got, `"name":"","active":false,"default":false,"tier":"","description":{"by":"dan","summary":"small"}`) {
		t.Errorf("got %s", got)
	}
	before.same(t, dir, "listing")
}

// The edge test: no listing key leaks.
func TestNoKeyIsListed(t *testing.T) {
	h, dir := swappable(t)
	h.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("refused") }
	bodytest.Write(t, filepath.Join(dir, "a.json"), `{"description":{"summary":"s","botToken":"sk-leak-1","deep":[{"api_key":"sk-leak-2"}]},
		"manifest":{"llm":{"provider":"p","model":"m","api_key":"sk-leak-3","base_url":"https://u:sk-leak-4@h/?k=sk-leak-5",
		"default_headers":{"Authorization":"sk-leak-6"}},"capabilities":{"vision":{"api_key":"sk-leak-7"}}}}`)
	bodytest.Write(t, filepath.Join(dir, "b.jsonc"), `{"description":{"summary":"s"},"manifest":{"llm":{"provider":"p","model":"m","api_key":"sk-leak-8"`)
	rows, bad := list(t, h, dir)
	said := encode(t, rows) + fmt.Sprint(bad)
	if strings.Contains(said, "sk-") || len(rows) != 2 || len(bad) != 1 {
		t.Errorf("got %s", said)
	}
}

func TestAnUnreadableInitHasNoList(t *testing.T) {
	dir := workdir(t, nil)
	h := host(t, "", nil)
	for _, text := range []string{"{", "[]", `{"manifest":1}`} {
		bodytest.Write(t, filepath.Join(dir, "init.json"), text)
		if _, _, err := h.List(t.Context(), dir); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%s: got %v", text, err)
		}
	}
	for _, block := range []string{`{}`, `{"preset":null}`, `{"preset":{"allowed":null}}`, `{"preset":{"allowed":"a.json"}}`} {
		bodytest.Write(t, filepath.Join(dir, "init.json"), `{"manifest":`+block+`}`)
		if rows, bad := list(t, h, dir); len(rows)+len(bad) > 0 {
			t.Errorf("%s: got %v, %v", block, rows, bad)
		}
	}
}

// probing returns the connectivity of one preset.
func probing(t *testing.T, h preset.Host, llm string, env preset.Env) record.Connectivity {
	t.Helper()
	dir := workdir(t, map[string]string{"x.json": `{"description":{"summary":"s"},"manifest":{"llm":{"model":"m",` + llm + `},"capabilities":{}}}`})
	p, err := h.Load(dir, "x.json")
	if err != nil {
		t.Fatal(err)
	}
	return h.Probe(t.Context(), []*preset.Preset{p}, env)[0]
}

func TestWhereAProbeLeads(t *testing.T) {
	for _, c := range []struct{ what, llm, dialled, status, says string }{
		{"the provider's host", `"provider":"anthropic"`, "api.anthropic.com:443", "ok", ""},
		{"in capitals", `"provider":"OpenAI"`, "api.openai.com:443", "ok", ""},
		{"base_url", `"provider":"openai","base_url":"http://localhost/v1"`, "localhost:80", "ok", ""},
		{"its port", `"provider":"x","base_url":"https://h:8443/v1"`, "h:8443", "ok", ""},
		{"an address", `"provider":"x","base_url":"https://[::1]:1/"`, "[::1]:1", "ok", ""},
		{"an unknown scheme with a port", `"provider":"x","base_url":"ws://h:9"`, "h:9", "ok", ""},
		{"an unknown scheme", `"provider":"x","base_url":"ws://h"`, "", "unreachable", "base_url is neither http nor https, and has no port"},
		{"no URL", `"provider":"x","base_url":"just text"`, "", "unreachable", "base_url is no URL with a host"},
		{"no URL known", `"provider":"mine"`, "", "unreachable", "no URL known: give base_url"},
		{"a variable that is set", `"provider":"openai","api_key_env":"SET"`, "api.openai.com:443", "ok", ""},
		{"one that the env file sets", `"provider":"openai","api_key_env":"FILED"`, "api.openai.com:443", "ok", ""},
		{"one that is not set", `"provider":"openai","api_key_env":"UNSET"`, "", "no_credentials", "the variable that api_key_env names is not set"},
		{"one that is empty", `"provider":"openai","api_key_env":"EMPTY"`, "", "no_credentials", "the variable that api_key_env names is not set"},
		{"one that is empty here comes before the file", `"provider":"openai","api_key_env":"BOTH"`, "", "no_credentials", "the variable that api_key_env names is not set"},
		{"a key besides", `"provider":"openai","api_key_env":"UNSET","api_key":"k"`, "api.openai.com:443", "ok", ""},
		{"a program that is there", `"provider":"claude-code"`, "", "ok", ""},
		{"a program that is not", `"provider":"opencode"`, "", "unreachable", "no such program: opencode"},
		{"a program's provider with a URL", `"provider":"codex","base_url":"http://h"`, "h:80", "ok", ""},
	} {
		h := host(t, "", map[string]string{"SET": "k", "EMPTY": "", "BOTH": ""})
		dialled := ""
		h.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			dialled = address
			return answering(ctx, network, address)
		}
		h.Program = func(name string) bool { return name == "claude" }
		env, _ := preset.ParseEnv([]byte("FILED=k\nBOTH=k\n"))
		got := probing(t, h, c.llm, env)
		if dialled != c.dialled || got.Status != c.status || got.Error != c.says || got.CheckedAt != "2026-07-06T13:15:02.084Z" {
			t.Errorf("%s: dialled %q, got %+v", c.what, dialled, got)
		}
	}
}

func TestAConnectionThatIsRefused(t *testing.T) {
	h := host(t, "", nil)
	port, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := port.Addr().String()
	h.Dial = new(net.Dialer).DialContext
	if got := probing(t, h, `"provider":"x","base_url":"http://`+address+`"`, nil); got.Status != "ok" {
		t.Errorf("got %+v", got)
	}
	port.Close()
	got := probing(t, h, `"provider":"x","base_url":"http://u:pw@`+address+`/?k=v"`, nil)
	if got.Status != "unreachable" || !strings.HasPrefix(got.Error, "cannot connect to "+address+": ") || strings.Contains(got.Error, "pw") {
		t.Errorf("got %+v", got)
	}
}

func TestAProbeEndsAfterTwoSeconds(t *testing.T) {
	dir := workdir(t, map[string]string{"a.json": presetA})
	synctest.Test(t, func(t *testing.T) {
		h := host(t, "", nil)
		h.Now = time.Now
		h.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		p, err := h.Load(dir, "a.json")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		got := h.Probe(t.Context(), []*preset.Preset{p, p, p}, nil)
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("took %v", took)
		}
		for _, c := range got {
			if c.Status != "unreachable" || c.LatencyMS != 2000 || c.Error != "no answer from api.openai.com:443 within 2s" {
				t.Errorf("got %+v", c)
			}
		}
	})
}

func TestSixteenProbesAtOnceAndTheirOrderIsKept(t *testing.T) {
	files := map[string]string{}
	for i := range 50 {
		files[fmt.Sprintf("%02d.json", i)] = fmt.Sprintf(
			`{"description":{"summary":"s"},"manifest":{"llm":{"provider":"x","model":"m","base_url":"http://h%02d"},"capabilities":{}}}`, i)
	}
	dir := workdir(t, files)
	synctest.Test(t, func(t *testing.T) {
		h := host(t, "", nil)
		var mu sync.Mutex
		running, most := 0, 0
		h.Dial = func(_ context.Context, _, address string) (net.Conn, error) {
			mu.Lock()
			running++
			most = max(most, running)
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running--
			mu.Unlock()
			return nil, errors.New("seen " + address)
		}
		var all []*preset.Preset
		for i := range 50 {
			p, err := h.Load(dir, fmt.Sprintf("%02d.json", i))
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		for i, c := range h.Probe(t.Context(), all, nil) {
			if !strings.HasSuffix(c.Error, fmt.Sprintf("seen h%02d:80", i)) {
				t.Errorf("%d: got %+v", i, c)
			}
		}
		if most != 16 {
			t.Errorf("%d at once", most)
		}
	})
}

// L-23: discovery is for people, and grants nothing.
func TestL23DiscoveryGrantsNothing(t *testing.T) {
	h, dir := swappable(t)
	one, two := filepath.Join(h.Home, "one"), filepath.Join(h.Home, "two")
	for path, text := range map[string]string{
		"one/x.json": presetA, "two/x.json": presetC, "one/b.jsonc": presetB, "one/bad.json": "{", "one/deep/y.json": presetA,
		"one/note.txt": "x", "one/.hidden.json": presetA, "one/dir.json/z.json": presetA,
	} {
		bodytest.Write(t, filepath.Join(h.Home, path), text)
	}
	if err := os.Symlink("x.json", filepath.Join(one, "zlink.json")); err != nil {
		t.Fatal(err)
	}
	files, err := h.Discover([]string{two, filepath.Join(h.Home, "nosuch"), one})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range files {
		got = append(got, strings.TrimPrefix(f.Path, h.Home+"/")+" "+f.Name+" "+f.Summary+f.Error)
	}
	want := []string{
		"two/x.json x at home", "one/b.jsonc b small",
		`one/bad.json bad preset is malformed: "` + one + `/bad.json": 1:2: the text ends too soon`,
		"one/x.json A the usual", "one/zlink.json A the usual",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	// It is not allowed by that.
	_, events, err := h.Activate(t.Context(), dir, preset.Request{Preset: files[0].Path})
	if !fault.Is(err, fault.Denied) || len(events) != 1 {
		t.Errorf("got %v, %v", events, err)
	}
	// The library is where it looks unless it is told.
	if files, err = h.Discover(nil); err != nil || len(files) != 0 {
		t.Errorf("got %v, %v", files, err)
	}
	bodytest.Write(t, filepath.Join(h.Home, preset.Library, "lib.json"), presetC)
	if files, err = h.Discover(nil); err != nil || len(files) != 1 || files[0].LLM.Model != "m-c" {
		t.Errorf("got %v, %v", files, err)
	}
	h.Home = ""
	if _, err = h.Discover(nil); !fault.Is(err, fault.BadInput) {
		t.Errorf("got %v", err)
	}
}

func TestEnvFile(t *testing.T) {
	env, bad := preset.ParseEnv([]byte("\ufeff# a remark\n\nA=1\r\n B = two words \nexport C='q u'\nD=\"x\"y\"\nE=\nF=a=b#c\nA=3\n" +
		"no equals\n1X=2\n=3\nG H=4\nN=a\x00b\nQ='\nS=\"\"\n"))
	var got []string
	for _, v := range env {
		got = append(got, v.Key+"="+v.Value)
	}
	want := []string{"A=1", "B=two words", "C=q u", `D=x"y`, "E=", "F=a=b#c", "A=3", "Q='", "S="}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	for i, n := range []int{10, 11, 12, 13, 14} {
		if len(bad) != 5 || !strings.HasPrefix(bad[i].Error(), fmt.Sprintf("line %d ", n)) {
			t.Errorf("line %d: got %v", n, bad)
		}
	}
	// A boot does not override what is set; the relaunch of a refresh does, once.
	had := []string{"A=set", "Z=z", "odd"}
	if got := env[:1].Over(had, false); !slices.Equal(got, had) {
		t.Errorf("got %q", got)
	}
	if got := env.Over(had, true); !slices.Equal(got[:4], []string{"A=3", "Z=z", "odd", "B=two words"}) {
		t.Errorf("got %q", got)
	}
	if got := env.Over(nil, false); got[0] != "A=3" || len(got) != 8 {
		t.Errorf("got %q", got)
	}
}
