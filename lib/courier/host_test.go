package courier_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/substrate-tools/substrate/lib/courier"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/gateway/gatewaytest"
	"github.com/substrate-tools/substrate/lib/store"
)

// host serves a space with the rooms "design" of dan, who moderates, and ann,
// and "a/write" of ann, who moderates, and bob. Everybody has a key.
type host struct {
	*gatewaytest.Host
	nonce int
}

func serve(t *testing.T, change ...func(*gateway.Config)) *host {
	t.Helper()
	h := &host{Host: gatewaytest.New(t, store.Member{Name: "dan", Kind: "human"}, store.Member{Name: "ann", Kind: "agent"},
		store.Member{Name: "bob", Kind: "agent"})}
	h.Opened("design", "dan", "ann")
	h.Opened("a/write", "ann", "bob")
	h.Made("dan", "ann", "bob")
	h.Serve(courier.Serve, change...)
	return h
}

// last returns the body of a room's last visible entry.
func (h *host) last(name string) (body string) {
	h.T.Helper()
	view, err := h.Beside.Store.Read(h.T.Context(), h.At(name), store.Part{Last: 1, Bodies: true})
	if err != nil {
		h.T.Fatal(err)
	}
	for e, err := range view.Entries {
		if err != nil {
			h.T.Fatal(err)
		}
		body = e.Body
	}
	return body
}

// with returns an address with a new nonce, as somebody.
func (h *host) with(who, path, query string) string {
	h.nonce++
	return fmt.Sprintf("%s/t/%s?key=%s&nonce=n%d%s", h.URL, path, h.Key[who], h.nonce, query)
}

// get fetches an address. No answer tells of the host's files, nor of keys but in
// the addresses for whoever asked with his.
func (h *host) get(method, address string, header ...string) (int, string, http.Header) {
	h.T.Helper()
	r, err := http.NewRequestWithContext(h.T.Context(), method, address, nil)
	if err != nil {
		h.T.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, body, err := gatewaytest.Do(http.DefaultClient, r)
	if err != nil {
		h.T.Fatal(err)
	}
	for who, key := range h.Key {
		if strings.Contains(body, key) && !strings.Contains(address, key) {
			h.T.Errorf("%s's key: %s", who, body)
		}
	}
	if strings.Contains(body, filepath.Dir(h.Root)) {
		h.T.Errorf("a path of the host: %s", body)
	}
	for name, want := range map[string]string{"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff"} {
		if got := res.Header.Get(name); got != want {
			h.T.Errorf("%s: %q", name, got)
		}
	}
	return res.StatusCode, body, res.Header
}

// page fetches one that has to be there.
func (h *host) page(address string) string {
	h.T.Helper()
	status, body, header := h.get("GET", address)
	if status != 200 || header.Get("Content-Type") != "text/plain; charset=utf-8" || header.Get("X-Robots-Tag") != "noindex, nofollow" {
		h.T.Fatalf("%d %v: %s", status, header, body)
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
