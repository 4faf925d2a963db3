package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/gateway/gatewaytest"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
)

// host is a served space with the room "design" of dan, who moderates, ann and bob,
// and the room "a/b" of dan and ann. zoe is in none, eve has no key.
type host struct {
	*gatewaytest.Host
	log *text
	odd *text // what the host was told
}

// text is written by the gateway and read by the test.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (x *text) Write(b []byte) (int, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.Write(b)
}

func (x *text) String() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.b.String()
}

func serve(t *testing.T, change ...func(*gateway.Config)) *host {
	t.Helper()
	h := &host{log: &text{}, odd: &text{}}
	h.Host = gatewaytest.New(t, store.Member{Name: "dan", Kind: "human"}, store.Member{Name: "ann", Kind: "agent"},
		store.Member{Name: "bob", Kind: "agent"}, store.Member{Name: "zoe", Kind: "other"})
	h.Opened("design", "dan", "ann", "bob")
	h.Opened("a/b", "dan", "ann")
	h.Made("dan", "ann", "bob", "zoe")
	told := func(c *gateway.Config) { c.Log, c.Odd = h.log, func(err error) { fmt.Fprintln(h.odd, err) } }
	h.Serve(nil, append([]func(*gateway.Config){told}, change...)...)
	return h
}

type answer struct {
	status int
	header http.Header
	body   string
}

// record decodes an answer.
func (a answer) record(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("%v: %s", err, a.body)
	}
}

// error decodes an answer that is one.
func (a answer) error(t *testing.T) (e record.Error) {
	t.Helper()
	if a.record(t, &e); e.Type != "error" {
		t.Fatalf("no error: %s", a.body)
	}
	return e
}

// request makes a request. header are names and values in turn.
func (h *host) request(method, path, who string, body any, header ...string) *http.Request {
	h.T.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			h.T.Fatal(err)
		}
		in = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(h.T.Context(), method, h.URL+path, in)
	if err != nil {
		h.T.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+h.Key[who])
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	return r
}

// ask asks and holds the answer against openapi.json. No answer has a path of the
// host or anybody's key in it.
func (h *host) ask(method, path, who string, body any, header ...string) answer {
	h.T.Helper()
	a, err := h.try(method, path, who, body, header...)
	if err != nil {
		h.T.Fatal(err)
	}
	if bare, _, _ := strings.Cut(path, "?"); strings.HasPrefix(bare, "/v1") || !strings.Contains(bare[1:], "/") {
		openapi(h.T).check(h.T, method, bare, a)
	}
	h.discreet(a)
	return a
}

func (h *host) try(method, path, who string, body any, header ...string) (answer, error) {
	h.T.Helper()
	res, said, err := gatewaytest.Do(gatewaytest.Client, h.request(method, path, who, body, header...))
	if res == nil {
		return answer{}, err
	}
	return answer{res.StatusCode, res.Header, said}, err
}

// discreet asserts that an answer tells nothing that is nobody's business.
func (h *host) discreet(a answer) {
	h.T.Helper()
	said := fmt.Sprint(a.header) + a.body
	if strings.Contains(said, h.Root) || strings.Contains(said, filepath.Dir(h.Root)) || strings.Contains(said, h.Keys.Path()) {
		h.T.Errorf("a path of the host: %s", said)
	}
	for who, key := range h.Key {
		if strings.Contains(said, key) {
			h.T.Errorf("%s's key: %s", who, said)
		}
	}
}

// refused asserts a refusal.
func (h *host) refused(what string, a answer, status int, code fault.Code) record.Error {
	h.T.Helper()
	e := a.error(h.T)
	if a.status != status || e.Code != string(code) {
		h.T.Errorf("%s: %d %s, want %d %s: %s", what, a.status, e.Code, status, code, e.Message)
	}
	return e
}

// posting asks for an entry.
func posting(body string, version int) record.Posting {
	return record.Posting{Body: body, Version: &version}
}

// act asks for an act of moderation.
func act(op string, version int, change ...func(*record.Moderation)) record.Moderation {
	m := record.Moderation{Op: op, Version: &version}
	for _, f := range change {
		f(&m)
	}
	return m
}

var errBroken = errors.New("broken")
