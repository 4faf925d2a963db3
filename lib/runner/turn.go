package runner

import (
	"context"
	"errors"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// How turns end.
const (
	done        = "done"
	interrupted = "interrupted"
	cleared     = "cleared"
	givenUp     = "given_up"
	abandoned   = "abandoned"
)

const (
	freeRetries = 3  // for failures that are transient
	maxOffers   = 20 // of one turn whose end never came
)

// unknown is the print of no notifications.
const unknown = "?"

// errCut is why a mind's turn is ended before its end.
var errCut = errors.New("the turn was cut off")

// running is the turn that the mind is in.
type running struct {
	cut      context.CancelCauseFunc
	sign     int64
	signAt   time.Duration
	signed   time.Time
	reported bool // that it gives no sign of life
	begun    time.Duration
}

// offer puts a turn before the mind, for the first time or once more; see the journal.
func (r *Runner) offer(ctx context.Context, t offered) error {
	all, err := r.store.Snapshot()
	if err != nil {
		return err
	}
	t.meet(all, r.store.Delivered())
	t.Offer++
	t.Session = session()
	before, unsaved := r.journal.Turn, r.unsaved
	r.journal.Turn = &t
	if err := r.save(); err != nil {
		r.journal.Turn, r.unsaved = before, unsaved
		return err
	}
	err = r.store.Deliver(ctx, all)
	if err == nil && t.PromptID != "" && taken(r.body, promptTaken) == t.PromptID {
		err = removeDurably(r.body, promptTaken)
	}
	if err != nil { // the journal has the turn: the next tick goes on with it
		t.Offer--
		return err
	}
	r.deferred = nil
	r.become(Active, t.Reason)
	r.event("turn_start", map[string]any{
		"id": t.ID, "reason": t.Reason, "offer": t.Offer, "attempt": t.attempt(), "channels": t.News,
	})
	r.run(ctx, Turn{r.record(t, len(all.Channels)), t.shown(r.body, all), r.mindEnviron(t.ID)})
	return nil
}

func (r *Runner) run(ctx context.Context, t Turn) {
	ctx, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	now := r.Elapsed()
	r.turn = &running{cut: cut, sign: r.Mind.Sign(), signAt: now, signed: r.Host.Now(), begun: now}
	go func() {
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = panicked(p)
			}
			r.results <- err
		}()
		err = r.Mind.Take(ctx, t)
	}()
}

func (t *offered) attempt() int { return 1 + t.Transient + t.Attempts }

func (r *Runner) record(t offered, channels int) record.Turn {
	out := record.Turn{
		Type: "turn", ID: t.ID, Reason: t.Reason, State: Active, StartedAt: t.StartedAt,
		Dir: r.body.Dir(), Address: r.body.Address(), AgentID: r.identity.AgentID, Name: r.identity.Name,
		Offer: t.Offer, Attempt: t.attempt(), Prompt: t.Prompt, Notifications: channels,
		Paths: record.TurnPaths{
			Init: r.body.Path(body.InitFile), Resolved: r.body.Path(body.ResolvedFile),
			Prompt: r.body.Path(body.SystemDir, "system.md"), History: r.body.Path(historyFile),
			Mailbox: r.body.Path(body.MailDir), Events: r.body.Path(body.EventsFile),
		},
	}
	if f := r.journal.Fresh; f != nil {
		out.NewConversation, out.Cleared = true, f.Reason
	}
	return out
}

// ended hears that the mind is through with a turn.
func (r *Runner) ended(ctx context.Context, err error) error {
	t, took := r.journal.Turn, r.Elapsed()-r.turn.begun
	r.turn.cut(nil)
	r.turn = nil
	r.looked = unknown
	switch {
	case t.Over == cleared:
		if err := r.close(cleared, took); err != nil {
			return err
		}
		return r.clear(ctx)
	case t.Over != "":
		return r.close(t.Over, took)
	case err == nil:
		return r.close(done, took)
	case r.ending != "":
		r.event("turn_cut", map[string]any{"id": t.ID, "reason": r.ending})
		return nil // it stays in the journal, and is offered again
	}
	return r.fail(t, err)
}

