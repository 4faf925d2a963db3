package page_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/gateway/gatewaytest"
	"github.com/substrate-tools/substrate/lib/page"
	"github.com/substrate-tools/substrate/lib/store"
)

// host serves a space with the rooms "design" of dan, who moderates, and ann,
// and "a/b" of ann, who moderates, and bob.
type host struct {
	*gatewaytest.Host
	cookie map[string]string // of everybody's browser
}

func serve(t *testing.T, change ...func(*gateway.Config)) *host {
	t.Helper()
	h := &host{cookie: map[string]string{}}
	h.Host = gatewaytest.New(t, store.Member{Name: "dan", Kind: "human"}, store.Member{Name: "ann", Kind: "human"},
		store.Member{Name: "bob", Kind: "agent"})
	h.Opened("design", "dan", "ann")
	h.Opened("a/b", "ann", "bob")
	h.Serve(page.Serve, change...)
	return h
}

// enter signs somebody's browser in.
func (h *host) enter(names ...string) {
	h.T.Helper()
	for _, who := range names {
		a := h.post("/enter", "", url.Values{"link": {h.Link(who)}})
		if a.status != 303 {
			h.T.Fatalf("%s does not get in: %d %s", who, a.status, a.body)
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
	h.T.Helper()
	return h.ask("GET", path, who, nil, header...)
}

func (h *host) post(path, who string, form url.Values, header ...string) answer {
	h.T.Helper()
	return h.ask("POST", path, who, strings.NewReader(form.Encode()), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

// What no page has: a script or style of its own, something from elsewhere, a key in
// an address.
var (
	foreign = regexp.MustCompile(`(?i)<script|<style|<[^>]+\s(?:on[a-z]+|style)=|<(?:img|iframe|object|embed|base|svg|math|video|audio|form action="http)|` +
		`(?:src|action)="(?:[a-z]+:|//)`)
	address = regexp.MustCompile(`(?:href|action|src|Location)[=:]"?[^"\n]*(?:subkey_|link=)`)
)

// ask asks and looks at every answer: its headers, and that it tells nothing.
func (h *host) ask(method, path, who string, body io.Reader, header ...string) answer {
	h.T.Helper()
	r, err := http.NewRequestWithContext(h.T.Context(), method, h.URL+path, body)
	if err != nil {
		h.T.Fatal(err)
	}
	if who != "" {
		r.Header.Set("Cookie", h.cookie[who])
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, text, err := gatewaytest.Do(gatewaytest.Client, r)
	if err != nil {
		h.T.Fatal(err)
	}
	a := answer{res.StatusCode, res.Header, text}
	h.look(method+" "+path, a)
	return a
}

func (h *host) look(what string, a answer) {
	h.T.Helper()
	want := map[string]string{"X-Content-Type-Options": "nosniff"}
	// Without any referrer a browser does not say where our own forms come from.
	if policy := a.header.Get("Referrer-Policy"); policy != "no-referrer" && policy != "strict-origin" {
		h.T.Errorf("%s: Referrer-Policy %q", what, policy)
	}
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/html") && a.status/100 != 3 {
		want["Cache-Control"], want["Referrer-Policy"] = "no-store", "strict-origin"
		want["Cross-Origin-Opener-Policy"], want["Cross-Origin-Resource-Policy"] = "same-origin", "same-origin"
		csp := a.header.Get("Content-Security-Policy")
		for _, rule := range []string{"default-src 'none'", "script-src 'self'", "style-src 'self'", "base-uri 'none'", "frame-ancestors 'none'", "form-action 'self'"} {
			if !strings.Contains(csp, rule) {
				h.T.Errorf("%s: no %s in %q", what, rule, csp)
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(csp, "*") || strings.Contains(csp, "http") {
			h.T.Errorf("%s: %q", what, csp)
		}
		if bad := foreign.FindString(strings.Replace(a.body, `<script src="/script.js" defer></script>`, "", 1)); bad != "" {
			h.T.Errorf("%s: %q in %s", what, bad, a.body)
		}
	}
	for name, value := range want {
		if a.header.Get(name) != value {
			h.T.Errorf("%s: %s is %q", what, name, a.header.Get(name))
		}
	}
	said := a.body + "\nLocation: " + a.header.Get("Location")
	if bad := address.FindString(said); bad != "" {
		h.T.Errorf("%s: a key in an address: %s", what, bad)
	}
	if strings.Contains(said, filepath.Dir(h.Root)) || strings.Contains(said, h.Keys.Path()) {
		h.T.Errorf("%s: a path of the host: %s", what, said)
	}
}

// form is what a room's page has for a write.
func (h *host) form(path, who, body string) url.Values {
	h.T.Helper()
	a := h.get(path, who)
	field := func(name string) string {
		m := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(a.body)
		if m == nil {
			h.T.Fatalf("no field %s: %s", name, a.body)
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
