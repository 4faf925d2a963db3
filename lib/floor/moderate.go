package floor

import (
	"slices"

	"github.com/substrate-tools/substrate/lib/fault"
)

// moderator refuses anybody but the room's moderator, and an ended room.
func (s State) moderator(actor string) error {
	if actor != s.Moderator {
		return fault.New(fault.NotModerator, "not the moderator: %q moderates this room", s.Moderator)
	}
	if s.Ended {
		return fault.New(fault.Ended, "ended: nothing to moderate").WithHint("resume the room first")
	}
	return nil
}

func (s State) absent(who string) error {
	return fault.New(fault.NotInThread, "not in the turn order: %q", who).
		WithHint("invite %s first", who)
}

// HandTo gives the floor to a participant of the order and lifts his quiet.
func (s State) HandTo(actor, who string) (State, error) {
	if err := s.moderator(actor); err != nil {
		return s, err
	}
	seat := slices.Index(s.Order, who)
	if seat < 0 {
		return s, s.absent(who)
	}
	next := s.clone()
	next.Next = seat
	delete(next.Quieted, who)
	return next, nil
}

// Invite appends a participant to the order; one who is in it already stays
// where he is. That the name is registered is the caller's business.
func (s State) Invite(actor, who string) (State, error) {
	if err := s.moderator(actor); err != nil {
		return s, err
	}
	next := s.clone()
	if !s.Has(who) {
		// An index out of range means the last one, which is about to change.
		next.Next = s.seat()
		next.Order = append(next.Order, who)
	}
	return next, nil
}

// Quiet makes the floor pass over a participant for so many turns; 0 lifts it.
func (s State) Quiet(actor, who string, turns int) (State, error) {
	if err := s.moderator(actor); err != nil {
		return s, err
	}
	switch {
	case turns < 0:
		return s, fault.New(fault.BadInput, "negative number of turns: %d", turns)
	case who == s.Moderator:
		return s, fault.New(fault.BadInput, "the moderator cannot be quieted")
	case !s.Has(who):
		return s, s.absent(who)
	}
	next := s.clone()
	if delete(next.Quieted, who); turns > 0 {
		next.Quieted[who] = turns
	}
	return next, nil
}

// Reorder replaces the turn order. Who holds the floor keeps it if he is still
// there, else the moderator gets it; the quiet counts of those left out go.
func (s State) Reorder(actor string, order []string, registered func(string) error) (State, error) {
	if err := s.moderator(actor); err != nil {
		return s, err
	}
	seats, err := seated(s.Moderator, order, registered)
	if err != nil {
		return s, err
	}
	next := s.clone()
	next.Order = seats
	next.Next = max(0, slices.Index(seats, s.Current()))
	for who := range s.Quieted {
		if !next.Has(who) {
			delete(next.Quieted, who)
		}
	}
	return next, nil
}

// Retitle replaces the topic.
func (s State) Retitle(actor, topic string) (State, error) {
	if err := s.moderator(actor); err != nil {
		return s, err
	}
	next := s.clone()
	next.Topic = topic
	return next, CheckTopic(topic)
}

// End closes the room to entries.
func (s State) End(actor string) (State, error) {
	next := s.clone()
	next.Ended = true
	return next, s.moderator(actor)
}

// Resume opens an ended room again, the floor on the moderator wherever he
// stands in the order.
func (s State) Resume(actor string) (State, error) {
	if actor != s.Moderator {
		return s, fault.New(fault.NotModerator, "not the moderator: %q moderates this room", s.Moderator)
	}
	if !s.Ended {
		return s, fault.New(fault.NotEnded, "not ended: nothing to resume")
	}
	seat := slices.Index(s.Order, s.Moderator)
	if seat < 0 {
		return s, fault.New(fault.Corrupt, "moderator %q is not in the turn order", s.Moderator).
			WithHint("add him to turn_order in the room's config.yaml")
	}
	next := s.clone()
	next.Ended, next.Next = false, seat
	return next, nil
}
