package remote

import (
	"slices"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/record"
)

// between returns the one act of moderation that makes a state of another. The
// host is asked for acts: it takes nobody's word for what a room's state is.
func between(before, after floor.State) (record.Moderation, error) {
	anybody := func(string) error { return nil }
	who, m := before.Moderator, before
	if m.Ended != after.Ended {
		op, act := "end", m.End
		if m.Ended {
			op, act = "resume", m.Resume
		}
		return the(record.Moderation{Op: op}, after, act, who)
	}
	if m.Topic != after.Topic {
		return the(record.Moderation{Op: "topic", Topic: after.Topic}, after,
			func(who string) (floor.State, error) { return m.Retitle(who, after.Topic) }, who)
	}
	if n := len(m.Order); len(after.Order) == n+1 && slices.Equal(after.Order[:n], m.Order) {
		return the(record.Moderation{Op: "invite", Name: after.Order[n]}, after,
			func(who string) (floor.State, error) { return m.Invite(who, after.Order[n]) }, who)
	}
	if !slices.Equal(m.Order, after.Order) {
		return the(record.Moderation{Op: "order", Order: after.Order}, after,
			func(who string) (floor.State, error) { return m.Reorder(who, after.Order, anybody) }, who)
	}
	if m.Current() != after.Current() {
		return the(record.Moderation{Op: "next", Name: after.Current()}, after,
			func(who string) (floor.State, error) { return m.HandTo(who, after.Current()) }, who)
	}
	for _, name := range m.Order {
		turns := after.Quieted[name]
		if m.Quieted[name] != turns {
			return the(record.Moderation{Op: "quiet", Name: name, Turns: turns}, after,
				func(who string) (floor.State, error) { return m.Quiet(who, name, turns) }, who)
		}
	}
	return record.Moderation{}, composite()
}

// the returns an act that was found, when it makes all of the state that is wanted.
func the(ask record.Moderation, want floor.State, act func(string) (floor.State, error), who string) (record.Moderation, error) {
	got, err := act(who)
	if err == nil && !got.Equal(want) {
		err = composite()
	}
	return ask, err
}

func composite() error {
	return fault.New(fault.BadInput, "not one act of moderation, which is what a remote host can be asked for")
}
