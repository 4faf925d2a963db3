// Package gatewaytest is a served space, for the tests of the gateway and of what
// stands on it.
package gatewaytest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// Start is when a host's clock stands at first.
var Start = time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)

// Client follows nothing.
var Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// Host is a space of a test's own and, once it is served, the gateway to it.
type Host struct {
	T *testing.T
	*gateway.Gateway
	URL, Root string
	Keys      *keyring.Ring
	Key       map[string]string // that Made made, by whose it is
	Beside    room.Rooms        // the rooms, not through the gateway
	Now       *Clock
	stand     func(*gateway.Gateway)
}

// Clock stands still until it is moved.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *Clock) Read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *Clock) Move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// New makes a space without rooms, in which nobody has a key.
func New(t *testing.T, members ...store.Member) *Host {
	t.Helper()
	root, err := files.Init(filepath.Join(t.TempDir(), "host"), members)
	if err != nil {
		t.Fatal(err)
	}
	h := &Host{T: t, Root: root, Key: map[string]string{}, Now: &Clock{at: Start}}
	h.Keys = keyring.Open(filepath.Join(t.TempDir(), "keys"))
	h.Beside = h.rooms()
	return h
}

// rooms has a store of its own, as the rooms of another program do.
func (h *Host) rooms() room.Rooms {
	return room.Rooms{Store: &files.Store{Wait: 10 * time.Second}, Now: h.Now.Read}
}

// Serve serves the space until the test ends. stand puts onto a gateway what is
// tested on it, or is nil.
func (h *Host) Serve(stand func(*gateway.Gateway), change ...func(*gateway.Config)) {
	c := gateway.Config{
		Rooms: h.rooms(), Space: h.Root, Keys: h.Keys, Local: true, Now: h.Now.Read,
		Odd: func(err error) { h.T.Log("the host is told:", err) },
	}
	for _, f := range change {
		f(&c)
	}
	h.stand = stand
	h.start(c)
}

// Restart serves anew, elsewhere: what was in memory is gone.
func (h *Host) Restart() {
	h.Close()
	h.start(h.Config)
}

func (h *Host) start(c gateway.Config) {
	web := httptest.NewUnstartedServer(nil)
	url := "http://" + web.Listener.Addr().String()
	if c.URL == "" || c.URL == h.URL { // no test said otherwise
		c.URL = url
	}
	g := gateway.New(c)
	if h.stand != nil {
		h.stand(g)
	}
	web.Config = gateway.Server(g)
	web.Start()
	h.Gateway, h.URL = g, url
	h.T.Cleanup(func() {
		g.Close()
		web.CloseClientConnections()
		web.Close()
	})
}

// At is the key of a room.
func (h *Host) At(room string) store.Key { return store.Key{Space: h.Root, Room: room} }

// Opened opens a room, whose first moderates.
func (h *Host) Opened(name string, order ...string) {
	h.T.Helper()
	o := room.Opening{Topic: "which parser?", Moderator: order[0], Order: order}
	if _, err := h.Beside.Open(h.T.Context(), h.At(name), o); err != nil {
		h.T.Fatal(err)
	}
}

// Made makes keys.
func (h *Host) Made(names ...string) {
	h.T.Helper()
	for _, who := range names {
		err := h.Keys.Make(h.T.Context(), who, Start, func(key string) error {
			h.Key[who] = key
			return nil
		})
		if err != nil {
			h.T.Fatal(err)
		}
	}
}

// Link makes what somebody's browser is let in by.
func (h *Host) Link(who string) string {
	h.T.Helper()
	link, err := h.Keys.Link(h.T.Context(), who, h.Now.Read())
	if err != nil {
		h.T.Fatal(err)
	}
	return link
}

// Posted appends an entry a second later, not through the gateway.
func (h *Host) Posted(name, who, body string) string {
	h.T.Helper()
	h.Now.Move(time.Second)
	p, err := h.Beside.Post(h.T.Context(), h.At(name), room.Draft{As: who, Body: body})
	if err != nil {
		h.T.Fatal(err)
	}
	return p.Entry
}

// Stands asserts how many entries a room has, and who holds its floor.
func (h *Host) Stands(room string, version int, current string) {
	h.T.Helper()
	found, err := h.Beside.Head(h.T.Context(), h.At(room))
	if err != nil || found.Version != version || found.Current != current {
		h.T.Errorf("%s: %d entries, %s's turn, %v; want %d, %s", room, found.Version, found.Current, err, version, current)
	}
}

// Do makes a request and reads the body of the answer.
func Do(c *http.Client, r *http.Request) (*http.Response, string, error) {
	res, err := c.Do(r)
	if err != nil {
		return nil, "", err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	return res, string(body), err
}
