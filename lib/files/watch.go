package files

import (
	"context"
	"iter"
	"path/filepath"

	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/wake"
)

// events returns what all watches of the store share.
func (s *Store) events() *wake.Hub {
	s.once.Do(func() { s.hub = wake.NewHub(s.Scan) })
	return s.hub
}

// Notice says why watches only scan, "" while they are woken.
func (s *Store) Notice() string { return s.events().Notice() }

// Watch yields a room whose directory may have changed.
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
		defer w.Close()
		for err == nil && yield(key, nil) {
			_, _, err = w.Next(ctx)
		}
		if err != nil {
			yield(key, err)
		}
	}
}

// watchSpace watches every room of a space, and for rooms to come.
func (s *Store) watchSpace(ctx context.Context, root string, yield func(store.Key, error) bool) {
	whole := store.Key{Space: root}
	if err := checkSpace(root); err != nil {
		yield(whole, err)
		return
	}
	top := threads(root)
	w := s.events().Watch(top)
	defer w.Close()
	changed, all := []string{top}, true
	for {
		for _, dir := range changed {
			if dir != top {
				continue
			}
			names, err := rooms(root)
			if err != nil && !yield(whole, err) {
				return
			}
			for _, room := range names {
				w.Add(roomAt(store.Key{Space: root, Room: room}).dir)
			}
			all = true
		}
		if all && !yield(whole, nil) {
			return
		}
		for _, dir := range changed {
			room, ok := name.FromComponent(filepath.Base(dir))
			if !all && ok && !yield(store.Key{Space: root, Room: room}, nil) {
				return
			}
		}
		var err error
		if changed, all, err = w.Next(ctx); err != nil {
			yield(whole, err)
			return
		}
	}
}
