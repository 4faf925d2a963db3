package page_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/gateway/gatewaytest"
	"github.com/substrate-tools/substrate/lib/keyring"
)

func TestALinkOpensOneBrowserOnce(t *testing.T) {
	h := serve(t)
	link := h.Link("dan")
	// Whoever looks at it, a preview of the message it was sent in for one, uses
	// nothing up.
	for _, method := range []string{"GET", "HEAD", "GET"} {
		a := h.ask(method, "/enter?link="+link, "", nil, "User-Agent", "Slackbot-LinkExpanding 1.0")
		if a.status != 200 || a.header.Get("Set-Cookie") != "" || method == "GET" && !strings.Contains(a.body, "Enter as dan") {
			t.Errorf("%s: %d %v %s", method, a.status, a.header, a.body)
		}
	}
	a := h.post("/enter", "", url.Values{"link": {link}}, "Sec-Fetch-Site", "same-origin")
	if a.status != 303 || a.header.Get("Location") != "/" {
		t.Fatalf("%d %v", a.status, a.header)
	}
	set := a.header.Get("Set-Cookie")
	for _, want := range []string{"substrate=subkey_", "; Path=/", "; Max-Age=2592000", "; HttpOnly", "; SameSite=Lax"} {
		if !strings.Contains(set, want) {
			t.Errorf("no %q in the cookie: %s", want, set)
		}
	}
	h.cookie["dan"], _, _ = strings.Cut(set, ";")
	h.get("/", "dan").has(t, "signed in", 200, "design", "Sign out")
	for range 2 {
		h.post("/enter", "", url.Values{"link": {link}}).has(t, "used", 401, "was used, has ended, or was never one")
		h.get("/enter?link="+link, "").has(t, "used", 401, "This link is not valid")
	}
	late := h.Link("ann")
	h.Now.Move(keyring.LinkLife)
	h.get("/enter?link="+late, "").has(t, "late", 401)
	h.post("/enter", "", url.Values{"link": {late}}).has(t, "late", 401)
	h.Now.Move(keyring.SessionLife - keyring.LinkLife - time.Second)
	h.get("/", "dan").has(t, "the last second", 200)
	h.Now.Move(time.Second)
	h.get("/", "dan").has(t, "ended", 401, "Not signed in")
}

func TestEightAtOnceOpenOneBrowser(t *testing.T) {
	h := serve(t)
	link := h.Link("dan")
	var wait sync.WaitGroup
	opened := make(chan string, 8)
	for range 8 {
		wait.Go(func() {
			res, err := gatewaytest.Client.PostForm(h.URL+"/enter", url.Values{"link": {link}})
			if err != nil {
				t.Error(err)
				return
			}
			if res.Body.Close(); res.StatusCode == 303 {
				opened <- res.Header.Get("Set-Cookie")
			}
		})
	}
	wait.Wait()
	if len(opened) != 1 {
		t.Errorf("%d sessions", len(opened))
	}
}

func TestOnlyASessionGetsIn(t *testing.T) {
	h := serve(t)
	key := ""
	if err := h.Keys.Make(t.Context(), "dan", gatewaytest.Start, func(k string) error { key = k; return nil }); err != nil {
		t.Fatal(err)
	}
	for what, cookie := range map[string]string{
		"none": "", "empty": "substrate=", "wrong": "substrate=wrong", "a key of programs": "substrate=" + key, "a link": "substrate=" + h.Link("dan"), "another name": "x=" + key,
	} {
		for _, path := range []string{"/", "/r/design", "/r/none", "/r/design/live", "/events"} {
			h.Now.Move(time.Minute) // or it is too many
			a := h.get(path, "", "Cookie", cookie)
			a.has(t, what+" "+path, 401, "Not signed in")
			if strings.Contains(a.body, "parser") {
				t.Errorf("%s %s: %s", what, path, a.body)
			}
		}
		for _, path := range []string{"/r/design/write", "/r/design/moderate", "/leave"} {
			h.Now.Move(time.Minute)
			h.post(path, "", url.Values{"version": {"0"}, "id": {"x"}, "body": {"x"}, "op": {"end"}}, "Cookie", cookie).has(t, what+path, 401)
		}
	}
	if a := h.get("/", "", "Authorization", "Bearer "+key); a.status != 401 {
		t.Errorf("a key of programs in a header: %d", a.status)
	}
	h.enter("dan")
	if err := h.Keys.Revoke(t.Context(), "dan", h.Now.Read()); err != nil {
		t.Fatal(err)
	}
	h.get("/", "dan").has(t, "revoked", 401)
	h.Stands("design", 0, "dan")
}

func TestBehindTLSTheCookieIsTheHostsAlone(t *testing.T) {
	h := serve(t, func(c *gateway.Config) { c.URL = "https://rooms.example" })
	h.enter("dan")
	a := h.post("/enter", "", url.Values{"link": {h.Link("dan")}})
	if set := a.header.Get("Set-Cookie"); !strings.HasPrefix(set, "__Host-substrate=") || !strings.Contains(set, "; Secure") {
		t.Errorf("got %s", set)
	}
	h.get("/", "", "Cookie", strings.TrimPrefix(h.cookie["dan"], "__Host-")).has(t, "one that another host set", 401)
	h.get("/", "dan").has(t, "his own", 200)
}

