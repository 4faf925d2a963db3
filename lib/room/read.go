package room

import (
	"context"
	"iter"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// Reading is a part of a room, fetched while it is ranged over.
type Reading struct {
	store.View
	key   store.Key
	first int // the transcript line it begins with, which may be inside an entry
	limit int
	seen  record.Window
}

// Read takes a snapshot of a room. limit is how many bytes of transcript text to
// return at most, in whole entries from the first on; 0 means all. Windows do not
// mix.
func (r Rooms) Read(ctx context.Context, key store.Key, part store.Part, limit int) (*Reading, error) {
	windows := 0
	for _, given := range []bool{part.FromLine > 0, part.LastLines > 0, part.Last > 0, part.From+part.Through != ""} {
		if given {
			windows++
		}
	}
	if windows > 1 {
		return nil, fault.New(fault.Usage, "two windows that do not mix").
			WithHint("name the last entries, the last lines, a line or entries")
	}
	part.Bodies = true
	view, err := r.Store.Read(ctx, key, part)
	if err != nil {
		return nil, within(key, err)
	}
	rd := &Reading{View: view, key: key, first: part.FromLine, limit: limit}
	if part.LastLines > 0 {
		rd.first = view.Lines - part.LastLines + 1
	}
	return rd, nil
}

// First returns the transcript line that the text of a line window begins with.
func (rd *Reading) First() int { return rd.first }

// Entries yields the entries in order, as many as the limit lets through.
func (rd *Reading) Entries() iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		w := record.Window{Type: "window", Thread: rd.key.Room, Version: rd.Head.Version, TotalLines: rd.Lines}
		for e, err := range rd.View.Entries {
			if err != nil {
				yield(e, within(rd.key, err))
				return
			}
			bytes := len(transcript.From(e, rd.first))
			if rd.limit > 0 && w.Bytes+bytes > rd.limit {
				if w.NextEntry = e.Name; w.Entries == 0 {
					yield(e, within(rd.key, oversized(e.Name, bytes, rd.limit)))
					return
				}
				break
			}
			if w.Entries == 0 {
				w.FromEntry, w.StartLine = e.Name, max(e.StartLine, rd.first)
			}
			w.ThroughEntry, w.EndLine = e.Name, e.EndLine()
			w.TotalLines = max(w.TotalLines, w.EndLine) // by hand, it may have grown
			w.Entries++
			w.Bytes += bytes
			if !yield(e, nil) {
				return
			}
		}
		rd.seen = w
	}
}

// oversized is the refusal to return nothing for ever to who goes on reading.
func oversized(entry string, bytes, limit int) error {
	return fault.New(fault.TooLarge, "entry alone has %d bytes, more than %d: %q", bytes, limit, entry).
		WithHint("read it with a larger bound, or without one")
}

// Window says what was read, once the entries were ranged over to the end.
func (rd *Reading) Window() record.Window { return rd.seen }

// List yields the rooms of a space that are named, or all of them. An error is
// about one room, and the others go on; a directory that turns out to be no room
// is only an error when it was named.
func (r Rooms) List(ctx context.Context, space string, names []string) iter.Seq2[record.Room, error] {
	return func(yield func(record.Room, error) bool) {
		keys := r.Store.List(ctx, space)
		if len(names) > 0 {
			keys = named(space, names)
		}
		for found := range ahead(keys, func(key store.Key) (record.Room, error) { return r.Head(ctx, key) }) {
			if len(names) == 0 && fault.Is(found.err, fault.UnknownThread) {
				continue
			}
			if !yield(found.room, found.err) {
				return
			}
		}
	}
}

// Turn reports whether a room has a floor that somebody holds ("": anybody), and
// has held for so long.
func Turn(k record.RoomKeys, who string, held time.Duration) bool {
	if k.Status == "ended" || who != "" && k.Current != who {
		return false
	}
	since, err := time.Parse(time.RFC3339, k.FloorSince)
	return held == 0 || err == nil && time.Since(since) >= held
}

func named(space string, names []string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		for _, name := range names {
			if !yield(store.Key{Space: space, Room: name}, nil) {
				return
			}
		}
	}
}

type found struct {
	room record.Room
	err  error
}

// ahead looks at several rooms at a time and yields them in order.
func ahead(keys iter.Seq2[store.Key, error], head func(store.Key) (record.Room, error)) iter.Seq[found] {
	return func(yield func(found) bool) {
		var queue []chan found
		for key, err := range keys {
			next := make(chan found, 1)
			if queue = append(queue, next); err != nil {
				next <- found{err: err}
			} else {
				go func() {
					room, err := head(key)
					next <- found{room, err}
				}()
			}
			if len(queue) < 8 {
				continue
			}
			if !yield(<-queue[0]) {
				return
			}
			queue = queue[1:]
		}
		for _, next := range queue {
			if !yield(<-next) {
				return
			}
		}
	}
}

// Entry returns an entry's record.
func Entry(key store.Key, e transcript.Entry) record.Entry {
	return record.Entry{
		Type:      "entry",
		Thread:    key.Room,
		Entry:     e.Name,
		Author:    e.Author,
		Time:      stamp.Record(e.Time),
		StartLine: e.StartLine,
		EndLine:   e.EndLine(),
		Bytes:     e.Bytes,
		SHA256:    e.SHA256,
		Body:      e.Body,
	}
}
