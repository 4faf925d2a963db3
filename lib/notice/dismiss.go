package notice

import (
	"context"
	"encoding/json"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
)

// Dismissal asks to clear a channel.
type Dismissal struct {
	Channel string
	Force   bool     // passes the producer's guard, and a version that was not seen
	Reason  string   // an acknowledgement; post-molt is not cleared without
	Seen    *Version // the version that the caller saw; nil: the one that was delivered
}

// Cleared says what a dismissal did. Of events it counts those; a channel that has
// none counts as one.
type Cleared struct {
	Channel   string
	Cleared   bool
	Removed   int
	Remaining int
	Forced    bool
	Why       Reason // why nothing was cleared, "" when something was
}

// DismissChannel clears a channel. It looks, in this order, at the name, a reason for
// post-molt, goal (which is never dismissed), the producer's guard, whether there is
// anything, and whether it is what was seen. What the channel's producer knows stays
// as it is.
func (s Store) DismissChannel(ctx context.Context, d Dismissal) (Cleared, error) {
	done := Cleared{Channel: d.Channel, Forced: d.Force}
	if err := d.check(); err != nil {
		return done, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return done, err
	}
	defer unlock()
	c, err := s.Read(d.Channel)
	if err != nil {
		return done, err
	}
	if c.Version == "" {
		done.Why = AlreadyEmpty
		return done, nil
	}
	if err := s.unseen(c, d); err != nil {
		return done, err
	}
	raw := rawEvents(c.Data())
	if err := s.finish(append(keys(raw), taken(c.Data())...)); err != nil {
		return done, err
	}
	if err := s.remove(c.Name); err != nil {
		return done, err
	}
	done.Cleared, done.Removed = true, max(1, len(raw))
	return done, s.follow(c.Name, c.Version, "")
}

// check refuses what does not depend on how the channel stands.
func (d Dismissal) check() error {
	if err := CheckName(d.Channel); err != nil {
		return err
	}
	producer, guarded := producers[d.Channel]
	switch {
	case d.Channel == acknowledge && d.Reason == "":
		return refuse(MissingAckReason, d.Channel, fault.BadInput, "say what you make of it: --reason TEXT",
			"%q is dismissed with a reason", d.Channel)
	case d.Channel == protected:
		return refuse(Protected, d.Channel, fault.Denied, "whoever set it completes or cancels it",
			"%q is not dismissed", d.Channel)
	case guarded && !d.Force:
		return refuse(ProducerGuarded, d.Channel, fault.Denied, producer,
			"%q keeps track of what was read", d.Channel)
	}
	return nil
}

// unseen refuses to clear what the agent has not seen.
func (s Store) unseen(c Channel, d Dismissal) error {
	seen := s.Delivered().Versions[c.Name]
	if d.Seen != nil {
		seen = *d.Seen
	}
	if d.Force || seen == c.Version {
		return nil
	}
	what := "it has changed since"
	if seen == "" {
		what = "it was not put before the agent yet"
	}
	return refuse(StaleVersion, c.Name, fault.Stale,
		"look at it first; substrate-notify check shows its version", "%q: %s", c.Name, what)
}

// DismissEvent takes one event out of the system channel, and the channel away with
// the last.
func (s Store) DismissEvent(ctx context.Context, id string, now time.Time) (Cleared, error) {
	return s.dismiss(ctx, "event", id, now, func(e Event) bool { return e.ID == id })
}

// DismissRef takes the events about something out of the system channel.
func (s Store) DismissRef(ctx context.Context, ref string, now time.Time) (Cleared, error) {
	return s.dismiss(ctx, "ref", ref, now, func(e Event) bool { return e.Ref == ref })
}

func (s Store) dismiss(
	ctx context.Context, what, id string, now time.Time, unwanted func(Event) bool,
) (Cleared, error) {
	done := Cleared{Channel: System}
	if id == "" {
		return done, fault.New(fault.BadInput, "which %s?", what)
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return done, err
	}
	defer unlock()
	c, err := s.Read(System)
	if err != nil {
		return done, err
	}
	var gone, kept []json.RawMessage
	for _, raw := range rawEvents(c.Data()) {
		var e Event
		if json.Unmarshal(raw, &e) == nil && unwanted(e) {
			gone = append(gone, raw)
		} else {
			kept = append(kept, raw)
		}
	}
	done.Removed, done.Remaining, done.Cleared = len(gone), len(kept), len(gone) > 0
	switch {
	case len(gone) == 0 && len(kept) == 0:
		done.Why = AlreadyEmpty
		return done, nil
	case len(gone) == 0:
		done.Why = NoMatchingEvent
		return done, nil
	}
	if err := s.finish(keys(gone)); err != nil {
		return done, err
	}
	left, err := s.writeEvents(c, kept, now)
	if err != nil {
		return done, err
	}
	return done, s.follow(System, c.Version, left.Version)
}

// keys returns what events are remembered by when they are done with: their key, or
// the file of an inbox that they came in.
func keys(raw []json.RawMessage) []string {
	var all []string
	for _, one := range raw {
		o, err := body.ParseObject(one)
		if err != nil {
			continue
		}
		all = append(all, o.Text("idempotency_key"), o.Text("file"))
	}
	return all
}
