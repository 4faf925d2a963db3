package room

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// Follower tells changes of rooms from wake-ups: it remembers how each room was,
// and reports a change once.
type Follower struct {
	For  string // only what concerns him; "" for everything
	seen map[store.Key]record.RoomKeys
}

// Look compares a room with how it was, and returns what happened: nothing, or
// one record. For somebody, that is the floor coming to him, which the first look
// at a room counts as if he has it, and the end of a room he takes turns in.
// Rooms that are gone or cannot be read are forgotten.
func (f *Follower) Look(ctx context.Context, r Rooms, key store.Key, begun bool) (*record.Floor, error) {
	if f.seen == nil {
		f.seen = map[store.Key]record.RoomKeys{}
	}
	head, err := r.Store.Head(ctx, key)
	if err != nil {
		delete(f.seen, key)
		return nil, within(key, err)
	}
	now := r.Keys(key, head)
	before, known := f.seen[key]
	f.seen[key] = now
	event := changed(before, now, known)
	if f.For != "" {
		event = f.concerns(event, before, now, known)
	} else if !known && !begun {
		event = "" // how it all was when the watch began
	}
	if event == "" {
		return nil, nil
	}
	return &record.Floor{Type: "floor", Event: event, RoomKeys: now}, nil
}

// Forget makes the next look at a room the first.
func (f *Follower) Forget(key store.Key) { delete(f.seen, key) }

// changed names what is different, "" when nothing is.
func changed(before, now record.RoomKeys, known bool) string {
	switch {
	case !known:
		return "floor"
	case now.Status != before.Status && now.Status == "ended":
		return "ended"
	case now.Status != before.Status:
		return "resumed"
	case now.Current != before.Current || now.Version != before.Version:
		return "floor"
	case now.Topic != before.Topic || now.Moderator != before.Moderator ||
		!slices.Equal(now.TurnOrder, before.TurnOrder) || !maps.Equal(now.Quieted, before.Quieted):
		return "changed"
	}
	return ""
}

// concerns returns the event if it brings somebody the floor or ends his room.
func (f *Follower) concerns(event string, before, now record.RoomKeys, known bool) string {
	switch {
	case event == "ended" && slices.Contains(now.TurnOrder, f.For):
		return event
	case now.Status == "ended" || now.Current != f.For:
		return ""
	case !known || before.Status == "ended" || before.Current != f.For || before.Version != now.Version:
		return "floor"
	}
	return ""
}

// Entries returns the entries of a room after a cursor, each once: the caller
// moves the cursor.
func (r Rooms) Entries(ctx context.Context, key store.Key, after string) (store.View, error) {
	view, err := r.Store.Read(ctx, key, store.Part{After: after, Bodies: true})
	if err != nil {
		return view, within(key, err)
	}
	return view, nil
}

// CheckCursor refuses what no entry could have for a name, since nothing would
// ever come after it.
func CheckCursor(entry string) error {
	if _, ok := transcript.ParseName(entry); !ok && entry != "" {
		return fault.New(fault.BadInput, "not the name of an entry: %q", entry)
	}
	return nil
}

// Wait blocks until somebody has the floor of a room and returns it then. It
// refuses at once whoever never gets it, with unknown_participant or
// not_in_thread, and a room that has ended, or ends, with ended. When ctx ends,
// the code is timeout, and the message says who holds the floor.
func (r Rooms) Wait(ctx context.Context, key store.Key, who string) (record.Room, error) {
	var last record.Room
	for _, err := range r.Store.Watch(ctx, key) {
		if ctx.Err() != nil && !fault.Is(err, fault.Unreachable) {
			return last, TimedOut(ctx, last)
		}
		if err != nil {
			return last, within(key, err)
		}
		head, err := r.Store.Head(ctx, key)
		if last.Thread != "" && (fault.Is(err, fault.Corrupt) || fault.Is(err, fault.Busy)) {
			continue // an editor is just saving, say; it is looked at again
		}
		if err != nil {
			return last, within(key, err)
		}
		if last = r.Record(key, head); last.Current == who && last.Status == "active" {
			return last, nil
		}
		if _, err := head.State.Post(who); !fault.Is(err, fault.NotYourTurn) {
			if err := r.Known(ctx, key.Space, who); err != nil {
				return last, within(key, err)
			}
			return last, within(key, at(err, head))
		}
	}
	return last, TimedOut(ctx, last)
}

// TimedOut is the error of a wait that ended with its context. room is what was
// seen last, if anything.
func TimedOut(ctx context.Context, room record.Room) error {
	if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	err := fault.New(fault.Timeout, "timed out")
	if room.Thread != "" {
		err.Message += fmt.Sprintf(": %q holds the floor in %q since %s", room.Current, room.Thread, room.FloorSince)
		err.In(room.Thread).At(room.Current, room.Version)
	}
	return err.WithHint("ask again")
}

// PostWithin is Post for an author who waits for his turn, for so long at most.
// Whatever else is refused is refused at once.
func (r Rooms) PostWithin(ctx context.Context, key store.Key, d Draft, wait time.Duration) (record.Posted, error) {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	for {
		posted, err := r.Post(ctx, key, d)
		if wait == 0 || !fault.Is(err, fault.NotYourTurn) {
			return posted, err
		}
		if _, err := r.Wait(limited, key, d.As); err != nil {
			return posted, err
		}
	}
}
