package room_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// counted is a store that counts what it yields, and does something at some point.
type counted struct {
	store.Store
	reads, yielded int
	at             func(reads, yielded int)
}

func (c *counted) Read(ctx context.Context, key store.Key, part store.Part) (store.View, error) {
	v, err := c.Store.Read(ctx, key, part)
	c.reads++
	reads, entries := c.reads, v.Entries
	v.Entries = func(yield func(transcript.Entry, error) bool) { c.count(entries, reads, yield) }
	return v, err
}

func (c *counted) count(entries iter.Seq2[transcript.Entry, error], reads int, yield func(transcript.Entry, error) bool) {
	for e, err := range entries {
		c.yielded++
		if c.at != nil {
			c.at(reads, c.yielded)
		}
		if !yield(e, err) {
			return
		}
	}
}

// long returns a room of many entries.
func long(t *testing.T, entries int) (room.Rooms, store.Key, string) {
	t.Helper()
	r, key := open(t)
	for i := range entries {
		who := []string{"dan", "ann", "bob"}[i%3]
		if _, err := r.Post(t.Context(), key, room.Draft{As: who, Body: fmt.Sprint("entry ", i)}); err != nil {
			t.Fatal(err)
		}
	}
	return r, key, filepath.Join(key.Space, files.Dir, "threads", key.Room)
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

// TestManifestIsNotHeld: what cannot be written any more is not gone on with.
func TestManifestIsNotHeld(t *testing.T) {
	const entries = 200
	r, key, _ := long(t, entries)
	c := &counted{Store: r.Store}
	r.Store = c
	if err := r.WriteManifest(t.Context(), full{}, key); !errors.Is(err, errFull) || c.yielded < entries || c.yielded > entries*3/2 {
		t.Errorf("%v after %d entries of twice %d", err, c.yielded, entries)
	}
}

// TestManifestOfAnEditedRoom edits the room between the two times that it is gone
// through, and while it is.
func TestManifestOfAnEditedRoom(t *testing.T) {
	r, key, dir := long(t, 40)
	names, err := filepath.Glob(filepath.Join(dir, "2*.md"))
	if err != nil || len(names) != 40 {
		t.Fatal(names, err)
	}
	var want bytes.Buffer
	if err := r.WriteManifest(t.Context(), &want, key); err != nil {
		t.Fatal(err)
	}
	c := &counted{Store: r.Store}
	r.Store = c
	post := func(_, yielded int) {
		if yielded == 40 {
			if _, err := r.Post(t.Context(), key, room.Draft{As: "ann", Body: "meanwhile"}); err != nil {
				t.Error(err)
			}
		}
	}
	c.at = post
	var got bytes.Buffer
	if err := r.WriteManifest(t.Context(), &got, key); err != nil || got.String() != want.String() {
		t.Errorf("with a post meanwhile: %v\n%s", err, got.String())
	}
	c.yielded, c.at = 0, func(_, yielded int) {
		if yielded == 41 {
			data, err := os.ReadFile(names[3])
			if err == nil {
				err = os.WriteFile(names[3], append(data, "more\nand more\n"...), 0o666)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	got.Reset()
	if err := r.WriteManifest(t.Context(), &got, key); !fault.Is(err, fault.Busy) {
		t.Errorf("edited meanwhile: %v", err)
	}
	c.at = nil
	got.Reset()
	if err := r.WriteManifest(t.Context(), &got, key); err != nil || !strings.Contains(got.String(), `"visible_entries":41`) {
		t.Errorf("%v\n%s", err, got.String())
	}
}
