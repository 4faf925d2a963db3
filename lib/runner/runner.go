// Package runner is the life of an agent: it holds the lease, beats, looks once a
// second at what others left in its directory, and puts turns before a mind when there
// is something to say.
//
// All of an agent's state belongs to one goroutine, which runs the ticks and hears of
// the ends of turns. Besides it there are two: one beats, so that no slow step of a tick
// and no turn makes an agent look dead, and one waits for the mind while a turn lasts.
package runner

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/substrate-tools/substrate/lib/alarm"
	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/control"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/mail"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
)

// The states of an agent's life.
const (
	Active    = "active"    // in a turn
	Idle      = "idle"      // between turns
	Stuck     = "stuck"     // a turn failed and is to be tried again
	Asleep    = "asleep"    // until there is something to say
	Suspended = "suspended" // no process
)

// Options are what an agent runs with.
type Options struct {
	Mind      Mind
	Launch    control.Launch       // kept for those who start it again
	Host      preset.Host          // its Now is the wall clock
	Elapsed   func() time.Duration // since some moment; no step of the wall clock moves it
	Environ   []string             // ours, for the mind
	Threshold time.Duration        // see body.Env
	Stuck     time.Duration        // a turn without a sign of life for so long is logged
	Period    time.Duration        // of ticks and beats; 0: body.HeartbeatPeriod
	Grace     time.Duration        // how long the lease is waited for
	Patience  time.Duration        // how long a mind may take to end when it is told to; 0: a default
	Say       func(error)          // told what went wrong besides
	HandOver  func() error         // starts the watcher of a refresh; nil: there is none
}

// Runner is a running agent.
type Runner struct {
	Options
	body   body.Body
	lease  *body.Lease
	dir    disk.Dir   // the body's, for looks at what is in it
	held   disk.Print // of the lease's file; zero where the system notes too little
	names  *disk.Listing
	listed bool // names are those in dir
	store  notice.Store
	watch  *notice.Watch
	mail   *mail.Poller
	log    *body.Log
	alarm  *alarm.Watch

	config   *preset.Config
	environ  []string // of the mind
	identity body.Identity
	persists *body.Object // what .agent.json alone has
	started  time.Time
	process  body.Process

	state   string
	changed time.Time     // when it became so
	since   time.Duration // the same, on the clock that does not step

	journal journal
	unsaved bool // the journal on disk is not this one
	unclear bool // the last clear could not be done, and is tried again between turns
	turn    *running
	results chan error // of the turn that runs
	retryAt time.Duration
	stuckAt time.Duration // when the turn failed first

	armed    bool // there was an alarm at the last tick
	dozing   bool // to sleep when the turn is over
	deferred []string
	looked   string            // the print of the notifications that need no second look
	broken   string            // which channels are, as it was logged last
	faults   map[string]string // of each step: what went wrong last
	ending   string            // why the agent ends; "" while it does not

	shown   string        // the state that .status.json says, and nothing else; or ""
	shownAt time.Duration // when it was written

	nudge  chan struct{}
	pulse  *pulse
	saying sync.Mutex
}

// defaults fills in what was left out.
func (o Options) defaults() Options {
	if o.Elapsed == nil {
		begun := time.Now()
		o.Elapsed = func() time.Duration { return time.Since(begun) }
	}
	if o.Period == 0 {
		o.Period = body.HeartbeatPeriod
	}
	if o.Patience == 0 {
		o.Patience = 30 * time.Second
	}
	if o.Threshold == 0 {
		o.Threshold = body.DefaultThreshold
	}
	if o.Stuck == 0 {
		o.Stuck = StuckDefault
	}
	return o
}

// Look returns how the agent is.
func (r *Runner) Look(ctx context.Context) record.Agent {
	return r.body.Look(ctx, r.Host.Now(), body.Env{Threshold: r.Threshold})
}

// Run lives until the agent is suspended, makes way for a refresh, or ctx ends.
func (r *Runner) Run(ctx context.Context) error {
	r.pulse = startPulse(r)
	r.Tick(ctx)
	for r.ending == "" {
		select {
		case <-r.nudge:
			r.Tick(ctx)
		case err := <-r.results:
			r.Settle(ctx, err)
		case <-ctx.Done():
			r.told()
		}
	}
	return r.stop()
}

// told is told by a signal to end. That is a suspension like any other.
func (r *Runner) told() {
	if err := r.body.Put(body.Suspend, ""); err != nil {
		r.say(err)
	}
	r.ending = "signal"
}

// displaced reports whether the lease's file is not the one that we hold: somebody has
// removed or replaced it, or the whole directory. Then another may be its agent.
func (r *Runner) displaced() bool {
	return r.held != (disk.Print{}) && disk.PrintAt(r.body.Path(body.LeaseFile)).Inode != r.held.Inode
}

// Settle hears of the end of a turn, and looks at once at what came meanwhile.
func (r *Runner) Settle(ctx context.Context, err error) {
	r.guard(ctx, "turn", func(ctx context.Context) error { return r.ended(ctx, err) })
	r.Tick(ctx)
}

func (r *Runner) say(err error) {
	r.saying.Lock()
	defer r.saying.Unlock()
	r.Say(err)
}

// event logs one. That it cannot is said once, and no reason to end.
func (r *Runner) event(kind string, fields map[string]any) {
	if err := r.log.Append(r.Host.Now(), kind, fields); err != nil {
		r.say(err)
	}
}

// become changes the state, on disk too. Where that cannot be written the agent goes on,
// and .status.json has it at the next tick.
func (r *Runner) become(state, reason string) {
	if state == r.state {
		return
	}
	old := r.state
	r.state, r.changed, r.since = state, r.Host.Now(), r.Elapsed()
	if err := r.amend(func(o *body.Object) error { return o.Set("state", state) }); err != nil {
		r.say(err)
	}
	r.event("agent_state", map[string]any{"old": old, "new": state, "reason": reason})
}

// pulse is the thread that beats.
type pulse struct {
	quit chan struct{}
	done chan struct{}
	lost atomic.Bool // see displaced
}

func startPulse(r *Runner) *pulse {
	p := &pulse{quit: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(p.done)
		ticker := time.NewTicker(r.Period)
		defer ticker.Stop()
		failing := false
		for {
			select {
			case <-p.quit:
				return
			case <-ticker.C:
			}
			if r.displaced() {
				p.lost.Store(true)
			} else {
				err := r.body.Beat(r.Host.Now())
				if err != nil && !failing {
					r.say(err)
				}
				failing = err != nil
			}
			select {
			case r.nudge <- struct{}{}:
			default: // the last one is not dealt with yet
			}
		}
	}()
	return p
}

func (p *pulse) stop() {
	if p != nil {
		close(p.quit)
		<-p.done
	}
}
