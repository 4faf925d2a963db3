package files

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/index"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/yamldoc"
)

// snapshot is a room at one moment.
type snapshot struct {
	index  *index.Index
	config []byte
	doc    *yamldoc.Doc
	state  floor.State
	damage error // why doc and state are not known
}

// patience is how long a reader tries for a moment at which nobody was just
// changing the room, once it has listed it.
const patience = 5 * time.Second

// look takes a snapshot without a lock. Whatever changes a room's entries or its
// config changes the print of its directory: what was read between two equal
// prints belongs together. A post that has been announced but is not complete
// shows as recovery would leave it, which writes nothing.
func (r room) look(ctx context.Context) (*snapshot, error) {
	x, err := index.Open(r.dir, r.cache, r.inFlight)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(patience); ; {
		s := &snapshot{index: x}
		s.damage = s.readState(r)
		if x.Current() || errors.Is(s.damage, fs.ErrNotExist) {
			return s, nil
		}
		err := ctx.Err()
		if err == nil && time.Now().After(end) {
			err = fault.New(fault.Busy, "room changes faster than it can be read: %q", r.Room).In(r.Room)
		}
		if err == nil {
			err = x.Again(r.cache, r.inFlight)
		}
		if err != nil {
			x.Close()
			return nil, err
		}
	}
}

// inFlight reports whether a post has been announced that is not complete.
func (r room) inFlight() bool { return disk.Exists(r.pointer()) }

func (s *snapshot) readState(r room) error {
	pending, err := r.pending()
	if err != nil {
		pending = nil
	}
	if s.config, err = read(r.config); err != nil {
		return err
	}
	// A record that nothing can be done about stops writers, not readers.
	if v, in, err := r.judge(pending, s.config); err == nil && v == advance {
		s.config = []byte(in.Config)
	}
	s.doc, s.state, err = parseState(r.config, s.config)
	return err
}

// head returns what a change is decided on.
func (s *snapshot) head() (store.Head, error) {
	h := store.Head{Exists: true, Version: s.index.Len(), State: s.state}
	if h.Version > 0 {
		last, err := s.index.At(h.Version - 1)
		if err != nil {
			return h, err
		}
		h.Last = last.Name
	}
	return h, nil
}
