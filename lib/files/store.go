package files

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/index"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// view opens a room for reading. damage says what is wrong with the space, which
// leaves the entries readable; a space of another version is refused.
func (s *Store) view(ctx context.Context, key store.Key) (r room, snap *snapshot, err error) {
	if r, err = open(key); err != nil {
		return r, nil, err
	}
	space, damage := s.space(key.Space)
	if space.version > Version {
		return r, nil, damage
	}
	if snap, err = r.look(ctx); err != nil {
		return r, nil, err
	}
	if errors.Is(snap.damage, fs.ErrNotExist) {
		snap.index.Close()
		return r, nil, unknown(key, "no room, for want of a config.yaml")
	}
	if snap.damage == nil {
		snap.damage = damage
	}
	return r, snap, nil
}

// Head returns the newest head.
func (s *Store) Head(ctx context.Context, key store.Key) (store.Head, error) {
	_, snap, err := s.view(ctx, key)
	if err != nil {
		return store.Head{}, err
	}
	defer snap.index.Close()
	if snap.damage != nil {
		return store.Head{}, snap.damage
	}
	return snap.head()
}

// Update decides on a change under the room's lock and publishes it.
func (s *Store) Update(
	ctx context.Context, key store.Key, fn func(store.Head) (store.Change, error),
) (store.Head, error) {
	r, err := open(key)
	if fault.Is(err, fault.UnknownThread) && !disk.Exists(r.dir) {
		return s.create(ctx, key, err, fn)
	}
	if err != nil {
		return store.Head{}, err
	}
	if _, err := s.space(key.Space); err != nil {
		return store.Head{}, err
	}
	if !disk.Exists(r.config) { // before a lock file is left there
		return store.Head{}, unknown(key, "no room, for want of a config.yaml")
	}
	unlock, err := disk.Lock(ctx, r.lock, s.wait())
	if err != nil {
		return store.Head{}, err
	}
	defer unlock()
	snap, err := r.locked(key)
	if err != nil {
		return store.Head{}, err
	}
	defer snap.index.Close()
	head, err := snap.head()
	if err != nil {
		return head, err
	}
	head.Members = func() ([]store.Member, error) { return s.Members(ctx, key.Space) }
	head.Posted = func(author, id string) (store.Posted, bool, error) { return snap.posted(r, author, id) }
	change, err := fn(head)
	if err != nil {
		return head, err
	}
	return r.apply(snap, head, change)
}

// locked returns the room as the holder of its lock finds it, everything that was
// interrupted finished first.
func (r room) locked(key store.Key) (*snapshot, error) {
	if info, err := os.Lstat(r.tx); err == nil && !info.IsDir() {
		return nil, fault.New(fault.Corrupt, "not a directory: %q", r.tx).
			WithHint("a link is not followed: put the directory itself there")
	}
	config, err := read(r.config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, unknown(key, "no room, for want of a config.yaml")
	}
	if err == nil {
		config, err = r.recover(config)
	}
	if err != nil {
		return nil, err
	}
	snap := &snapshot{config: config}
	if snap.doc, snap.state, err = parseState(r.config, config); err != nil {
		return nil, err
	}
	snap.index, err = index.Open(r.dir, r.cache, func() bool { return false }) // we are the writer
	return snap, err
}

func (s *snapshot) posted(r room, author, id string) (store.Posted, bool, error) {
	i, ok, err := s.index.Posted(author, id, store.IDWindow)
	if err != nil || !ok {
		return store.Posted{}, false, err
	}
	e, err := s.index.At(i)
	return store.Posted{Entry: e.Name, Version: e.Version, State: r.afterwards(e.Name)}, true, err
}

// apply publishes a change and returns the head it made.
func (r room) apply(s *snapshot, head store.Head, c store.Change) (store.Head, error) {
	after, err := render(s.doc, s.state, c.State)
	if err != nil {
		return head, err
	}
	head.State, head.Members, head.Posted = c.State, nil, nil
	if c.Entry == nil {
		if bytes.Equal(after, s.config) {
			return head, nil
		}
		return head, r.moderate(s.index, after)
	}
	e, err := r.post(s.index, *c.Entry, s.config, after)
	if err != nil {
		return head, err
	}
	head.Last = e.Name
	head.Version++
	return head, nil
}

// Read takes a snapshot of a room and finds the part of it that is asked for.
func (s *Store) Read(ctx context.Context, key store.Key, part store.Part) (store.View, error) {
	var v store.View
	_, snap, err := s.view(ctx, key)
	if err != nil {
		return v, err
	}
	x := snap.index
	if v.Head, err = snap.head(); err != nil {
		return v, err
	}
	v.Damage, v.Lines, v.Visible = snap.damage, x.Lines(), x.Visible()
	from, to, err := locate(x, part)
	if err != nil {
		return v, err
	}
	with := index.Facts
	switch {
	case part.Files:
		with = index.File
	case part.Bodies:
		with = index.Body
	}
	entries := x.Entries(from, to, with)
	if !part.Passes {
		entries = visible(entries)
	}
	v.Entries = func(yield func(transcript.Entry, error) bool) {
		defer x.Close()
		entries(yield)
	}
	return v, nil
}
