package courier_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/courier"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

var start = time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)

// host serves a space with the rooms "design" of dan, who moderates, and ann,
// and "a/write" of ann, who moderates, and bob. Everybody has a key.
type host struct {
	t         *testing.T
	g         *gateway.Gateway
	url, root string
	keys      *keyring.Ring
	beside    room.Rooms
	key       map[string]string
	nonce     int
}

func serve(t *testing.T, change ...func(*gateway.Config)) *host {
	t.Helper()
	h := &host{t: t, key: map[string]string{}}
	var err error
	members := []store.Member{{Name: "dan", Kind: "human"}, {Name: "ann", Kind: "agent"}, {Name: "bob", Kind: "agent"}}
	if h.root, err = files.Init(filepath.Join(t.TempDir(), "host"), members); err != nil {
		t.Fatal(err)
	}
	h.beside = room.Rooms{Store: &files.Store{Wait: 10 * time.Second}}
	h.opened("design", "dan", "ann")
	h.opened("a/write", "ann", "bob")
	h.keys = keyring.Open(filepath.Join(t.TempDir(), "keys"))
	for _, m := range members {
		if err := h.keys.Make(t.Context(), m.Name, start, func(key string) error { h.key[m.Name] = key; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	c := gateway.Config{
		Rooms: room.Rooms{Store: &files.Store{Wait: 10 * time.Second}, Now: func() time.Time { return start }}, Space: h.root,
		Keys: h.keys, Local: true, Odd: func(err error) { t.Log("the host is told:", err) },
	}
	for _, f := range change {
		f(&c)
	}
	h.start(c)
	return h
}

// start serves, once more if need be.
func (h *host) start(c gateway.Config) {
	var g *gateway.Gateway
	web := httptest.NewUnstartedServer(nil)
	web.Config = gateway.Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.ServeHTTP(w, r) }))
	web.Start()
	c.URL = web.URL
	g = gateway.New(c)
	courier.Serve(g)
	h.g, h.url = g, web.URL
	h.t.Cleanup(func() {
		g.Close()
		web.CloseClientConnections()
		web.Close()
	})
}

func (h *host) opened(name string, order ...string) {
	h.t.Helper()
	o := room.Opening{Topic: "which parser?", Moderator: order[0], Order: order}
	if _, err := h.beside.Open(h.t.Context(), store.Key{Space: h.root, Room: name}, o); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) stands(room string, version int, current string) {
	h.t.Helper()
	found, err := h.beside.Head(h.t.Context(), store.Key{Space: h.root, Room: room})
	if err != nil || found.Version != version || found.Current != current {
		h.t.Errorf("%s: %d entries, %s's turn, %v; want %d, %s", room, found.Version, found.Current, err, version, current)
	}
}

// last returns the body of a room's last visible entry.
func (h *host) last(name string) (body string) {
	h.t.Helper()
	view, err := h.beside.Store.Read(h.t.Context(), store.Key{Space: h.root, Room: name}, store.Part{Last: 1, Bodies: true})
	if err != nil {
		h.t.Fatal(err)
	}
	for e, err := range view.Entries {
		if err != nil {
			h.t.Fatal(err)
		}
		body = e.Body
	}
	return body
}

// with returns an address with a new nonce, as somebody.
func (h *host) with(who, path, query string) string {
	h.nonce++
	return fmt.Sprintf("%s/t/%s?key=%s&nonce=n%d%s", h.url, path, h.key[who], h.nonce, query)
}

// get fetches an address. No answer tells of the host's files, nor of keys but in
// the addresses for whoever asked with his.
func (h *host) get(method, address string, header ...string) (int, string, http.Header) {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, address, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	for who, key := range h.key {
		if strings.Contains(string(body), key) && !strings.Contains(address, key) {
			h.t.Errorf("%s's key: %s", who, body)
		}
	}
	if strings.Contains(string(body), filepath.Dir(h.root)) {
		h.t.Errorf("a path of the host: %s", body)
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"} {
		if got := res.Header.Get(name); got != want {
			h.t.Errorf("%s: %q", name, got)
		}
	}
	return res.StatusCode, string(body), res.Header
}

// page fetches one that has to be there.
func (h *host) page(address string) string {
	h.t.Helper()
	status, body, header := h.get("GET", address)
	if status != 200 || header.Get("Content-Type") != "text/plain; charset=utf-8" || header.Get("X-Robots-Tag") != "noindex, nofollow" {
		h.t.Fatalf("%d %v: %s", status, header, body)
	}
	return body
}

// fact returns what a page says of something.
func fact(page, what string) string {
	for line := range strings.Lines(page) {
		if value, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), what+": "); ok {
			return value
		}
	}
	return ""
}

func together(n int, do func(i int)) {
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { do(i) })
	}
	wait.Wait()
}
