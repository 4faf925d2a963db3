package runner

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/notice"
)

// sync puts notifications that are news before the mind: an agent that is idle gets a
// turn about them, one that sleeps wakes up for it, and one in a turn gets them when that
// is over. They are noted as delivered after that, never before, so that none is lost
// where a turn cannot be begun. What is there already and was delivered is no news,
// however often it is looked at.
func (r *Runner) sync(ctx context.Context) error {
	if r.turn == nil && r.state != Stuck && r.journal.Turn != nil {
		return r.resume(ctx)
	}
	all, err := r.watch.Snapshot(r.Host.Now())
	if err != nil {
		return err
	}
	r.complain(all.Skipped)
	if all.Print == r.looked {
		return nil
	}
	if err = r.look(ctx, all); err == nil && r.turn == nil {
		r.looked = all.Print
	}
	return err
}

func (r *Runner) look(ctx context.Context, all notice.Snapshot) error {
	seen := r.store.Delivered()
	news := seen.News(all)
	switch {
	case all.Print == seen.Print:
	case len(news) == 0:
		return r.store.Deliver(ctx, all) // something is gone
	case r.turn != nil || r.state == Stuck:
		r.postpone(news)
	case r.state == Asleep && !slices.ContainsFunc(news, notice.Channel.Wakes):
	default:
		if r.state == Asleep {
			r.become(Idle, "notification")
		}
		return r.offer(ctx, r.newTurn("notification", r.Host.Now()))
	}
	return nil
}

// complain says which channels are broken, once for as long as they are.
func (r *Runner) complain(skipped []error) {
	what := ""
	if err := errors.Join(skipped...); err != nil {
		what = err.Error()
	}
	if what != r.broken && what != "" {
		r.event("notifications_broken", map[string]any{"error": what})
	}
	r.broken = what
}

// postpone notes what waits for the end of the turn, or for the next attempt at it.
func (r *Runner) postpone(news []notice.Channel) {
	var names []string
	for _, c := range news {
		names = append(names, c.Name+"@"+string(c.Version))
	}
	if slices.Equal(names, r.deferred) {
		return
	}
	r.deferred = names
	r.event("notifications_deferred", map[string]any{"channels": r.waiting()})
}

// waiting returns the channels that were postponed.
func (r *Runner) waiting() []string {
	var names []string
	for _, d := range r.deferred {
		name, _, _ := strings.Cut(d, "@")
		names = append(names, name)
	}
	return names
}

// intake takes what producers dropped in the inbox of files.
func (r *Runner) intake(ctx context.Context) error {
	if !r.there(body.DropDir) {
		return nil
	}
	in, err := r.store.Intake(ctx, r.Host.Now())
	for _, rejected := range in.Rejected {
		r.event("mcp_event_rejected", map[string]any{"error": rejected.Error()})
	}
	if in.Taken > 0 {
		r.event("mcp_events_taken", map[string]any{"count": in.Taken, "wake": in.Wake})
	}
	return errors.Join(append(in.Failed, err)...)
}

// post delivers the agent's mail, and takes what is for it.
func (r *Runner) post(ctx context.Context) error {
	got, err := r.mail.Poll(ctx, r.Host.Now())
	for _, m := range got.Messages {
		receipt := m.Receipt()
		r.event("mail_settled", map[string]any{"id": receipt.ID, "status": receipt.Status})
	}
	for _, aside := range got.Aside {
		r.event("mail_set_aside", map[string]any{"error": aside.Error()})
	}
	return errors.Join(append(got.Failed, err)...)
}
