package room

import (
	"context"
	"io"
	"iter"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// WriteManifest writes the manifest of a room as it is now. The totals stand before
// the entries, and an entry that was edited by hand is noticed only when it is come
// to. So the room is gone through twice, and none of it is held.
//
// It fails with the code busy when an entry was edited meanwhile; what was written
// by then is of no use.
func (r Rooms) WriteManifest(ctx context.Context, w io.Writer, key store.Key) error {
	view, err := r.Store.Read(ctx, key, store.Part{})
	if err != nil {
		return within(key, err)
	}
	s := transcript.Summary{Thread: key.Room, ThreadVersion: view.Head.Version}
	last := ""
	for e, err := range view.Entries {
		if err != nil {
			return within(key, err)
		}
		last, s.TotalLines = e.Name, e.EndLine()
		s.VisibleEntries++
	}
	s.NoOpEntries = s.ThreadVersion - s.VisibleEntries
	return transcript.WriteManifest(w, s, r.again(ctx, key, last, s))
}

// again yields the entries that s was made of, which ended with the one named last.
func (r Rooms) again(ctx context.Context, key store.Key, last string, s transcript.Summary) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		if last == "" {
			return
		}
		view, err := r.Store.Read(ctx, key, store.Part{Through: last})
		if err != nil {
			yield(transcript.Entry{}, within(key, err))
			return
		}
		n, lines := 0, 0
		for e, err := range view.Entries {
			if err != nil {
				yield(e, within(key, err))
				return
			}
			if !yield(e, nil) {
				return
			}
			n, lines = n+1, e.EndLine()
		}
		if n != s.VisibleEntries || lines != s.TotalLines {
			yield(transcript.Entry{}, fault.New(fault.Busy, "an entry was edited or deleted while the manifest was written").In(key.Room))
		}
	}
}
