package page_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/page"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

var start = time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)

// host serves a space with the rooms "design" of dan, who moderates, and ann,
// and "a/b" of ann, who moderates, and bob.
type host struct {
	t         *testing.T
	url, root string
	keys      *keyring.Ring
	beside    room.Rooms
	cookie    map[string]string // of everybody's browser
	mu        sync.Mutex
	at        time.Time
}

func (h *host) now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.at
}

func (h *host) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at = h.at.Add(d)
}

func serve(t *testing.T, change ...func(*gateway.Config)) *host {
	t.Helper()
	h := &host{t: t, cookie: map[string]string{}, at: start}
	var err error
	members := []store.Member{{Name: "dan", Kind: "human"}, {Name: "ann", Kind: "human"}, {Name: "bob", Kind: "agent"}}
	if h.root, err = files.Init(filepath.Join(t.TempDir(), "host"), members); err != nil {
		t.Fatal(err)
	}
	h.beside = room.Rooms{Store: &files.Store{Wait: 10 * time.Second}, Now: h.now}
	h.opened("design", "dan", "ann")
	h.opened("a/b", "ann", "bob")
	h.keys = keyring.Open(filepath.Join(t.TempDir(), "keys"))
	c := gateway.Config{
		Rooms: room.Rooms{Store: &files.Store{Wait: 10 * time.Second}, Now: h.now}, Space: h.root,
		Keys: h.keys, Local: true, Now: h.now, Odd: func(err error) { t.Log("the host is told:", err) },
	}
	for _, f := range change {
		f(&c)
	}
	var g *gateway.Gateway
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.ServeHTTP(w, r) }))
	h.url = web.URL
	if c.URL == "" {
		c.URL = web.URL
	}
	g = gateway.New(c)
	page.Serve(g)
	t.Cleanup(func() {
		g.Close()
		web.CloseClientConnections()
		web.Close()
	})
	return h
}

func (h *host) key(room string) store.Key { return store.Key{Space: h.root, Room: room} }

func (h *host) opened(name string, order ...string) {
	h.t.Helper()
	o := room.Opening{Topic: "which parser?", Moderator: order[0], Order: order}
	if _, err := h.beside.Open(h.t.Context(), h.key(name), o); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) posted(name, who, body string) string {
	h.t.Helper()
	h.pass(time.Second)
	p, err := h.beside.Post(h.t.Context(), h.key(name), room.Draft{As: who, Body: body})
	if err != nil {
		h.t.Fatal(err)
	}
	return p.Entry
}

func (h *host) stands(room string, version int, current string) {
	h.t.Helper()
	found, err := h.beside.Head(h.t.Context(), h.key(room))
	if err != nil || found.Version != version || found.Current != current {
		h.t.Errorf("%s: %d entries, %s's turn, %v; want %d, %s", room, found.Version, found.Current, err, version, current)
	}
}

func (h *host) link(who string) string {
	h.t.Helper()
	key, err := h.keys.Link(h.t.Context(), who, h.now())
	if err != nil {
		h.t.Fatal(err)
	}
	return key
}

// enter signs somebody's browser in.
func (h *host) enter(names ...string) {
	h.t.Helper()
	for _, who := range names {
		a := h.post("/enter", "", url.Values{"link": {h.link(who)}})
		if a.status != 303 {
			h.t.Fatalf("%s does not get in: %d %s", who, a.status, a.body)
		}
		h.cookie[who], _, _ = strings.Cut(a.header.Get("Set-Cookie"), ";")
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (h *host) get(path, who string, header ...string) answer {
	h.t.Helper()
	return h.ask("GET", path, who, nil, header...)
}

func (h *host) post(path, who string, form url.Values, header ...string) answer {
	h.t.Helper()
	return h.ask("POST", path, who, strings.NewReader(form.Encode()), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// What no page has: a script or style of its own, something from elsewhere, a key in
// an address.
var (
	foreign = regexp.MustCompile(`(?i)<script|<style|<[^>]+\s(?:on[a-z]+|style)=|<(?:img|iframe|object|embed|base|svg|math|video|audio|form action="http)|` +
		`(?:src|action)="(?:[a-z]+:|//)`)
	address = regexp.MustCompile(`(?:href|action|src|Location)[=:]"?[^"\n]*(?:subkey_|link=)`)
)

// ask asks and looks at every answer: its headers, and that it tells nothing.
func (h *host) ask(method, path, who string, body io.Reader, header ...string) answer {
	h.t.Helper()
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, body)
	if err != nil {
		h.t.Fatal(err)
	}
	if who != "" {
		r.Header.Set("Cookie", h.cookie[who])
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(r)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	a := answer{res.StatusCode, res.Header, string(data)}
	h.look(method+" "+path, a)
	return a
}

func (h *host) look(what string, a answer) {
	h.t.Helper()
	want := map[string]string{"X-Content-Type-Options": "nosniff"}
	// Without any referrer a browser does not say where our own forms come from.
	if policy := a.header.Get("Referrer-Policy"); policy != "no-referrer" && policy != "strict-origin" {
		h.t.Errorf("%s: Referrer-Policy %q", what, policy)
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") && a.status/100 != 3 {
		want["Cache-Control"], want["Referrer-Policy"] = "no-store", "strict-origin"
		want["Cross-Origin-Opener-Policy"], want["Cross-Origin-Resource-Policy"] = "same-origin", "same-origin"
		csp := a.header.Get("Content-Security-Policy")
		for _, rule := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'"} {
			if !strings.Contains(csp, rule) {
				h.t.Errorf("%s: no %s in %q", what, rule, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || strings.Contains(csp, "http") {
			h.t.Errorf("%s: %q", what, csp)
		}
		if bad := foreign.FindString(strings.Replace(a.body, `<script src="/script.js" defer></script>`, "", 1)); bad != "" {
			h.t.Errorf("%s: %q in %s", what, bad, a.body)
		}
	}
	for name, value := range want {
		if a.header.Get(name) != value {
			h.t.Errorf("%s: %s is %q", what, name, a.header.Get(name))
		}
	}
	said := a.body + "\nLocation: " + a.header.Get("Location")
	if bad := address.FindString(said); bad != "" {
		h.t.Errorf("%s: a key in an address: %s", what, bad)
	}
	if strings.Contains(said, filepath.Dir(h.root)) || strings.Contains(said, h.keys.Path()) {
		h.t.Errorf("%s: a path of the host: %s", what, said)
	}
}

// form is what a room's page has for a write.
func (h *host) form(path, who, body string) url.Values {
	h.t.Helper()
	a := h.get(path, who)
	field := func(name string) string {
		m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(a.body)
		if m == nil {
			h.t.Fatalf("no field %s: %s", name, a.body)
		}
		return m[1]
	}
	return url.Values{"version": {field("version")}, "id": {field("id")}, "body": {body}}
}

func (a answer) has(t *testing.T, what string, status int, texts ...string) {
	t.Helper()
	if a.status != status {
		t.Errorf("%s: %d, want %d: %s", what, a.status, status, a.body)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("%s: no %q in %s", what, text, a.body)
		}
	}
}

func numbered(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("entry number %d.", i)
	}
	return all
}
