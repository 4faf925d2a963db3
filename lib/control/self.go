package control

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/substrate-tools/substrate/lib/alarm"
	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
)

// Sleep puts the caller to sleep. With a delay, a JSON number of seconds, its alarm is
// set before; without, an alarm that is set stays.
//
// The order is: is the delay one; is there nothing that was not seen; the alarm; the
// event; sleep. So a sleep that is refused sets no alarm, and no alarm is lost between
// two steps: what is set and not slept through is a notification all the same.
func (c Caller) Sleep(ctx context.Context, delay json.RawMessage, force bool) (record.Control, error) {
	var none record.Control
	d, timed, err := alarm.ParseDelay(delay)
	if err != nil {
		return none, err
	}
	if err := c.running(); err != nil {
		return none, err
	}
	if !force {
		if err := c.unseen(); err != nil {
			return none, err
		}
	}
	out := c.receipt(Sleep, c.Body, "")
	fields := map[string]any{"alarm_deadline": nil}
	if timed {
		if out.Deadline, err = alarm.Arm(ctx, c.Body, d, c.Host.Now()); err != nil {
			return none, err
		}
		fields["alarm_deadline"] = out.Deadline
	}
	c.event("self_sleep", fields)
	if err := c.Body.Put(body.Sleep, c.Body.Address()); err != nil {
		return none, err
	}
	out.Outcome = "asleep"
	return out, nil
}

// running refuses where there is no agent who would hear of it.
func (c Caller) running() error {
	switch {
	case c.Body.Manifest().IsHuman():
		return human(c.Body.Address())
	case !c.Body.Alive(c.Host.Now(), c.Threshold):
		return notRunning(c.Body)
	}
	return nil
}

// unseen refuses to sleep over notifications that were not put before the agent.
func (c Caller) unseen() error {
	store := notice.Open(c.Body)
	all, err := store.Snapshot()
	if err != nil {
		return err
	}
	var names []string
	for _, channel := range store.Delivered().News(all) {
		names = append(names, channel.Name)
	}
	if len(names) == 0 {
		return nil
	}
	return fault.New(fault.Denied, "notifications are waiting: %q", strings.Join(names, ", ")).
		WithHint("end the turn to see them, or sleep with --force")
}

// Refresh has the caller start anew, with another preset if one is asked for: then
// the preflight is over what comes of that, so that it is a way out of a preset that
// is gone or broken. Every refusal comes before anything is written.
func (c Caller) Refresh(ctx context.Context, q preset.Request, reason string) (record.Control, error) {
	var none record.Control
	if err := c.running(); err != nil {
		return none, err
	}
	q.Check = func(r *preset.Reading) error { return Refused(preflightOf(c.Body, c.Host, r)) }
	if q.None() {
		if err := q.Check(c.Host.Read(c.Body.Dir(), preset.AtRefresh)); err != nil {
			return none, err
		}
	}
	swap, unlogged, err := c.Host.Swap(ctx, c.Body, q)
	if unlogged != nil {
		c.Say(unlogged)
	}
	if err != nil {
		return none, err
	}
	if err := c.Body.Put(body.Refresh, request(c.Body, reason)); err != nil {
		return none, err
	}
	out := c.receipt(Refresh, c.Body, reason)
	out.Outcome, out.Backup = signals[Refresh].outcome, swap.Backup
	c.log(out)
	return out, nil
}

// request is the text of .refresh: who asks, and why.
func request(by body.Body, reason string) string { return by.Address() + "\n" + reason }

// Requested reads the text of .refresh: who asked, and why.
func Requested(text string) (by, reason string) {
	by, reason, _ = strings.Cut(text, "\n")
	return strings.TrimSpace(by), strings.TrimSpace(reason)
}
