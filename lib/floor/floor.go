// Package floor holds the pure rules of a room: its state, and what a post and
// each act of moderation make of it (spec/rooms-format.md, section 4). It does no
// I/O and reads no clock.
package floor

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
)

// State is what a room's config.yaml says. A State is a value: the rules return
// a new one and leave theirs alone.
type State struct {
	Topic     string
	Created   string         // as written, RFC 3339
	Moderator string         //
	Order     []string       // turn order; whoever wrote it put the moderator first
	Next      int            // index into Order; out of range means the last
	Quieted   map[string]int // turns still to be skipped, each above 0
	Ended     bool
}

func (s State) clone() State {
	s.Order, s.Quieted = slices.Clone(s.Order), maps.Clone(s.Quieted)
	if s.Quieted == nil {
		s.Quieted = map[string]int{}
	}
	return s
}

// seat returns the index of who holds the floor.
func (s State) seat() int {
	if s.Next < 0 || s.Next >= len(s.Order) {
		return len(s.Order) - 1
	}
	return s.Next
}

// Current returns who holds the floor, "" when the order is empty.
func (s State) Current() string {
	if len(s.Order) == 0 {
		return ""
	}
	return s.Order[s.seat()]
}

// Paused reports whether the room waits for its moderator.
func (s State) Paused() bool {
	return !s.Ended && len(s.Order) > 0 && s.Current() == s.Moderator
}

// Has reports whether the name is in the turn order.
func (s State) Has(who string) bool { return slices.Contains(s.Order, who) }

// Equal reports whether both states are the same.
func (s State) Equal(t State) bool {
	return s.Topic == t.Topic && s.Created == t.Created && s.Moderator == t.Moderator &&
		s.Next == t.Next && s.Ended == t.Ended &&
		slices.Equal(s.Order, t.Order) && maps.Equal(s.Quieted, t.Quieted)
}

// Post returns the state after an entry by author: the floor moves on by one,
// past everyone quieted, whose counts go down, for one lap at most. It refuses
// with ended, not_in_thread or not_your_turn.
func (s State) Post(author string) (State, error) {
	if err := s.speakable(author); err != nil {
		return s, err
	}
	if current := s.Current(); current != author {
		err := fault.New(fault.NotYourTurn, "not your turn: %q holds the floor", current)
		err.Current = current
		return s, err
	}
	next := s.clone()
	next.Next = s.seat()
	for range s.Order {
		next.Next = (next.Next + 1) % len(s.Order)
		who := next.Order[next.Next]
		if next.Quieted[who] <= 0 {
			break
		}
		if next.Quieted[who]--; next.Quieted[who] == 0 {
			delete(next.Quieted, who)
		}
	}
	return next, nil
}

func (s State) speakable(who string) error {
	if s.Ended {
		return fault.New(fault.Ended, "ended: no more entries").
			WithHint("the moderator, %q, may resume the room", s.Moderator)
	}
	if !s.Has(who) {
		return fault.New(fault.NotInThread, "not in the room: %q", who).
			WithHint("the moderator, %q, may invite %s", s.Moderator, who)
	}
	return nil
}

// MaxTopic is the longest topic, in bytes. Hooks are told it in their environment,
// where there is little room.
const MaxTopic = 1000

// CheckTopic refuses, with bad_input, a topic that is not one line of valid text,
// or is too long.
func CheckTopic(topic string) error {
	breaks := func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) }
	switch i := strings.IndexFunc(topic, breaks); {
	case strings.TrimSpace(topic) == "":
		return fault.New(fault.BadInput, "empty topic")
	case len(topic) > MaxTopic:
		return fault.New(fault.TooLarge, "topic is longer than %d bytes", MaxTopic)
	case strings.ToValidUTF8(topic, "") != topic:
		return fault.New(fault.BadInput, "topic is not valid UTF-8")
	case i >= 0:
		return fault.New(fault.BadInput, "topic has a line break or control character at byte %d", i).
			WithHint("a topic is one line of text")
	}
	return nil
}

// Open returns the state of a new room. Duplicates are dropped from the order
// and the moderator is put first. It refuses an order of fewer than two, a bad
// topic, and anybody whom registered does not know.
func Open(topic, created, moderator string, order []string, registered func(string) error) (State, error) {
	order, err := seated(moderator, order, registered)
	if err == nil {
		err = CheckTopic(topic)
	}
	return State{Topic: topic, Created: created, Moderator: moderator, Order: order}, err
}

// seated returns the order as it is stored: the moderator first, no duplicates.
func seated(moderator string, order []string, registered func(string) error) ([]string, error) {
	var seats []string
	for _, who := range append([]string{moderator}, order...) {
		if slices.Contains(seats, who) {
			continue
		}
		if err := name.Check("participant", who); err != nil {
			return nil, err
		}
		if err := registered(who); err != nil {
			return nil, err
		}
		seats = append(seats, who)
	}
	if len(seats) < 2 {
		return nil, fault.New(fault.BadInput, "turn order needs two participants").
			WithHint("name at least one besides the moderator")
	}
	return seats, nil
}
