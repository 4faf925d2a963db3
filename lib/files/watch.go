package files

import (
	"context"
	"iter"
	"path/filepath"
	"slices"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/wake"
)

// events returns what the store's watches are woken by.
func (s *Store) events() *wake.Hub {
	s.once.Do(func() {
		if s.Events == nil {
			s.Events = wake.NewHub(0)
		}
	})
	return s.Events
}

// Watch yields a room that may have changed.
func (s *Store) Watch(ctx context.Context, key store.Key) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		if key.Room == "" {
			s.watchSpace(ctx, key.Space, yield)
			return
		}
		r, err := open(key)
		if err != nil {
			yield(key, err)
			return
		}
		w := s.events().Watch(r.dir)
		// The kernel takes some ten milliseconds to let the last watch go, which
		// nobody has to wait for.
		defer func() { go w.Close() }()
		for err == nil && yield(key, nil) {
			_, _, err = w.Next(ctx)
		}
		if err != nil {
			yield(key, err)
		}
	}
}

// spaceWatch watches every room of a space, and for rooms to come.
type spaceWatch struct {
	root string
	w    *wake.Watch
	seen map[string][2]disk.Print // by room: its directory's, its config's
}

func (s *Store) watchSpace(ctx context.Context, root string, yield func(store.Key, error) bool) {
	if err := checkSpace(root); err != nil {
		yield(store.Key{Space: root}, err)
		return
	}
	sw := &spaceWatch{root: root, w: s.events().Watch(threads(root)), seen: map[string][2]disk.Print{}}
	defer sw.w.Close()
	sw.rooms()
	more := yield(store.Key{Space: root}, nil)
	for more {
		dirs, scan, err := sw.w.Next(ctx)
		if err != nil {
			yield(store.Key{Space: root}, err)
			return
		}
		for room := range sw.changed(dirs, scan) {
			more = more && yield(store.Key{Space: root, Room: room}, nil)
		}
	}
}

// changed returns the rooms to look at again.
func (sw *spaceWatch) changed(dirs []string, scan bool) map[string]bool {
	again := map[string]bool{}
	if scan || slices.Contains(dirs, threads(sw.root)) {
		for _, room := range sw.rooms() {
			again[room] = true
		}
	}
	if scan {
		return again // all of them were looked at
	}
	for _, dir := range dirs {
		if room, ok := name.FromComponent(filepath.Base(dir)); ok && dir != threads(sw.root) {
			again[room] = true
		}
	}
	return again
}

// rooms watches every room there is now, and returns those that are new or whose
// prints have changed: two looks a room, and no reading.
func (sw *spaceWatch) rooms() (changed []string) {
	names, _ := rooms(sw.root) // a directory that cannot be read now may be later
	there := map[string]bool{}
	for _, room := range names {
		r := roomAt(store.Key{Space: sw.root, Room: room})
		now := [2]disk.Print{disk.PrintAt(r.dir), disk.PrintAt(r.config)}
		before, known := sw.seen[room]
		if !known {
			sw.w.Add(r.dir)
		}
		if !known || now != before || now[0] == (disk.Print{}) {
			changed = append(changed, room)
		}
		sw.seen[room], there[room] = now, true
	}
	for room := range sw.seen {
		if !there[room] {
			sw.w.Remove(roomAt(store.Key{Space: sw.root, Room: room}).dir)
			delete(sw.seen, room)
			changed = append(changed, room)
		}
	}
	return changed
}
