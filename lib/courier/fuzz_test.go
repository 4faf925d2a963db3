package courier

import (
	"encoding/base64"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/name"
)

// FuzzSpot: whatever a path says, it leads to a room that has a name, or nowhere.
func FuzzSpot(f *testing.F) {
	for _, path := range []string{
		"/t/design", "/t/design/write", "/t/a%2Fwrite", "/t/a/b/write", "/t/", "/t/write", "/t/..", "/t/%2e%2e%2fetc", "/t/%", "/t/design%00", "/t//write", "/t/%ff/write",
	} {
		f.Add(path)
	}
	f.Fuzz(func(t *testing.T, path string) {
		u, err := url.Parse("http://localhost" + path)
		if err != nil || !strings.HasPrefix(u.EscapedPath(), "/t/") {
			return
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.URL = u
		room, write, ok := spot(r)
		if !ok {
			return
		}
		if !name.Valid(room) || strings.Contains(room, "..") || strings.HasPrefix(room, "/") {
			t.Errorf("%q leads to %q", path, room)
		}
		// The address that a page gives for it leads there as well.
		again := httptest.NewRequest("GET", "/t/"+name.Component(room)+map[bool]string{true: "/write"}[write], nil)
		if back, w, ok := spot(again); !ok || back != room || w != write {
			t.Errorf("%q leads to %q, %v, whose address to %q, %v, %v", path, room, write, back, w, ok)
		}
	})
}

// FuzzText: a body comes out as it went in, or is refused; nothing is cut silently.
func FuzzText(f *testing.F) {
	f.Add("aGVsbG8", "")
	f.Add("aGV+bG8/", "")
	f.Add("", "hello")
	f.Add("YQ==YQ==", "x")
	f.Fuzz(func(t *testing.T, coded, plain string) {
		ask := func(q url.Values) (string, error) {
			r := httptest.NewRequest("GET", "/t/x/write", nil)
			sent, err := url.ParseQuery(q.Encode())
			if err != nil {
				t.Fatal(err)
			}
			return text(ask{Request: r, Values: sent})
		}
		if body, err := ask(url.Values{"text": {plain}}); err == nil && body != plain || err != nil && strings.TrimSpace(plain) != "" {
			t.Errorf("text %q became %q, %v", plain, body, err)
		}
		if body, err := ask(url.Values{"b64": {base64.RawURLEncoding.EncodeToString([]byte(plain))}}); err == nil && body != plain || err != nil && plain != "" {
			t.Errorf("b64 of %q became %q, %v", plain, body, err)
		}
		body, err := ask(url.Values{"b64": {coded}})
		if err != nil {
			return
		}
		bare := strings.NewReplacer(" ", "-", "+", "-", "/", "_", "\n", "", "\r", "").Replace(coded)
		if again := base64.RawURLEncoding.EncodeToString([]byte(body)); again != strings.TrimRight(bare, "=") {
			t.Errorf("b64 %q became %q, which is %q", coded, body, again)
		}
		if _, err := ask(url.Values{"b64": {coded}, "text": {plain}}); err == nil {
			t.Error("both are taken")
		}
	})
}
