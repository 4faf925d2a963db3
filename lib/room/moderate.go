package room

import (
	"context"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
)

// Act is what a moderator does: it makes one state of another, or refuses. known
// is the test of whether somebody is registered in the space.
type Act func(s floor.State, actor string, known func(string) error) (floor.State, error)

// Hand gives the floor to somebody.
func Hand(to string) Act {
	return func(s floor.State, actor string, _ func(string) error) (floor.State, error) {
		return s.HandTo(actor, to)
	}
}

// Quiet makes the floor pass over somebody for so many turns.
func Quiet(who string, turns int) Act {
	return func(s floor.State, actor string, _ func(string) error) (floor.State, error) {
		return s.Quiet(actor, who, turns)
	}
}

// Order replaces the turn order.
func Order(order []string) Act {
	return func(s floor.State, actor string, known func(string) error) (floor.State, error) {
		return s.Reorder(actor, order, known)
	}
}

// Topic replaces the topic.
func Topic(topic string) Act {
	return func(s floor.State, actor string, _ func(string) error) (floor.State, error) {
		return s.Retitle(actor, topic)
	}
}

// End closes a room.
func End(s floor.State, actor string, _ func(string) error) (floor.State, error) {
	return s.End(actor)
}

// Resume opens an ended room again.
func Resume(s floor.State, actor string, _ func(string) error) (floor.State, error) {
	return s.Resume(actor)
}

func invite(who string) Act {
	return func(s floor.State, actor string, _ func(string) error) (floor.State, error) {
		return s.Invite(actor, who)
	}
}

// Moderate applies an act to a room and returns its record.
func (r Rooms) Moderate(ctx context.Context, key store.Key, actor string, act Act) (record.Room, error) {
	return r.ModerateAt(ctx, key, actor, nil, act)
}

// ModerateAt is Moderate for a moderator who has seen the room at a version; it
// refuses with stale when that is not its version now. nil means any.
func (r Rooms) ModerateAt(
	ctx context.Context, key store.Key, actor string, version *int, act Act,
) (record.Room, error) {
	head, err := r.Store.Update(ctx, key, func(h store.Head) (store.Change, error) {
		if !h.Exists {
			return store.Change{}, store.ErrNoRoom
		}
		if version != nil && *version != h.Version {
			return store.Change{}, at(stale(*version, h.Version), h)
		}
		members, err := h.Members()
		if err != nil {
			return store.Change{}, err
		}
		state, err := act(h.State, actor, registered(members))
		if err != nil {
			return store.Change{}, at(err, h)
		}
		return store.Change{State: state}, nil
	})
	if err != nil {
		return record.Room{}, within(key, err)
	}
	return r.Record(key, head), nil
}

// Invite appends somebody to a room's order, and registers him as an agent when
// the space does not know him.
func (r Rooms) Invite(ctx context.Context, key store.Key, actor, who string) (record.Room, error) {
	return r.InviteAt(ctx, key, actor, nil, who)
}

// InviteAt is to Invite as ModerateAt is to Moderate.
func (r Rooms) InviteAt(ctx context.Context, key store.Key, actor string, version *int, who string) (record.Room, error) {
	head, err := r.Store.Head(ctx, key)
	if err != nil {
		return record.Room{}, within(key, err)
	}
	// Asked first, so that a refusal registers nobody.
	if _, err := head.State.Invite(actor, who); err != nil {
		return record.Room{}, within(key, at(err, head))
	}
	if version != nil && *version != head.Version {
		return record.Room{}, within(key, at(stale(*version, head.Version), head))
	}
	err = r.Known(ctx, key.Space, who)
	if fault.Is(err, fault.UnknownParticipant) {
		_, err = r.Store.Register(ctx, key.Space, []store.Member{{Name: who, Kind: "agent"}})
	}
	if err != nil {
		return record.Room{}, within(key, err)
	}
	return r.ModerateAt(ctx, key, actor, version, invite(who))
}
