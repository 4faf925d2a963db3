package gateway_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// everything are the requests that a room's trouble may show in.
func (h *host) everything() map[string]answer {
	h.T.Helper()
	all := map[string]answer{}
	for _, path := range []string{"/v1/rooms/design", entries, "/v1/rooms/design/transcript", "/v1/rooms/design/manifest", "/v1/rooms/design/posted?id=x", "/v1/events?room=design"} {
		all[path] = h.ask("GET", path, "dan", nil)
	}
	all["post"] = h.ask("POST", entries, "dan", posting("x", 0))
	for _, op := range []string{"end", "topic", "invite", "quiet", "order", "next", "resume"} {
		m := act(op, 0)
		m.Name, m.Topic, m.Order, m.Turns = "zoe", "mine", []string{"ann"}, 1
		all[op] = h.ask("POST", "/v1/rooms/design/moderate", "dan", m)
	}
	return all
}

// Nobody is told of the host's files: ask asserts that of every answer. The host is.
func TestTroubleOfTheHostsTellsNoPath(t *testing.T) {
	for what, spoil := range map[string]func(h *host, config string) error{
		"garbage": func(_ *host, config string) error { return os.WriteFile(config, []byte("\x00\xff{"), 0o600) },
		"conflict": func(_ *host, config string) error {
			return os.WriteFile(config, []byte("<<<<<<< HEAD\na: 1\n=======\n"), 0o600)
		},
		"empty":       func(_ *host, config string) error { return os.WriteFile(config, nil, 0o600) },
		"a number":    func(_ *host, config string) error { return os.WriteFile(config, []byte("turn_order: 7\n"), 0o600) },
		"a directory": func(_ *host, config string) error { return errors.Join(os.Remove(config), os.Mkdir(config, 0o700)) },
		"a FIFO": func(_ *host, config string) error {
			return errors.Join(os.Remove(config), syscall.Mkfifo(config, 0o600))
		},
		"no way there": func(_ *host, config string) error { return os.Chmod(filepath.Dir(config), 0) },
		"newer version": func(h *host, _ string) error {
			return os.WriteFile(filepath.Join(h.Root, ".substrate", "config.yaml"), []byte("version: 99\n"), 0o600)
		},
		"no space": func(h *host, _ string) error { return os.RemoveAll(filepath.Join(h.Root, ".substrate")) },
	} {
		if what == "no way there" && os.Geteuid() == 0 {
			continue // the next test shows what permissions come to, also for root
		}
		h := serve(t)
		if err := spoil(h, filepath.Join(h.Root, ".substrate", "threads", "design", "config.yaml")); err != nil {
			t.Fatal(err)
		}
		for where, a := range h.everything() {
			if e := a.error(t); a.status != 500 && a.status != 404 || strings.Contains(e.Message, "config") {
				t.Errorf("%s, %s: %d %s: %s", what, where, a.status, e.Code, e.Message)
			}
		}
		h.ask("GET", "/v1/rooms", "dan", nil)
		h.ask("GET", "/v1", "dan", nil)
		if said := h.odd.String(); !strings.Contains(said, h.Root) {
			t.Errorf("%s: the host was not told where: %s", what, said)
		}
	}
}

// failing is a store that does not get at its files.
type failing struct {
	store.Store
	err    func() error // a new one each time, since rules add to it
	middle bool         // it fails behind the first entries of a room
}

func (f failing) Head(ctx context.Context, key store.Key) (store.Head, error) {
	if f.middle {
		return f.Store.Head(ctx, key)
	}
	return store.Head{}, f.err()
}

func (f failing) Read(ctx context.Context, key store.Key, part store.Part) (store.View, error) {
	v, err := f.Store.Read(ctx, key, part)
	all := v.Entries
	v.Entries = func(yield func(transcript.Entry, error) bool) {
		for e, err := range all {
			if err == nil && !yield(e, nil) {
				return
			}
		}
		yield(transcript.Entry{}, f.err())
	}
	return v, err
}

