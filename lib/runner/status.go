package runner

import (
	"context"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// statusPeriod is how often .status.json is written though it says the same: somebody may
// have taken it away.
const statusPeriod = 10 * time.Second

// status writes .status.json where it would say something else than it does. Between
// turns that is only when the state changes.
func (r *Runner) status(context.Context) error {
	now := r.Elapsed()
	if r.turn == nil && r.shown == r.state && now-r.shownAt < statusPeriod {
		return nil
	}
	if err := r.body.WriteStatus(r.now(true)); err != nil {
		r.shown = ""
		return err
	}
	r.shownAt = now
	if r.shown = r.state; r.turn != nil || r.state == Stuck {
		r.shown = "" // it says more than the state
	}
	return nil
}

func (r *Runner) lastStatus(context.Context) error { return r.body.WriteLastStatus(r.now(false)) }

func (r *Runner) now(running bool) body.Status {
	age := 0.0 // it is written right before this
	s := body.Status{
		Identity: r.identity,
		Runtime: body.Runtime{
			Process: r.process, Running: running, State: r.state, HeartbeatAge: &age,
			StateChangedAt: stamp.Record(r.changed), LastProgressAt: stamp.Record(r.changed),
		},
		Tokens:   body.Tokens{Context: body.Context{Limit: r.config.Limit()}},
		Deferred: record.Names(r.waiting()),
	}
	if t := r.turn; t != nil {
		o := r.journal.Turn
		s.ActiveTurn = &body.Turn{ID: o.ID, StartedAt: o.StartedAt, Cause: o.Reason}
		s.Runtime.LastProgressAt = stamp.Record(t.signed)
		s.Runtime.NoProgress = (r.Elapsed() - t.signAt).Round(time.Millisecond).Seconds()
	}
	return s
}
