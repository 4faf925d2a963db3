package room

import (
	"context"
	"io"

	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// WriteManifest writes the manifest of a room as it is now.
func (r Rooms) WriteManifest(ctx context.Context, w io.Writer, key store.Key) error {
	view, err := r.Store.Read(ctx, key, store.Part{})
	if err != nil {
		return within(key, err)
	}
	// The totals stand before the entries, and an entry that was edited by hand
	// is noticed only when it is come to: so all are looked at first.
	s := transcript.Summary{Thread: key.Room, ThreadVersion: view.Head.Version}
	var all []transcript.Entry
	for e, err := range view.Entries {
		if err != nil {
			return within(key, err)
		}
		all = append(all, e)
		s.TotalLines = e.EndLine()
	}
	s.VisibleEntries = len(all)
	s.NoOpEntries = s.ThreadVersion - s.VisibleEntries
	return transcript.WriteManifest(w, s, all)
}
