package gateway_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

var start = time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)

// host is a served space with the room "design" of dan, who moderates, ann and bob,
// and the room "a/b" of dan and ann. zoe is in none, eve has no key.
type host struct {
	t *testing.T
	*gateway.Gateway
	url, root string
	keys      *keyring.Ring
	beside    room.Rooms // the rooms, not through the gateway
	key       map[string]string
	log       *text
	odd       *text // what the host was told
	now       *clock
}

// clock stands still until it is moved.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
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

var members = []store.Member{
	{Name: "dan", Kind: "human"}, {Name: "ann", Kind: "agent"}, {Name: "bob", Kind: "agent"}, {Name: "zoe", Kind: "other"},
}

func serve(t *testing.T, change ...func(*gateway.Config)) *host {
	t.Helper()
	h := &host{t: t, key: map[string]string{}, log: &text{}, odd: &text{}, now: &clock{at: start}}
	var err error
	if h.root, err = files.Init(filepath.Join(t.TempDir(), "host"), members); err != nil {
		t.Fatal(err)
	}
	h.beside = room.Rooms{Store: &files.Store{Wait: 10 * time.Second}, Now: h.now.read}
	h.opened("design", "dan", "ann", "bob")
	h.opened("a/b", "dan", "ann")
	h.keys = keyring.Open(filepath.Join(t.TempDir(), "keys"))
	for _, m := range members {
		h.made(m.Name)
	}
	c := gateway.Config{
		Rooms: room.Rooms{Store: &files.Store{Wait: 10 * time.Second}, Now: h.now.read}, Space: h.root, Keys: h.keys, Local: true,
		Now: h.now.read, Log: h.log, Odd: func(err error) { fmt.Fprintln(h.odd, err) },
	}
	for _, f := range change {
		f(&c)
	}
	h.start(c)
	return h
}

// start serves, once more if need be.
func (h *host) start(c gateway.Config) {
	g := gateway.New(c)
	web := httptest.NewServer(g)
	h.Gateway, h.url = g, web.URL
	h.t.Cleanup(func() {
		g.Close()
		web.CloseClientConnections()
		web.Close()
	})
}

func (h *host) opened(name string, order ...string) {
	h.t.Helper()
	o := room.Opening{Topic: "which parser?", Moderator: "dan", Order: order}
	if _, err := h.beside.Open(h.t.Context(), h.at(name), o); err != nil {
		h.t.Fatal(err)
	}
}

func (h *host) at(room string) store.Key { return store.Key{Space: h.root, Room: room} }

// made makes a key.
func (h *host) made(who string) {
	h.t.Helper()
	err := h.keys.Make(h.t.Context(), who, start, func(key string) error {
		h.key[who] = key
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
}

// posted appends an entry, not through the gateway.
func (h *host) posted(room_, who, body string) string {
	h.t.Helper()
	h.now.move(time.Second)
	p, err := h.beside.Post(h.t.Context(), h.at(room_), room.Draft{As: who, Body: body})
	if err != nil {
		h.t.Fatal(err)
	}
	return p.Entry
}

// stands asserts how many entries a room has, and who holds its floor.
func (h *host) stands(room string, version int, current string) {
	h.t.Helper()
	found, err := h.beside.Head(h.t.Context(), h.at(room))
	if err != nil || found.Version != version || found.Current != current {
		h.t.Errorf("%s: %d entries, %s's turn, %v; want %d, %s", room, found.Version, found.Current, err, version, current)
	}
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
	h.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			h.t.Fatal(err)
		}
		in = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, in)
	if err != nil {
		h.t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if who != "" {
		r.Header.Set("Authorization", "Bearer "+h.key[who])
	}
	for i := 0; i < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	return r
}

// client follows nothing.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// ask asks and holds the answer against openapi.json. No answer has a path of the
// host or anybody's key in it.
func (h *host) ask(method, path, who string, body any, header ...string) answer {
	h.t.Helper()
	a, err := h.try(method, path, who, body, header...)
	if err != nil {
		h.t.Fatal(err)
	}
	if bare, _, _ := strings.Cut(path, "?"); strings.HasPrefix(bare, "/v1") || !strings.Contains(bare[1:], "/") {
		openapi(h.t).check(h.t, method, bare, a)
	}
	h.discreet(a)
	return a
}

func (h *host) try(method, path, who string, body any, header ...string) (answer, error) {
	h.t.Helper()
	res, err := client.Do(h.request(method, path, who, body, header...))
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(data)}, err
}

// discreet asserts that an answer tells nothing that is nobody's business.
func (h *host) discreet(a answer) {
	h.t.Helper()
	said := fmt.Sprint(a.header) + a.body
	if strings.Contains(said, h.root) || strings.Contains(said, filepath.Dir(h.root)) || strings.Contains(said, h.keys.Path()) {
		h.t.Errorf("a path of the host: %s", said)
	}
	for who, key := range h.key {
		if strings.Contains(said, key) {
			h.t.Errorf("%s's key: %s", who, said)
		}
	}
}

// refused asserts a refusal.
func (h *host) refused(what string, a answer, status int, code fault.Code) record.Error {
	h.t.Helper()
	e := a.error(h.t)
	if a.status != status || e.Code != string(code) {
		h.t.Errorf("%s: %d %s, want %d %s: %s", what, a.status, e.Code, status, code, e.Message)
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