// close records the end of a turn. What the mind was told of a new conversation it knows
// now, but for a turn that was itself cleared.
func (r *Runner) close(how string, took time.Duration) error {
	t := r.journal.Turn
	r.journal.Turn = nil
	if how != cleared && how != abandoned {
		r.journal.Fresh = nil
	}
	r.event("turn_end", map[string]any{
		"id": t.ID, "outcome": how, "attempts": t.attempt(), "offers": t.Offer, "took_ms": took.Milliseconds(),
	})
	err := r.save()
	next := Idle
	if how == givenUp || r.dozing {
		next = Asleep
	}
	r.become(Idle, "turn "+how)
	if r.ending == "" && next == Asleep {
		r.dozing = false
		r.become(Asleep, map[bool]string{true: "recovery spent", false: "sleep"}[how == givenUp])
	}
	return err
}

// fail decides what follows a failure: a retry, or the end of it. Transient failures have
// a few retries for free, all others count from the first on.
func (r *Runner) fail(t *offered, err error) error {
	var f *Failure
	transient := errors.As(err, &f) && f.Transient && t.Transient < freeRetries
	if t.attempt() == 1 {
		r.stuckAt = r.Elapsed()
	}
	if transient {
		t.Transient++
	} else {
		t.Attempts++
	}
	r.event("turn_failed", map[string]any{
		"id": t.ID, "attempt": t.attempt() - 1, "transient": transient, "error": err.Error(),
	})
	if int64(t.Attempts) > r.config.Int(3, "manifest", "max_aed_attempts") {
		return r.giveUp("attempts")
	}
	pause := min(time.Second<<min(t.attempt()-2, 6), time.Minute)
	r.retryAt = r.Elapsed() + pause
	r.become(Stuck, err.Error())
	return r.save()
}

func (r *Runner) giveUp(why string) error {
	t := r.journal.Turn
	r.event("recovery_spent", map[string]any{"id": t.ID, "why": why})
	return r.close(givenUp, 0)
}

// recover tries a turn again that failed, when its time has come, or gives it up.
func (r *Runner) recover(ctx context.Context) error {
	switch t, now := r.journal.Turn, r.Elapsed(); {
	case r.state != Stuck || t == nil:
		return nil
	case now-r.stuckAt >= r.config.Seconds(6*time.Minute, "manifest", "aed_timeout"):
		return r.giveUp("aed_timeout")
	case now < r.retryAt:
		return nil
	default:
		return r.offer(ctx, *t)
	}
}

// resume goes on with a turn that was offered and whose end is not recorded: after a
// start, or where the last step did not succeed.
func (r *Runner) resume(ctx context.Context) error {
	t := *r.journal.Turn
	switch {
	case t.Over != "":
		return r.close(t.Over, 0)
	case t.Offer >= maxOffers:
		r.event("turn_abandoned", map[string]any{"id": t.ID, "offers": t.Offer})
		return r.close(abandoned, 0)
	}
	return r.offer(ctx, t)
}

// over ends a turn that is not wanted any more, if there is one. Its end is recorded
// first, so that it does not come back should we die before the mind has ended.
func (r *Runner) over(how string) error {
	if r.journal.Turn == nil {
		return nil
	}
	r.journal.Turn.Over = how
	if r.turn == nil {
		return r.close(how, 0)
	}
	err := r.save()
	r.turn.cut(errCut) // whether or not it could be recorded
	return err
}

// watchdog logs a turn that gives no sign of life, once.
func (r *Runner) watchdog(context.Context) error {
	t := r.turn
	if t == nil {
		return nil
	}
	if sign := r.Mind.Sign(); sign != t.sign {
		t.sign, t.signAt, t.signed, t.reported = sign, r.Elapsed(), r.Host.Now(), false
	}
	if quiet := r.Elapsed() - t.signAt; quiet >= r.Stuck && !t.reported {
		t.reported = true
		r.event("turn_no_progress", map[string]any{"id": r.journal.Turn.ID, "seconds": int(quiet.Seconds())})
	}
	return nil
}

// mindEnviron is the environment of the mind in a turn.
func (r *Runner) mindEnviron(turn string) []string {
	return append(r.environ[:len(r.environ):len(r.environ)], "SUBSTRATE_TURN_ID="+turn)
}

// removeDurably removes a file of the agent's, for good.
func removeDurably(b body.Body, file string) error {
	if err := disk.Remove(b.Path(file)); err != nil {
		return err
	}
	return disk.MakeDurable(b.Dir())
}

func panicked(p any) error { return fault.New(fault.IO, "panic: %v", p) }
