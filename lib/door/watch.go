package door

import (
	"context"
	"iter"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/wake"
)

// Wake is a room to look at again, or, without a room, all of the door's.
type Wake struct {
	*Door
	Key   store.Key
	First bool  // how it was when the watch began
	Err   error // this room, or space, is no longer watched; others are
}

// Keys yields the rooms to look at.
func (w Wake) Keys(ctx context.Context) iter.Seq2[store.Key, error] {
	if w.Key.Room == "" {
		return w.Store.List(ctx, w.Root)
	}
	return func(yield func(store.Key, error) bool) { yield(w.Key, nil) }
}

// Watch yields what to look at again in the rooms of a query, and begins with
// everything, armed. With All, spaces that are registered later are watched from
// then on. scan is how often everything is looked at without being woken; 0 means
// the default. say is told, once each, why events are missing.
func (q Query) Watch(ctx context.Context, scan time.Duration, skip func(error), say func(string)) iter.Seq2[Wake, error] {
	return func(yield func(Wake, error) bool) {
		hub := wake.NewHub(scan)
		defer hub.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		m := &merged{q: q, ctx: ctx, hub: hub, woken: make(chan Wake), roots: map[string]bool{}}
		doors, err := q.doors(skip)
		if err == nil && q.For != "" {
			err = known(ctx, doors, q.For)
		}
		if err != nil {
			yield(Wake{}, err)
			return
		}
		m.add(doors, true)
		registered := m.registry()
		said := ""
		for {
			if notice := m.hub.Notice(); notice != said {
				if said = notice; notice != "" {
					say(notice)
				}
			}
			select {
			case w := <-m.woken:
				if !yield(w, nil) {
					return
				}
			case <-registered:
				if doors, err := q.doors(func(error) {}); err == nil {
					m.add(doors, false)
				}
			case <-ctx.Done():
				m.following.Wait()
				if lost := m.lost.Load(); lost != nil {
					yield(Wake{}, *lost)
				}
				return
			}
		}
	}
}

// merged is the watches of a query, all woken by one hub.
type merged struct {
	q     Query
	ctx   context.Context
	hub   *wake.Hub
	woken chan Wake
	roots map[string]bool

	following sync.WaitGroup
	lost      atomic.Pointer[error] // when the time was over, another machine could not be reached
}

// add watches the spaces that are not watched yet. first says that the watch
// begins with them.
func (m *merged) add(doors []*Door, first bool) {
	for _, d := range doors {
		// Two worktrees may share one store by a link: it is one all the same.
		kept := d.Root
		if !elsewhere(kept) {
			var err error
			if kept, err = filepath.EvalSymlinks(filepath.Join(d.Root, files.Dir)); err != nil {
				continue
			}
		}
		if m.roots[kept] {
			continue
		}
		m.roots[kept] = true
		d.WokenBy(m.hub, files.DefaultWait)
		keys := []store.Key{d.Key("")}
		if len(m.q.Rooms) > 0 {
			keys = nil
		}
		for _, room := range m.q.Rooms {
			keys = append(keys, d.Key(room))
		}
		for _, key := range keys {
			m.following.Go(func() { m.follow(d, key, first) })
		}
	}
}

func (m *merged) follow(d *Door, key store.Key, first bool) {
	for again, err := range d.Store.Watch(m.ctx, key) {
		if m.ctx.Err() != nil && fault.Is(err, fault.Unreachable) {
			m.lost.Store(&err)
		}
		select {
		case m.woken <- Wake{d, again, first, err}:
			first = false
		case <-m.ctx.Done():
			return
		}
	}
}

// registry returns a channel on which this machine's registry may have changed;
// one that never does unless all spaces are watched.
func (m *merged) registry() <-chan struct{} {
	changed := make(chan struct{})
	machine, err := home.Open()
	if !m.q.All || err != nil {
		return changed
	}
	w := m.hub.Watch(machine.Dir())
	go func() {
		defer w.Close()
		for {
			if _, _, err := w.Next(m.ctx); err != nil {
				return
			}
			select {
			case changed <- struct{}{}:
			case <-m.ctx.Done():
				return
			}
		}
	}()
	return changed
}

// Await returns the first of the rooms of a query whose floor comes to whom it is
// for, or is his already. A room that is named refuses as Rooms.Wait does.
func (q Query) Await(ctx context.Context, skip func(error), say func(string)) (record.Room, error) {
	var last record.Room
	if len(q.Rooms) == 1 && !q.All {
		d, err := Open(q.Space)
		if err != nil {
			return last, err
		}
		return d.Wait(ctx, d.Key(q.Rooms[0]), q.For)
	}
	f := room.Follower{For: q.For}
	for w, err := range q.Watch(ctx, 0, skip, say) {
		if err != nil {
			return last, err
		}
		for key, err := range w.Keys(ctx) {
			if err != nil {
				break // looked at again when it changes
			}
			floor, err := f.Look(ctx, w.Rooms, key, false)
			if err == nil && floor != nil && floor.Event == "floor" {
				return record.Room{Type: "room", RoomKeys: floor.RoomKeys}, nil
			}
		}
	}
	return last, room.TimedOut(ctx, last)
}
