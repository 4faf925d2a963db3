package notice

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// maxEvents is how many events a channel keeps.
const maxEvents = 20

// Event is one event of the system channel.
type Event struct {
	ID       string `json:"event_id"` // made by Publish
	Source   string `json:"source"`   // who says so, such as email.bounce
	Ref      string `json:"ref_id"`   // what it is about; "" when nothing
	Body     string `json:"body"`
	At       string `json:"at"`                        // made by Publish
	Key      string `json:"idempotency_key,omitempty"` // one of a known key is not published again
	Priority string `json:"priority,omitempty"`
}

// rawEvents returns the events of a channel as they are spelled, the oldest first.
func rawEvents(data *body.Object) []json.RawMessage {
	var raw []json.RawMessage
	if json.Unmarshal(data.Get("events"), &raw) != nil {
		return nil
	}
	return raw
}

// Events returns the events of the system channel, the oldest first. What is no event
// among them is skipped.
func Events(c Channel) []Event {
	var events []Event
	for _, raw := range rawEvents(c.Data()) {
		var e Event
		if json.Unmarshal(raw, &e) == nil && e != (Event{}) {
			events = append(events, e)
		}
	}
	return events
}

// Publish adds an event to the system channel, of which the newest 20 are kept. One
// whose key is there already, or was and has been dismissed, is not added: then the
// answer is false and the event that is there, if it still is.
func (s Store) Publish(ctx context.Context, e Event, now time.Time) (Event, bool, error) {
	return s.publish(ctx, e, now, func(have Event) bool { return e.Key != "" && have.Key == e.Key })
}

// PublishOnce does the same, and adds none whose ref is there already either.
func (s Store) PublishOnce(ctx context.Context, e Event, now time.Time) (Event, bool, error) {
	return s.publish(ctx, e, now, func(have Event) bool {
		return e.Key != "" && have.Key == e.Key || e.Ref != "" && have.Ref == e.Ref
	})
}

func (s Store) publish(
	ctx context.Context, e Event, now time.Time, same func(Event) bool,
) (Event, bool, error) {
	if e.Source == "" {
		return e, false, fault.New(fault.BadInput, "an event has no source")
	}
	if err := checkPriority(e.Priority); err != nil {
		return e, false, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return e, false, err
	}
	defer unlock()
	c, err := s.Read(System)
	if err != nil {
		return e, false, err
	}
	have := Events(c)
	if i := slices.IndexFunc(have, same); i >= 0 {
		return have[i], false, nil
	}
	if e.Key != "" && slices.Contains(s.Delivered().Done, e.Key) {
		return e, false, nil
	}
	e.ID = fmt.Sprintf("evt_%x_%016x", now.UnixMilli(), rand.Uint64())
	e.At = stamp.Record(now)
	raw, err := record.Encode(e)
	if err != nil {
		return e, false, err
	}
	_, err = s.writeEvents(c, append(rawEvents(c.Data()), raw), now)
	return e, err == nil, err
}

// writeEvents writes the system channel with these events, the newest 20 of them, or
// takes it away with the last, under the lock.
func (s Store) writeEvents(c Channel, raw []json.RawMessage, now time.Time) (Channel, error) {
	if len(raw) == 0 {
		return Channel{Name: c.Name, Object: &body.Object{}}, s.remove(c.Name)
	}
	raw = raw[max(0, len(raw)-maxEvents):]
	data := c.Data()
	if err := data.Set("events", raw); err != nil {
		return c, err
	}
	e := Envelope{
		Header: fmt.Sprintf("%d system events", len(raw)), Icon: "🔔", Priority: Normal, Data: data,
		Instructions: "dismiss each when it is dealt with: substrate-notify dismiss-event EVENT_ID",
	}
	if len(raw) == 1 {
		e.Header = "1 system event"
	}
	for _, one := range raw {
		var has Event
		if json.Unmarshal(one, &has) == nil && has.Priority == High {
			e.Priority = High
		}
	}
	return s.write(c, e, now)
}
