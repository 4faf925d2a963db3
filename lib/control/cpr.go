package control

import (
	"context"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

const (
	cprLog = body.LogsDir + "/cpr_relaunch.log"
	// leastWait is how long the first heartbeat of an agent is waited for, at least.
	leastWait = 10 * time.Second
	poll      = 100 * time.Millisecond
)

// revive starts an agent that is dead and waits for its heartbeat. One that ends
// meanwhile has failed, however well it ended; one that runs and says nothing yet has
// not: it is unconfirmed.
func (c Caller) revive(ctx context.Context, target body.Body, out record.Control) (record.Control, error) {
	if err := gap(ctx, target); err != nil {
		return record.Control{}, err
	}
	l, err := command(target, c.Host, Clean(c.Environ), cprLog)
	if err != nil {
		return record.Control{}, err
	}
	release, err := hold(target)
	if err != nil {
		return record.Control{}, err
	}
	defer release()
	// Now that nobody else starts it: it may have been started since we looked.
	if err := c.life(CPR, target); err != nil {
		return record.Control{}, err
	}
	if err := gap(ctx, target); err != nil {
		return record.Control{}, err
	}
	for _, s := range []body.Signal{body.Suspend, body.Sleep, body.Interrupt} {
		if _, err := target.Withdraw(s); err != nil {
			return record.Control{}, err
		}
	}
	if _, err := target.Make(body.LogsDir); err != nil {
		return record.Control{}, err
	}
	before := target.Heartbeat()
	p, err := c.launch(l)
	if err != nil {
		return record.Control{}, err
	}
	out.PID = p.pid
	w := waiting{target, p, before, max(leastWait, 2*c.Threshold), c.Threshold, c.Host.Now}
	switch confirmed, err := w.wait(ctx); {
	case err != nil:
		return record.Control{}, err
	case confirmed:
		out.Outcome = "resuscitated"
	default:
		out.Outcome = "unconfirmed"
	}
	c.log(out)
	return out, nil
}

func (c Caller) launch(l launch) (*process, error) {
	if c.start != nil {
		return c.start(l)
	}
	return start(l)
}

// waiting is for the first heartbeat of a process.
type waiting struct {
	body      body.Body
	process   *process
	before    body.Heartbeat // that of its predecessor, if that left one
	limit     time.Duration
	threshold time.Duration
	now       func() time.Time
}

// wait reports whether the heartbeat came. An error says that the process has ended.
func (w waiting) wait(ctx context.Context) (confirmed bool, err error) {
	limit := time.NewTimer(w.limit)
	defer limit.Stop()
	for {
		select {
		case <-w.process.ended:
			return false, w.process.failed(w.body)
		default:
		}
		if w.fresh() {
			return true, nil
		}
		select {
		case <-w.process.ended:
		case <-time.After(poll):
		case <-limit.C:
			return w.fresh(), nil
		case <-ctx.Done():
			return false, fault.New(fault.Timeout, "not waited for the heartbeat of %q: %w",
				w.body.Address(), ctx.Err()).WithHint("process %d is starting it", w.process.pid)
		}
	}
}

func (w waiting) fresh() bool {
	h := w.body.Heartbeat()
	return h != w.before && h.Alive(w.now(), w.threshold)
}