func TestWhateverAStoreFailsWithTellsNoPath(t *testing.T) {
	for what, make := range map[string]func(path string) error{
		"permission": func(path string) error { return &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission} },
		"read-only":  func(path string) error { return &fs.PathError{Op: "open", Path: path, Err: syscall.EROFS} },
		"full":       func(path string) error { return &fs.PathError{Op: "write", Path: path, Err: syscall.ENOSPC} },
		"rename": func(path string) error {
			return &os.LinkError{Op: "rename", Old: path, New: "x", Err: fs.ErrPermission}
		},
		"too long":  func(path string) error { return fault.New(fault.BadInput, "path too long: %q", path) },
		"in a hint": func(path string) error { return fault.New(fault.Stale, "stale").WithHint("look at %s", path) },
		"corrupt":   func(path string) error { return fault.New(fault.Corrupt, "%s:3: what is this", path) },
	} {
		h := serve(t, func(c *gateway.Config) {
			c.Rooms.Store = failing{Store: c.Rooms.Store, err: func() error { return make(filepath.Join(c.Space, ".substrate")) }}
		})
		for where, a := range h.everything() {
			if a.status != 500 {
				t.Errorf("%s, %s: %d %s", what, where, a.status, a.body)
			}
		}
		if what != "in a hint" && !strings.Contains(h.odd.String(), h.Root) {
			t.Errorf("%s: the host was not told where: %s", what, h.odd)
		}
	}
}

// TestWhatIsNotWholeSaysSo breaks off in the middle of what is sent piece by piece.
func TestWhatIsNotWholeSaysSo(t *testing.T) {
	h := serve(t, func(c *gateway.Config) {
		gone := func() error { return fault.New(fault.Corrupt, "%s is gone", c.Space) }
		c.Rooms.Store = failing{Store: c.Rooms.Store, err: gone, middle: true}
	})
	h.Posted("design", "dan", "short")
	a := h.ask("GET", entries, "dan", nil)
	if got := strings.Join(kinds(t, a), " "); got != "snapshot entry error" || strings.Contains(a.body, "gone") {
		t.Errorf("entries: %s", a.body)
	}
	for _, path := range []string{"/transcript", "/manifest"} {
		h.refused(path, h.ask("GET", "/v1/rooms/design"+path, "dan", nil), 500, fault.Corrupt)
	}
	h.Posted("design", "ann", strings.Repeat("x", 1<<20))
	if a, err := h.try("GET", "/v1/rooms/design/transcript", "dan", nil); err == nil {
		t.Errorf("the text of %d bytes seems whole", len(a.body))
	}
	if a := h.ask("GET", "/metrics", "dan", nil); !strings.Contains(a.body, "substrate_requests_open 1\n") {
		t.Errorf("what was broken off is still open: %s", a.body)
	}
	if !strings.Contains(h.log.String(), `"path":"/v1/rooms/design/transcript","status":200`) {
		t.Errorf("what was broken off is not in the log: %s", h.log)
	}
}

func TestABusyRoomIsAskedForAgain(t *testing.T) {
	h := serve(t, func(c *gateway.Config) { c.Rooms.Store = &files.Store{Wait: -1} })
	h.Posted("design", "dan", "x")
	locks, err := filepath.Glob(filepath.Join(h.Root, ".substrate", "threads", "design", ".*lock*"))
	if err != nil || len(locks) == 0 {
		locks, err = filepath.Glob(filepath.Join(h.Root, ".substrate", "*lock*"))
	}
	if err != nil || len(locks) == 0 {
		t.Fatal("where is the lock?", err)
	}
	unlock, err := disk.Lock(t.Context(), locks[0], time.Second)
	if err != nil {
		t.Fatal(err)
	}
	e := h.refused("post", h.ask("POST", entries, "ann", posting("y", 1)), 503, fault.Busy)
	if strings.Contains(e.Message, "lock") || e.Thread != "design" {
		t.Errorf("got %+v", e)
	}
	ask := act("end", 1)
	h.refused("moderate", h.ask("POST", "/v1/rooms/design/moderate", "dan", ask, "Idempotency-Key", "k"), 503, fault.Busy)
	for _, path := range []string{"", "/entries", "/transcript", "/manifest"} {
		if a := h.ask("GET", "/v1/rooms/design"+path, "ann", nil); a.status != 200 {
			t.Errorf("reading %s while it is busy: %d %s", path, a.status, a.body)
		}
	}
	unlock()
	if a := h.ask("POST", "/v1/rooms/design/moderate", "dan", ask, "Idempotency-Key", "k"); a.status != 200 {
		t.Errorf("trouble of the host's was kept as an outcome: %d %s", a.status, a.body)
	}
}

// TestTheHostIsNotToldOfWhoWentAway: a closed connection is nothing to look at.
func TestTheHostIsNotToldOfWhoWentAway(t *testing.T) {
	h := serve(t)
	h.Public(context.Canceled)
	if said := h.odd.String(); said != "" {
		t.Errorf("told %q", said)
	}
	if f := h.Public(errBroken); f.Code != fault.IO || !strings.Contains(h.odd.String(), "broken") {
		t.Errorf("%v, told %q", f, h.odd)
	}
}
