package runner

import (
	"context"
	"regexp"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
)

// steps are what a tick does, in this order. The heartbeat has been written before it.
//
// The nudges and the goal's reminder of a built-in mind, and its inquiries, have their
// place before idle.
var steps = []struct {
	name string
	do   func(*Runner, context.Context) error
}{
	{"status", (*Runner).status},
	{"journal", (*Runner).resave},
	{"refreshed", (*Runner).refreshed},
	{"interrupt", (*Runner).interrupt},
	{"refresh", (*Runner).refresh},
	{"suspend", (*Runner).suspend},
	{"sleep", (*Runner).sleep},
	{"prompt", (*Runner).prompt},
	{"clear", (*Runner).clearing},
	{"rules", (*Runner).rules},
	{"idle", (*Runner).idle},
	{"alarm", (*Runner).ring},
	{"inbox", (*Runner).intake},
	{"mail", (*Runner).post},
	{"notifications", (*Runner).sync},
	{"recovery", (*Runner).recover},
	{"watchdog", (*Runner).watchdog},
}

// Tick looks once at everything. Each step is guarded: what goes wrong in one is said
// and logged once for as long as it goes on, and the others are done all the same.
func (r *Runner) Tick(ctx context.Context) {
	if r.pulse != nil && r.pulse.lost.Load() {
		r.ending = ousted
		return
	}
	r.list()
	defer func() { r.listed = false }()
	for i := range steps {
		if i > 0 && r.ending != "" {
			return // whoever ends takes no more signals
		}
		r.step(ctx, i)
	}
	r.step(ctx, 0) // nobody is to take a second-old state for this one
}

func (r *Runner) step(ctx context.Context, i int) {
	r.guard(ctx, steps[i].name, func(ctx context.Context) error { return steps[i].do(r, ctx) })
}

// guard does one thing, and keeps what goes wrong in it from ending the agent.
func (r *Runner) guard(ctx context.Context, name string, do func(context.Context) error) {
	err := attempt(ctx, do)
	if err == nil {
		delete(r.faults, name)
		return
	}
	problem := temporary.ReplaceAllString(err.Error(), "")
	if r.faults[name] == problem {
		return
	}
	r.faults[name] = problem
	r.say(err)
	r.event("tick_fault", map[string]any{"step": name, "error": err.Error()})
}

// temporary is the name of a temporary file, another one each time.
var temporary = regexp.MustCompile(regexp.QuoteMeta(disk.TempPrefix) + "[0-9a-f]+")

func attempt(ctx context.Context, do func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
	}()
	return do(ctx)
}

// resave writes a journal that could not be written.
func (r *Runner) resave(context.Context) error {
	if !r.unsaved {
		return nil
	}
	return r.save()
}

// ring turns an alarm that is due into a notification.
func (r *Runner) ring(ctx context.Context) error {
	had := r.armed
	if r.armed = r.there(body.AlarmFile); !r.armed && !had {
		return nil
	}
	out, err := r.alarm.Tick(ctx, r.Host.Now())
	if out.Event != "" {
		r.event(out.Event, out.Fields)
	}
	return err
}

// dayIdle is how long an agent is idle before it goes to sleep.
const dayIdle = 24 * time.Hour

func (r *Runner) idle(context.Context) error {
	if r.state == Idle && r.Elapsed()-r.since >= dayIdle {
		r.become(Asleep, "idle for long")
	}
	return nil
}

// StuckDefault and StuckLeast are how long a turn gives no sign of life before that is
// logged, and the least it can be set to.
const (
	StuckDefault = 10 * time.Minute
	StuckLeast   = 30 * time.Second
)

// ReadStuck reads how long that is from the environment.
func ReadStuck(look body.Lookup) time.Duration {
	return max(look.Seconds("ACTIVE_STUCK_THRESHOLD_S", StuckDefault), StuckLeast)
}
