// Package room holds the operations that every door uses, over a store: post,
// moderate, open, read. The actor and every precondition are checked inside the
// operation, on the head that the change is made on.
package room

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
	"github.com/substrate-tools/substrate/lib/store"
)

// Rooms are the rooms of a store.
type Rooms struct {
	Store   store.Store
	Now     func() time.Time          // the one clock; nil means time.Now
	MaxBody int                       // bytes; 0 means DefaultMaxBody
	Label   func(space string) string // what this machine calls a space; nil means ""
}

// DefaultMaxBody is the longest body that is accepted, in bytes.
const DefaultMaxBody = 8 << 20

func (r Rooms) now() time.Time {
	if r.Now == nil {
		return time.Now()
	}
	return r.Now()
}

// Keys returns the room keys of a room's records.
func (r Rooms) Keys(key store.Key, h store.Head) record.RoomKeys {
	s := h.State
	k := record.RoomKeys{
		Root:      key.Space,
		Thread:    key.Room,
		Topic:     s.Topic,
		Status:    "active",
		Moderator: s.Moderator,
		Current:   s.Current(),
		Paused:    s.Paused(),
		TurnOrder: s.Order,
		Quieted:   s.Quieted,
		Version:   h.Version,
		CreatedAt: created(s),
	}
	if r.Label != nil {
		k.Label = r.Label(key.Space)
	}
	if s.Ended {
		k.Status = "ended"
	}
	if k.FloorSince = k.CreatedAt; h.Last != "" {
		k.FloorSince = stamp.Record(h.LastTime())
	}
	return k
}

// created returns created_at in the form of records; one that is no time is
// returned as it was written.
func created(s floor.State) string {
	t, err := time.Parse(time.RFC3339Nano, s.Created)
	if err != nil {
		return s.Created
	}
	return stamp.Record(t)
}

// Record returns the room record of a head.
func (r Rooms) Record(key store.Key, h store.Head) record.Room {
	return record.Room{Type: "room", RoomKeys: r.Keys(key, h)}
}

// Head returns a room's record.
func (r Rooms) Head(ctx context.Context, key store.Key) (record.Room, error) {
	h, err := r.Store.Head(ctx, key)
	if err != nil {
		return record.Room{}, within(key, err)
	}
	return r.Record(key, h), nil
}

// Opening is what a new room is made from.
type Opening struct {
	Topic     string
	Moderator string
	Order     []string
}

// Open creates a room. It refuses with exists when it is there already, and
// whoever is not registered with unknown_participant.
func (r Rooms) Open(ctx context.Context, key store.Key, o Opening) (record.Room, error) {
	if err := name.Check("room", key.Room); err != nil {
		return record.Room{}, err
	}
	if name.Reserved(key.Room) {
		return record.Room{}, fault.New(fault.InvalidName, "reserved name: %q is a device on Windows", key.Room).
			WithHint("choose another name for the room")
	}
	head, err := r.Store.Update(ctx, key, func(h store.Head) (store.Change, error) {
		if h.Exists {
			return store.Change{}, fault.New(fault.Exists, "room exists: %q", key.Room)
		}
		members, err := h.Members()
		if err != nil {
			return store.Change{}, err
		}
		s, err := floor.Open(o.Topic, stamp.Record(r.now()), o.Moderator, o.Order, registered(members))
		return store.Change{State: s}, err
	})
	if err != nil {
		return record.Room{}, within(key, err)
	}
	return r.Record(key, head), nil
}

// registered returns the test of whether somebody is a member of a space.
func registered(members []store.Member) func(string) error {
	return func(who string) error {
		if slices.ContainsFunc(members, func(m store.Member) bool { return m.Name == who }) {
			return nil
		}
		return stranger(who, members)
	}
}

// stranger is the refusal of a name that a space does not know.
func stranger(who string, members []store.Member) error {
	if err := name.Check("participant", who); err != nil {
		return err
	}
	err := fault.New(fault.UnknownParticipant, "not registered: %q", who)
	names := make([]string, len(members))
	for i, m := range members {
		names[i] = m.Name
	}
	if near := name.Near(who, names); len(near) > 0 {
		return err.WithHint("did you mean %s?", strings.Join(near, ", "))
	}
	return err.WithHint("register with substrate-join %s --kind agent, or human, or other", who)
}

// Known refuses, with unknown_participant, somebody a space does not know.
func (r Rooms) Known(ctx context.Context, space, who string) error {
	members, err := r.Store.Members(ctx, space)
	if err != nil {
		return err
	}
	return registered(members)(who)
}

// within says in which room a refusal of the rules happened.
func within(key store.Key, err error) error {
	f := fault.From(err)
	if f.Thread != "" || key.Room == "" {
		return f
	}
	f.Thread = key.Room
	switch f.Code {
	case fault.NotYourTurn, fault.Ended, fault.NotEnded, fault.NotInThread, fault.NotModerator, fault.Stale:
		f.Message += fmt.Sprintf(" in %q", key.Room)
	}
	return f
}
