package mcpserver_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/mcpserver"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// web serves a space over HTTP.
func web(t *testing.T, root string, keys *keyring.Ring) string {
	t.Helper()
	s := mcpserver.New(mcpserver.Config{Spaces: []string{root}, Wait: 10 * time.Second})
	h := httptest.NewServer(s.Handler(keys, true))
	t.Cleanup(func() {
		s.Close()
		h.CloseClientConnections()
		h.Close()
	})
	return h.URL
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if b != "" {
		r.Header.Set("Authorization", "Bearer "+string(b))
	}
	return http.DefaultTransport.RoundTrip(r)
}

func dial(t *testing.T, url, key, version string, options *mcp.ClientOptions) (*mcp.ClientSession, error) {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "0"}, options)
	cs, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: url, HTTPClient: &http.Client{Transport: bearer(key)}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		t.Cleanup(func() { cs.Close() })
	}
	return cs, err
}

func TestHTTPServesBothEras(t *testing.T) {
	root, rooms := space(t)
	url := web(t, root, nil)
	uri := ""
	for i, version := range []string{"2026-07-28", "2025-11-25", "2025-03-26"} {
		updated := make(chan string, 9)
		cs, err := dial(t, url, "", version, &mcp.ClientOptions{
			ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { updated <- r.Params.URI },
		})
		if err != nil {
			t.Fatal(version, err)
		}
		if got := cs.InitializeResult().ProtocolVersion; got != version {
			t.Errorf("speaks %s, not %s", got, version)
		}
		list, err := cs.ListResources(t.Context(), nil)
		if err != nil || len(list.Resources) != 1 {
			t.Fatal(list, err)
		}
		uri = list.Resources[0].URI
		subscribe(t, cs, version, uri)
		time.Sleep(time.Second) // the SDK does not say when its stream is open
		who := []string{"ann", "ben", "cy"}[i]
		if _, err := rooms.Post(t.Context(), store.Key{Space: root, Room: "design"}, room.Draft{As: who, Body: "entry of " + who}); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-updated:
			if got != uri {
				t.Errorf("updated %s", got)
			}
		case <-time.After(time.Minute):
			t.Errorf("%s: no update", version)
		}
		read, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		if err != nil || !strings.Contains(read.Contents[0].Text, "entry of "+who) {
			t.Errorf("%v, %v", read, err)
		}
		read, err = cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: strings.TrimSuffix(uri, "transcript") + "manifest"})
		if err != nil || !strings.Contains(read.Contents[0].Text, fmt.Sprintf(`"thread_version":%d`, i+1)) {
			t.Errorf("%v, %v", read, err)
		}
		if _, err := cs.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri + "x"}); err == nil {
			t.Error("read what is not there")
		}
	}
}

func subscribe(t *testing.T, cs *mcp.ClientSession, version, uri string) {
	t.Helper()
	if err := cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatal(version, err)
	}
}

// ring returns the keys of names, which are their secrets.
func ring(t *testing.T, secrets map[string]string) *keyring.Ring {
	t.Helper()
	lines := ""
	for who, secret := range secrets {
		lines += fmt.Sprintf("%s %x\n", who, sha256.Sum256([]byte(secret)))
	}
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	keys, err := keyring.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestAKeyIsItsOwner(t *testing.T) {
	root, _ := space(t)
	url := web(t, root, ring(t, map[string]string{"ann": "a-secret", "ben": "b-secret"}))
	for _, wrong := range []string{"", "nonsense", "a-secretx"} {
		if _, err := dial(t, url, wrong, "2025-11-25", nil); err == nil {
			t.Errorf("%q was let in", wrong)
		}
	}
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		cs, err := dial(t, url, "b-secret", version, nil)
		if err != nil {
			t.Fatal(err)
		}
		refused(t, call(t, cs, "write_entry", args{"thread": "design", "content": "x", "participant_name": "ann"}), "denied")
		refused(t, call(t, cs, "check_turn", args{"thread": "design", "participant_name": "ann"}), "denied")
		refused(t, call(t, cs, "new_thread", args{"name": "n", "topic": "t", "moderator": "ann", "participant_name": "ann"}), "denied")
		refused(t, call(t, cs, "write_entry", args{"thread": "design", "content": "x"}), "not_your_turn")
	}
	ann, err := dial(t, url, "a-secret", "2025-11-25", nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := must(t, call(t, ann, "write_entry", args{"thread": "design", "content": "x"})); r.facts["author"] != "ann" {
		t.Errorf("got %v", r.facts)
	}
}

func TestWebPagesAreKeptOut(t *testing.T) {
	root, _ := space(t)
	url := web(t, root, nil)
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"", "", 200}, {"localhost:1", "http://localhost:1", 200}, {"", "http://127.0.0.1:99", 200},
		{"evil.example", "", 403}, {"", "http://evil.example", 403}, {"", "null", 403}, {"127.0.0.1.evil.example", "", 403},
	} {
		body := strings.NewReader(fmt.Sprintf(hello, "2025-11-25"))
		r, _ := http.NewRequestWithContext(t.Context(), "POST", url+"/mcp", body)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if r.Host = c.host; c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != c.want {
			t.Errorf("host %q, origin %q: %s", c.host, c.origin, res.Status)
		}
	}
}

func TestListenIsLoopbackUnlessToldOtherwise(t *testing.T) {
	for _, c := range []struct {
		address         string
		anywhere, keyed bool
	}{{"0.0.0.0:0", false, true}, {":0", false, true}, {"example.com:80", false, false}, {"0.0.0.0:0", true, false}, {"nonsense", false, false}} {
		if l, _, err := mcpserver.Listen(c.address, c.anywhere, c.keyed); !fault.Is(err, fault.Usage) {
			t.Errorf("%+v: %v, %v", c, l, err)
		}
	}
	l, where, err := mcpserver.Listen("127.0.0.1:0", false, false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !strings.HasPrefix(where.URL, "http://127.0.0.1:") {
		t.Errorf("listens on %s", where.URL)
	}
}

func TestPromptsAndCompletion(t *testing.T) {
	root, _ := space(t)
	cs := session(t, mcpserver.Config{Spaces: []string{root}, Name: "ann"}, nil)
	list, err := cs.ListPrompts(t.Context(), nil)
	if err != nil || len(list.Prompts) != 2 {
		t.Fatal(list, err)
	}
	for _, p := range list.Prompts {
		got, err := cs.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name, Arguments: map[string]string{"thread": "design"}})
		if err != nil || p.Description == "" {
			t.Fatal(p, err)
		}
		said := got.Messages[0].Content.(*mcp.TextContent).Text
		if !strings.Contains(said, `"design"`) || !strings.Contains(said, `"ann"`) {
			t.Errorf("%s", said)
		}
	}
	for arg, want := range map[string][]string{"thread": {"design"}, "participant_name": {"ann", "ben", "cy"}, "nothing": {}} {
		got, err := cs.Complete(t.Context(), &mcp.CompleteParams{
			Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "join_room"}, Argument: mcp.CompleteParamsArgument{Name: arg},
		})
		if err != nil || !slices.Equal(got.Completion.Values, want) {
			t.Errorf("%s: %+v, %v", arg, got, err)
		}
	}
}
