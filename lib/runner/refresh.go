package runner

import (
	"context"
	"errors"
	"strings"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/control"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/record"
)

// refresh makes way for the agent to be started anew. Whatever stands in the way is found
// before anything changes, and then the agent stays as it is: a bad edit of init.json
// must not end it. A mind that asks for it itself is left to end its turn first; that of
// anybody else cuts the turn off, which is offered again after the start.
func (r *Runner) refresh(ctx context.Context) error {
	if !r.there(body.Refresh) || !r.body.Pending(body.Refresh) {
		return nil
	}
	data, err := disk.ReadFile(r.body.Path(string(body.Refresh)), maxText)
	if err != nil {
		return err
	}
	by, reason := control.Requested(string(data))
	if by == r.body.Address() && r.turn != nil {
		return nil
	}
	id := taken(r.body, string(body.Refresh))
	if err := control.Refused(control.Preflight(r.body, r.Host)); err != nil {
		return r.stay(ctx, err)
	}
	if r.HandOver == nil {
		return r.stay(ctx, fault.New(fault.BadInput, "no refresh: nothing is there to start the agent anew"))
	}
	if err := r.body.PutNew(body.RefreshTaken, id+"\n"+reason); err != nil {
		return r.stay(ctx, err)
	}
	if _, err := r.body.Withdraw(body.Refresh); err != nil {
		_, undone := r.body.Withdraw(body.RefreshTaken)
		return errors.Join(err, undone)
	}
	if err := r.HandOver(); err != nil {
		_, undone := r.body.Withdraw(body.RefreshTaken)
		return errors.Join(undone, r.stay(ctx, err))
	}
	r.event("refresh_handed_over", map[string]any{"by": by, "reason": reason})
	r.ending = "refresh"
	return nil
}

// stay takes a refresh that cannot be, and says why, in a notification too: whoever asked
// would wait for it.
func (r *Runner) stay(ctx context.Context, why error) error {
	_, err := r.body.Withdraw(body.Refresh)
	r.event("refresh_refused", map[string]any{"error": why.Error()})
	_, _, published := r.store.Publish(ctx, notice.Event{
		Source: "system.refresh", Ref: "refresh_refused", Priority: notice.High,
		Body: "not refreshed, and running on what was in force before: " + why.Error(),
	}, r.Host.Now())
	return errors.Join(err, published)
}

// refreshed tells the mind, once, that it was started anew, and what to look at now.
func (r *Runner) refreshed(ctx context.Context) error {
	if !r.there(body.RefreshTaken) || !r.body.Pending(body.RefreshTaken) {
		return nil
	}
	data, err := disk.ReadFile(r.body.Path(string(body.RefreshTaken)), maxText)
	if err != nil {
		return err
	}
	id, reason, _ := strings.Cut(string(data), "\n")
	if id == "" {
		id = taken(r.body, string(body.RefreshTaken))
	}
	if reason = record.OneLine(strings.TrimSpace(reason)); reason != "" {
		reason = " (" + reason + ")"
	}
	_, _, err = r.store.Publish(ctx, notice.Event{
		Source: "system.refresh", Ref: "refreshed", Key: "refresh:" + id,
		Body: "you were refreshed" + reason + ". Look, in this order, at the state, the heartbeat, " +
			"the configuration and the tools: substrate-system refresh --verify",
	}, r.Host.Now())
	if err != nil {
		return err
	}
	r.event("refreshed", map[string]any{"reason": strings.Trim(reason, " ()")})
	_, err = r.body.Withdraw(body.RefreshTaken)
	return err
}