func TestSigningOutEndsTheSession(t *testing.T) {
	h := serve(t)
	h.enter("dan", "ann")
	a := h.post("/leave", "dan", nil)
	if a.status != 303 || !strings.Contains(a.header.Get("Set-Cookie"), "substrate=; ") || !strings.Contains(a.header.Get("Set-Cookie"), "Max-Age=0") {
		t.Errorf("%d %v", a.status, a.header)
	}
	h.get("/", "dan").has(t, "signed out", 401)
	h.get("/", "ann").has(t, "another", 200)
	if keys, err := h.Keys.List(); err != nil || len(keys) != 1 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

// TestFormsOfOtherPagesAreRefused sends every form as a page of another origin does.
func TestFormsOfOtherPagesAreRefused(t *testing.T) {
	h := serve(t)
	h.enter("dan")
	link := h.Link("ann")
	form := h.form("/r/design", "dan", "forged")
	form.Set("op", "end")
	form.Set("link", link)
	for what, header := range map[string][]string{
		"origin": {"Origin", "https://evil.example"}, "null": {"Origin", "null"}, "cross-site": {"Sec-Fetch-Site", "cross-site"},
		"same site": {"Sec-Fetch-Site", "same-site"}, "another port": {"Sec-Fetch-Site", "cross-site", "Origin", "http://127.0.0.1:1"},
	} {
		for _, path := range []string{"/r/design/write", "/r/design/moderate", "/leave", "/enter"} {
			a := h.post(path, "dan", form, header...)
			if a.status != 403 || a.header.Get("Set-Cookie") != "" {
				t.Errorf("%s %s: %d %s", what, path, a.status, a.body)
			}
		}
	}
	h.Stands("design", 0, "dan")
	h.get("/", "dan").has(t, "still signed in", 200)
	h.get("/enter?link="+link, "").has(t, "the link is not used up", 200)
	if a := h.post("/r/design/write", "dan", form, "Origin", h.URL, "Sec-Fetch-Site", "same-origin"); a.status != 303 {
		t.Errorf("our own page: %d %s", a.status, a.body)
	}
	for _, path := range []string{"/r/design/write", "/r/design/moderate", "/leave"} { // and no link does it
		if a := h.get(path, "dan"); a.status != 405 && a.status != 404 {
			t.Errorf("GET %s: %d", path, a.status)
		}
	}
	h.Stands("design", 1, "ann")
}

func TestAFormIsBoundedBeforeAnybodyIsKnown(t *testing.T) {
	h := serve(t, func(c *gateway.Config) { c.Rooms.MaxBody = 1000 })
	long := strings.Repeat("x", 5000)
	h.post("/enter", "", url.Values{"link": {h.Link("dan")}, "x": {long}}).has(t, "enter", 413, "too large")
	var b bytes.Buffer
	parts := multipart.NewWriter(&b)
	if err := parts.WriteField("link", h.Link("dan")); err != nil {
		t.Fatal(err)
	}
	parts.Close()
	h.ask("POST", "/enter", "", &b, "Content-Type", parts.FormDataContentType()).has(t, "multipart", 401)
	h.enter("dan")
	form := h.form("/r/design", "dan", strings.Repeat("x", 1001))
	h.post("/r/design/write", "dan", form).has(t, "too long", 413, "larger than 1000 bytes", "Your draft is kept", form.Get("body"))
	form.Set("body", strings.Repeat("x", 9000))
	h.post("/r/design/write", "dan", form).has(t, "much too long", 413, "too large")
	h.Stands("design", 0, "dan")
}

func TestAssets(t *testing.T) {
	h := serve(t)
	for path, kind := range map[string]string{"/style.css": "text/css; charset=utf-8", "/script.js": "text/javascript; charset=utf-8"} {
		a := h.get(path, "")
		if a.status != 200 || a.header.Get("Content-Type") != kind || strings.Contains(a.body, "http:") || strings.Contains(a.body, "https:") || strings.Contains(a.body, "@import") {
			t.Errorf("%s: %d %v", path, a.status, a.header)
		}
	}
	if a := h.get("/favicon.ico", ""); a.status != http.StatusNoContent {
		t.Errorf("%d", a.status)
	}
	for _, path := range []string{"/parts/room.html", "/room.html", "/style.css/..", "/r", "/r/", "/enter/x", "/%2e%2e/etc/passwd", "/.git"} {
		if a := h.get(path, ""); a.status == 200 {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}

func TestTroubleOfTheHostsTellsNoPath(t *testing.T) {
	h := serve(t)
	h.enter("dan")
	form := h.form("/r/design", "dan", "x")
	form.Set("op", "end")
	if err := os.WriteFile(filepath.Join(h.Root, ".substrate", "threads", "design", "config.yaml"), []byte("\x00"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/r/design", "/r/design/live"} {
		h.get(path, "dan").has(t, path, 500, "The host has trouble with this.")
	}
	for _, path := range []string{"/r/design/write", "/r/design/moderate"} {
		h.post(path, "dan", form).has(t, path, 500, "The host has trouble with this.")
	}
	h.get("/", "dan").has(t, "the others", 200)
}
