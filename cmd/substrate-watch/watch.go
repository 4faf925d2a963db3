package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/attend"
	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/tool"
)

// watch prints what changes.
type watch struct {
	c        *tool.Call
	text     bool
	once     bool
	entries  bool
	since    string
	f        room.Follower
	notifier *attend.Notifier // nil without --exec
	inbox    *inbox           // nil without --inbox

	cursors map[store.Key]string // of --entries: the last entry that was printed
	printed int
}

// hand opens what lines are handed to besides, and returns a context for so long (below
// 0: for ever). With a command it ends with a signal, since that has to end as well.
func (w *watch) hand(agent, command string, timeout time.Duration) (context.Context, func(), error) {
	ctx, stop := context.Background(), func() {}
	if agent != "" {
		var err error
		if w.inbox, err = openInbox(agent); err != nil {
			return ctx, stop, err
		}
	}
	if command != "" {
		ctx, stop = tool.Interruptible()
		w.notifier = attend.NewNotifier(ctx, command, w.c.Chatter(), w.c.Fail)
	}
	if timeout < 0 {
		return ctx, stop, nil
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	return limited, func() { cancel(); stop() }, nil
}

// follow goes on until ctx ends, or with --once until something was printed.
func (w *watch) follow(ctx context.Context, q door.Query, scan time.Duration) error {
	w.cursors = map[store.Key]string{}
	if w.notifier != nil {
		defer w.notifier.Close()
	}
	for wake, err := range q.Watch(ctx, scan, w.c.Warn, func(s string) { w.c.Notice("%s", s) }) {
		if err != nil {
			return err
		}
		if wake.Err != nil {
			if len(q.Rooms) > 0 && ctx.Err() == nil {
				return wake.Err
			}
			continue
		}
		for key, err := range wake.Keys(ctx) {
			if err == nil {
				err = w.look(ctx, wake, key)
			}
			if err != nil {
				return err
			}
			if w.once && w.printed > 0 {
				return nil
			}
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && w.printed > 0 {
		return nil
	}
	return room.TimedOut(ctx, record.Room{})
}

// look prints what is new in a room. One that cannot be read just now, or is none,
// is looked at again when it changes; substrate-doctor says what is wrong with it.
func (w *watch) look(ctx context.Context, wake door.Wake, key store.Key) error {
	if w.entries {
		return w.tail(ctx, wake, key)
	}
	floor, err := w.f.Look(ctx, wake.Rooms, key, !wake.First)
	if err != nil || floor == nil {
		return nil
	}
	if w.inbox != nil {
		if err := w.inbox.drop(*floor, w.f.For); err != nil {
			w.c.Fail(err)
			w.f.Forget(key) // so that it is tried again with the next look
			return nil
		}
	}
	w.printed++
	if w.notifier != nil {
		w.notifier.Notify(*floor)
	}
	return w.c.Show(w.text, floor)
}

// tail prints the entries of a room that came after the last one it printed.
func (w *watch) tail(ctx context.Context, wake door.Wake, key store.Key) error {
	after, known := w.cursors[key]
	if !known {
		head, err := wake.Store.Head(ctx, key)
		if err != nil || w.f.For != "" && !slices.Contains(head.State.Order, w.f.For) {
			return nil
		}
		if after = w.since; wake.First && w.since == "" {
			after = head.Last
		}
	}
	view, err := wake.Entries(ctx, key, after)
	if err != nil {
		return nil
	}
	w.cursors[key] = after
	for e, err := range view.Entries {
		if err != nil {
			return nil
		}
		if err := w.c.Show(w.text, room.Entry(key, e)); err != nil {
			return err
		}
		w.cursors[key] = e.Name
		if w.printed++; w.once {
			return nil
		}
	}
	return nil
}
