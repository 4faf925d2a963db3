package notice

import (
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
)

const (
	// fullLook is how often all files are read, though nothing seems to have changed:
	// one that is edited in place, or on a server, does not show in its directory.
	fullLook = 15 * time.Second
	// settling is how long after a change of the directory another one may not show.
	settling = 50 * time.Millisecond
)

// Watch takes snapshots again and again, and reads the channels only when their
// directory has changed. It is for one goroutine.
type Watch struct {
	store Store
	last  Snapshot
	print disk.Print
	sure  bool
	at    time.Time
}

// Watch returns a watch over the store.
func (s Store) Watch() *Watch { return &Watch{store: s} }

// Snapshot returns all channels as they are, or as they were when it looked last and
// nothing has changed since. Changes that do not show in the directory are seen within
// 15 s.
func (w *Watch) Snapshot(now time.Time) (Snapshot, error) {
	print := disk.PrintAt(w.store.body.Path(body.NoticeDir))
	if since := now.Sub(w.at); w.sure && print == w.print && since >= 0 && since < fullLook {
		return w.last, nil
	}
	all, err := w.store.Snapshot()
	if err != nil {
		w.sure = false
		return all, err
	}
	w.last, w.print, w.at = all, print, now
	w.sure = disk.Tick()-max(print.Changed, print.Modified) > int64(settling)
	return all, nil
}
