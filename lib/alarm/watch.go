package alarm

import (
	"context"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
)

// Outcome is what a tick found and did.
type Outcome struct {
	Fired  bool           // the alarm was due: its event is published, and it is gone
	Event  string         // what is to be logged now; "" when nothing is
	Fields map[string]any // of that event
}

// Watch looks at an agent's alarm, for as long as the process runs.
type Watch struct {
	body  body.Body
	store notice.Store
	seen  string // the problem that was said last
}

// NewWatch returns a watch over a body's alarm, which publishes in its notifications.
func NewWatch(b body.Body) *Watch { return &Watch{body: b, store: notice.Open(b)} }

// Tick publishes an event when the alarm is due, and then removes it. It never
// changes the agent's state: the event does, by way of the notifications. A malformed
// alarm is left untouched, and is to be logged once for as long as it stays as it is.
//
// An error says that it could not be done now. The next tick tries again, and the
// event is there once all the same: its key comes from the deadline, and stays known
// even when it has been dismissed.
func (w *Watch) Tick(ctx context.Context, now time.Time) (Outcome, error) {
	a := Read(w.body)
	if out := w.malformed(a); !a.Due(now) {
		return out, nil
	}
	unlock, err := lock(ctx, w.body, 0)
	if fault.Is(err, fault.Busy) {
		return Outcome{}, nil // it is being armed: look again at the next tick
	}
	if err != nil {
		return Outcome{}, err
	}
	defer unlock()
	if a = Read(w.body); !a.Due(now) {
		return Outcome{}, nil // replaced before we had the lock
	}
	key := "sleep_alarm:" + digest(a.Deadline)
	_, _, err = w.store.Publish(ctx, notice.Event{
		Source: "system.sleep_alarm", Ref: key, Key: key,
		Body: "the alarm you set when you went to sleep is due (" + a.Deadline + ")",
	}, now)
	if err != nil {
		return Outcome{}, err
	}
	// Who does not know our lock may have put another there meanwhile.
	if again := Read(w.body); again.Deadline == a.Deadline {
		if err := disk.Remove(w.body.Path(body.AlarmFile)); err != nil {
			return Outcome{}, err
		}
	}
	fired := Outcome{Fired: true, Event: "sleep_alarm_fired", Fields: map[string]any{"deadline": a.Deadline}}
	return fired, disk.MakeDurable(w.body.Dir())
}

// malformed says once what is wrong with an alarm. One that can be read, or none,
// makes the next problem a new one.
func (w *Watch) malformed(a Alarm) Outcome {
	said := w.seen
	w.seen = a.problem
	if a.problem == "" || a.problem == said {
		return Outcome{}
	}
	return Outcome{Event: "sleep_alarm_malformed", Fields: map[string]any{
		"signature": a.problem, "problem": a.Err.Error(),
	}}
}
