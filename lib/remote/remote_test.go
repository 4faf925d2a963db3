package remote_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/remote"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/store/storetest"
)

var start = time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)

// direct carries requests without a child, and can lose answers.
type direct struct {
	url  string
	lose func(remote.Request) bool // after the host has answered
}

func (d direct) Do(ctx context.Context, r remote.Request) (*remote.Response, error) {
	q, err := http.NewRequestWithContext(ctx, r.Method, d.url+r.Path, bytes.NewReader(r.Body))
	if err != nil {
		return nil, err
	}
	for name, value := range r.Header {
		q.Header.Set(name, value)
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	if d.lose != nil && d.lose(r) {
		io.Copy(io.Discard, a.Body)
		a.Body.Close()
		return nil, errors.New("connection reset")
	}
	header := map[string]string{}
	for name := range a.Header {
		header[strings.ToLower(name)] = a.Header.Get(name)
	}
	return &remote.Response{Status: a.StatusCode, Header: header, Body: a.Body}, nil
}

// host serves a new space and returns its root, its keys and its address.
func host(t *testing.T) (root string, keys *keyring.Ring, url string) {
	t.Helper()
	root, err := files.Init(filepath.Join(t.TempDir(), "host"), nil)
	if err != nil {
		t.Fatal(err)
	}
	keys = keyring.Open(filepath.Join(t.TempDir(), "keys"))
	g := gateway.New(gateway.Config{
		Rooms: room.Rooms{Store: &files.Store{Wait: 10 * time.Second}, Now: func() time.Time { return start }},
		Space: root, Keys: keys, Local: true, Odd: func(err error) { t.Log(err) },
	})
	web := httptest.NewServer(g)
	t.Cleanup(func() {
		g.Close()
		web.CloseClientConnections()
		web.Close()
	})
	return root, keys, web.URL
}

// member makes keys and returns a store that has them.
func member(t *testing.T, keys *keyring.Ring, url string, names ...string) *remote.Store {
	t.Helper()
	s := &remote.Store{URL: url, Carrier: direct{url: url}}
	for _, who := range names {
		err := keys.Make(t.Context(), who, time.Now(), func(key string) error {
			s.Keys = append(s.Keys, remote.Key{Name: who, Key: key})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestConformance(t *testing.T) {
	storetest.Run(t, func(t *testing.T) (store.Store, string) {
		_, keys, url := host(t)
		return member(t, keys, url, "dan", "ann/x", "ci"), url
	})
}

// opened is a host with one room, of dan and ann.
func opened(t *testing.T) (root string, keys *keyring.Ring, url string) {
	t.Helper()
	root, keys, url = host(t)
	rooms := room.Rooms{Store: &files.Store{Wait: time.Second}}
	crew := []store.Member{{Name: "dan", Kind: "human"}, {Name: "ann", Kind: "agent"}, {Name: "bob", Kind: "agent"}}
	if _, err := rooms.Store.Register(t.Context(), root, crew); err != nil {
		t.Fatal(err)
	}
	key := store.Key{Space: root, Room: "design"}
	if _, err := rooms.Open(t.Context(), key, room.Opening{Topic: "t", Moderator: "dan", Order: []string{"dan", "ann"}}); err != nil {
		t.Fatal(err)
	}
	return root, keys, url
}

func TestALostAnswerDoublesNothing(t *testing.T) {
	root, keys, url := opened(t)
	s := member(t, keys, url, "dan")
	var lost atomic.Int32
	s.Carrier = direct{url, func(r remote.Request) bool { return r.Method == "POST" && lost.Add(1)%3 != 0 }}
	rooms, key := room.Rooms{Store: s}, store.Key{Space: url, Room: "design"}
	posted, err := rooms.Post(t.Context(), key, room.Draft{As: "dan", Body: "once"})
	if err != nil || posted.Version != 1 || lost.Load() != 3 {
		t.Fatalf("%+v, %v after %d answers", posted, err, lost.Load())
	}
	here := room.Rooms{Store: &files.Store{Wait: time.Second}}
	if found, err := here.Head(t.Context(), store.Key{Space: root, Room: "design"}); err != nil || found.Version != 1 {
		t.Errorf("the host has %d entries, %v", found.Version, err)
	}
	// Moderation too: a second hand-over would be refused, or end a turn.
	if found, err := rooms.Moderate(t.Context(), key, "dan", room.End); err != nil || found.Status != "ended" {
		t.Errorf("%+v, %v", found, err)
	}
	if _, err := rooms.Moderate(t.Context(), key, "dan", room.Resume); err != nil {
		t.Error(err)
	}
}

func TestAnUnknownOutcomeSaysSo(t *testing.T) {
	_, keys, url := opened(t)
	s := member(t, keys, url, "dan")
	s.Carrier = direct{url, func(r remote.Request) bool { return r.Method == "POST" }}
	rooms, key := room.Rooms{Store: s}, store.Key{Space: url, Room: "design"}
	_, err := rooms.Post(t.Context(), key, room.Draft{As: "dan", Body: "x", ID: "one"})
	if !fault.Is(err, fault.Unreachable) || !strings.Contains(err.Error(), "not known") {
		t.Errorf("got %v", err)
	}
	s.Carrier = direct{url: url}
	again, err := rooms.Post(t.Context(), key, room.Draft{As: "dan", Body: "x", ID: "one"})
	if err != nil || !again.Duplicate || again.Version != 1 {
		t.Errorf("asked again: %+v, %v", again, err)
	}
}

func TestNobodyActsAsAnother(t *testing.T) {
	_, keys, url := opened(t)
	s := member(t, keys, url, "ann", "bob")
	rooms, key := room.Rooms{Store: s}, store.Key{Space: url, Room: "design"}
	if _, err := rooms.Post(t.Context(), key, room.Draft{As: "dan", Body: "x"}); !fault.Is(err, fault.Denied) {
		t.Errorf("without a key: %v", err)
	}
	forged := &remote.Store{URL: url, Keys: []remote.Key{{Name: "dan", Key: s.Keys[0].Key}}, Carrier: s.Carrier}
	rooms.Store = forged
	if _, err := rooms.Post(t.Context(), key, room.Draft{As: "dan", Body: "x"}); !fault.Is(err, fault.Denied) {
		t.Errorf("with ann's key: %v", err)
	}
	rooms.Store = &remote.Store{URL: url, Keys: s.Keys[1:], Carrier: s.Carrier}
	if _, err := rooms.Head(t.Context(), key); !fault.Is(err, fault.UnknownThread) {
		t.Errorf("bob is not in the room: %v", err)
	}
	rooms.Store = &remote.Store{URL: url, Keys: []remote.Key{{Name: "dan", Key: "wrong"}}, Carrier: s.Carrier}
	if _, err := rooms.Head(t.Context(), key); !fault.Is(err, fault.Denied) {
		t.Errorf("a wrong key: %v", err)
	}
	rooms.Store = &remote.Store{URL: url, Carrier: s.Carrier}
	if _, err := rooms.Head(t.Context(), key); !fault.Is(err, fault.Denied) {
		t.Errorf("no key: %v", err)
	}
}

func TestAWatchSurvivesARestart(t *testing.T) {
	root, keys, _ := opened(t)
	serve := func() (*gateway.Gateway, *httptest.Server) {
		g := gateway.New(gateway.Config{
			Rooms: room.Rooms{Store: &files.Store{Wait: time.Second}}, Space: root, Keys: keys, Local: true,
		})
		return g, httptest.NewServer(g)
	}
	end := func(g *gateway.Gateway, web *httptest.Server) {
		g.Close()
		web.CloseClientConnections()
		web.Close()
	}
	g, web := serve()
	s := member(t, keys, web.URL, "ann")
	moved := &moving{}
	moved.to.Store(&web.URL)
	s.Carrier = moved
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	wakes := 0
	for key, err := range s.Watch(ctx, store.Key{Space: s.URL, Room: "design"}) {
		if err != nil {
			t.Fatalf("after %d wake-ups: %v", wakes, err)
		}
		if key.Room != "design" {
			t.Errorf("woken for %+v", key)
		}
		if wakes++; wakes == 2 {
			break // told that anything may have changed
		}
		end(g, web)
		g, web = serve()
		moved.to.Store(&web.URL)
	}
	end(g, web)
}

// moving carries requests to where the host is now.
type moving struct{ to atomic.Pointer[string] }

func (m *moving) Do(ctx context.Context, r remote.Request) (*remote.Response, error) {
	return direct{url: *m.to.Load()}.Do(ctx, r)
}

func TestARevokedKeyEndsAWatch(t *testing.T) {
	_, keys, url := opened(t)
	s := member(t, keys, url, "ann")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	begun := false
	for _, err := range s.Watch(ctx, store.Key{Space: url}) {
		if err != nil {
			if !begun || !fault.Is(err, fault.Denied) {
				t.Errorf("ended with %v", err)
			}
			return
		}
		if begun {
			continue // the room was opened just now
		}
		begun = true
		if err := keys.Revoke(t.Context(), "ann", time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	t.Error("the watch outlives its key")
}

func TestWhatIsNoProxy(t *testing.T) {
	for what, h := range map[string]http.HandlerFunc{
		"a page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") },
		"another error": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>gone</html>", http.StatusBadGateway)
		},
		"half a room": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"type":"room","thr`) },
	} {
		web := httptest.NewServer(h)
		s := &remote.Store{URL: web.URL, Keys: []remote.Key{{Name: "ann", Key: "k"}}, Carrier: direct{url: web.URL}}
		if _, err := s.Head(t.Context(), store.Key{Space: web.URL, Room: "design"}); !fault.Is(err, fault.Unreachable) {
			t.Errorf("%s: %v", what, err)
		}
		web.Close()
	}
}

// meddling does something on the host just before the first change arrives.
type meddling struct {
	direct
	before func()
	asked  atomic.Int32
}

func (m *meddling) Do(ctx context.Context, r remote.Request) (*remote.Response, error) {
	if r.Method == "POST" && m.asked.Add(1) == 1 {
		m.before()
	}
	return m.direct.Do(ctx, r)
}

func TestModerationIsDecidedAnewWhenTheRoomMovesOn(t *testing.T) {
	root, keys, url := opened(t)
	s, here := member(t, keys, url, "dan"), room.Rooms{Store: &files.Store{Wait: time.Second}}
	s.Carrier = &meddling{direct: direct{url: url}, before: func() {
		_, err := here.Post(t.Context(), store.Key{Space: root, Room: "design"}, room.Draft{As: "dan", Body: "x"})
		if err != nil {
			t.Error(err)
		}
	}}
	got, err := room.Rooms{Store: s}.Moderate(t.Context(), store.Key{Space: url, Room: "design"}, "dan", room.Topic("new"))
	if err != nil || got.Topic != "new" || got.Version != 1 {
		t.Errorf("%+v, %v", got, err)
	}
}
