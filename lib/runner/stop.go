package runner

import (
	"context"
	"errors"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
)

// ousted is why an agent ends that is its directory's agent no more.
const ousted = "ousted"

// stop ends the agent. First the mind must have stopped: while it has not, nothing is
// released, since it would go on in a directory that is another agent's. What follows is
// done in this order, each step whether or not the one before it went well. The heart
// beats on until its own step, so that nobody takes an agent that is ending for dead;
// what a later issue adds, daemons, sessions, mail and a journal, stops before the
// manifest is written.
func (r *Runner) stop() error {
	if r.ending != ousted {
		r.event("agent_stop", map[string]any{"reason": r.ending})
	}
	if !r.stopped() {
		err := fault.New(fault.Timeout, "the mind does not end: %q; nothing was released", r.body.Address()).
			WithHint("look for its process, and end it")
		r.event("stop_timed_out", nil)
		return err
	}
	if r.ending == ousted { // what is there now is another's
		r.pulse.stop()
		_ = r.release(context.Background()) // never fails
		return fault.New(fault.Stale, "the agent's lease, or its directory, was taken away: %q", r.body.Dir())
	}
	var all error
	for _, step := range teardown {
		do := func(ctx context.Context) error { return step.do(r, ctx) }
		all = errors.Join(all, attempt(context.Background(), do))
	}
	return all
}

var teardown = []struct {
	name string
	do   func(*Runner, context.Context) error
}{
	{"journal", (*Runner).resave},
	{"suspend", (*Runner).waited},
	{"manifest", (*Runner).suspended},
	{"status", (*Runner).lastStatus},
	{"heartbeat", (*Runner).silence},
	{"lease", (*Runner).release},
}

// waited takes a .suspend that came while we were ending: it has been obeyed.
func (r *Runner) waited(context.Context) error {
	_, err := r.body.Withdraw(body.Suspend)
	return err
}

func (r *Runner) suspended(context.Context) error {
	r.become(Suspended, r.ending)
	return nil
}

func (r *Runner) silence(context.Context) error {
	r.pulse.stop()
	return r.body.StopBeat()
}

func (r *Runner) release(context.Context) error {
	r.dir.Close()
	r.lease.Release()
	return nil
}

// stopped cuts the turn off and waits for its end.
func (r *Runner) stopped() bool {
	if r.turn == nil {
		return true
	}
	r.turn.cut(errCut)
	select {
	case err := <-r.results:
		if r.ending == ousted {
			return true
		}
		r.guard(context.Background(), "turn", func(ctx context.Context) error { return r.ended(ctx, err) })
		return true
	case <-time.After(r.Patience):
		return false
	}
}
