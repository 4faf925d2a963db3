package control

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// The hand-over of a refresh. An agent that is to be started anew puts .refresh.taken,
// which one of many can, starts one watcher, waits for that one's word that it holds
// the lock of those who start agents, and ends. The watcher waits for the lease to be
// free, starts the agent, and goes when its heartbeat is there. Whenever one of them
// dies: the lease says who the agent is, the lock who starts it, and both are free then.

const (
	relaunchLog   = body.LogsDir + "/refresh_relaunch.log"
	permanentFile = body.LogsDir + "/refresh_failed_permanent.json"

	leaveWait  = time.Minute      // for the agent before to let go
	aliveLimit = 30 * time.Second // how old the heartbeat of one that is alive may be
	hungLimit  = time.Minute      // how old that of one that may be killed must be
	termWait   = 5 * time.Second
	attempts   = 12
)

// Relauncher starts an agent anew that makes way for it.
type Relauncher struct {
	Body    body.Body
	Host    preset.Host
	Environ []string
	Ready   func() error // the lock is held: the agent may go
	Say     func(error)

	start func(launch) (*process, error)
}

// Run starts the agent once the one before has let go. It tries a dozen times. Where
// somebody else has started it meanwhile, that is as good.
func (r Relauncher) Run(ctx context.Context) error {
	release, err := hold(r.Body)
	if err != nil {
		return err
	}
	defer release()
	if err := r.Ready(); err != nil {
		return err
	}
	if err := r.vacated(ctx); err != nil {
		return r.exhausted(ctx, 0, err)
	}
	for n := 1; ; n++ {
		err := r.attempt(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		r.Say(err)
		if n == attempts {
			return r.exhausted(ctx, n, err)
		}
		if err := pause(ctx, min(time.Second<<(n-1), 15*time.Second)); err != nil {
			return err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// vacated waits until nobody holds the lease. Who holds it too long is ended, if it is
// known to hang.
func (r Relauncher) vacated(ctx context.Context) error {
	for evicted := false; ; evicted = true {
		for deadline := time.Now().Add(leaveWait); time.Now().Before(deadline); {
			held, err := r.Body.Held(ctx)
			if err != nil || !held {
				return err
			}
			if err := pause(ctx, poll); err != nil {
				return err
			}
		}
		if evicted || !r.evict(ctx) {
			return fault.New(fault.Busy, "the agent before does not let go: %q", r.Body.Address())
		}
	}
}

// evict ends runs on the same directory that have no heartbeat, or one a minute old. A
// heartbeat that cannot be read does not count against them, and neither we nor our
// parent are ever among them. It reports whether there were any.
func (r Relauncher) evict(ctx context.Context) bool {
	if !r.Body.Heartbeat().Dead(r.Host.Now(), hungLimit) {
		return false
	}
	var runs []body.Process
	for _, pid := range r.Body.Duplicates() {
		if p := body.ProcessOf(pid); p.Is() {
			runs = append(runs, p)
		}
	}
	still := func(p body.Process) bool { return p.Is() }
	for _, end := range []func(int) error{terminate, kill} {
		for _, p := range runs {
			if p.Is() {
				_ = end(p.PID) // it may have ended by itself
			}
		}
		for deadline := time.Now().Add(termWait); slices.ContainsFunc(runs, still); {
			if time.Now().After(deadline) || pause(ctx, poll) != nil {
				break
			}
		}
	}
	return len(runs) > 0
}

// attempt starts the agent and waits for its heartbeat.
func (r Relauncher) attempt(ctx context.Context) error {
	if held, err := r.Body.Held(ctx); err != nil {
		return err
	} else if held && r.Body.Alive(r.Host.Now(), aliveLimit) {
		return nil // somebody else was faster
	}
	l, err := command(r.Body, r.Host, r.Environ, relaunchLog)
	if err != nil {
		return err
	}
	if _, err := r.Body.Make(body.LogsDir); err != nil {
		return err
	}
	begin := r.start
	if begin == nil {
		begin = start
	}
	before := r.Body.Heartbeat()
	p, err := begin(l)
	if err != nil {
		return err
	}
	w := waiting{r.Body, p, before, hungLimit, aliveLimit, r.Host.Now}
	confirmed, err := w.wait(ctx)
	if err != nil || confirmed {
		return err
	}
	return r.silent(ctx, p)
}

// silent ends a process of ours that has had a minute to say something and did not.
func (r Relauncher) silent(ctx context.Context, p *process) error {
	for _, end := range []func(int) error{terminate, kill} {
		if end(p.pid) != nil {
			break
		}
		select {
		case <-p.ended:
		case <-time.After(termWait):
			continue
		case <-ctx.Done():
		}
		break
	}
	return fault.New(fault.Timeout, "no heartbeat within %v: %q", hungLimit, r.Body.Address())
}

// exhausted says for good that the agent could not be started anew: in a file, and in a
// notification that waits for whoever starts it by hand.
func (r Relauncher) exhausted(ctx context.Context, n int, why error) error {
	now := r.Host.Now()
	line, err := record.Encode(map[string]any{
		"at": stamp.Seconds(now), "attempts": n, "error": why.Error(), "address": r.Body.Address(),
	})
	if err == nil {
		_, err = r.Body.Make(body.LogsDir)
	}
	if err == nil {
		err = disk.Replace(r.Body.Path(permanentFile), line)
	}
	if err != nil {
		r.Say(err)
	}
	_, _, err = notice.Open(r.Body).Publish(ctx, notice.Event{
		Source: "system.refresh", Ref: "refresh_failed", Priority: notice.High,
		Body: "the agent could not be started anew: " + why.Error(),
	}, now)
	if err != nil {
		r.Say(err)
	}
	return fault.New(fault.From(why).Code, "not started anew, after %d attempts: %w", n, why).
		WithHint("mend it, then start the agent by hand; see %s", r.Body.Path(relaunchLog))
}

// ackWait is how long an agent waits for its watcher's word.
const ackWait = 5 * time.Second

// Watcher is the watcher of a hand-over, before the agent goes.
type Watcher struct {
	b       body.Body
	program string
}

// NewWatcher returns the watcher that a program is, or says why it cannot be started.
func NewWatcher(b body.Body, program string) (Watcher, error) {
	info, err := os.Stat(program)
	if err == nil && (!filepath.IsAbs(program) || !info.Mode().IsRegular()) {
		err = os.ErrInvalid
	}
	if err != nil {
		return Watcher{}, fault.New(fault.BadInput, "no program to start the agent anew with: %q: %w", program, err)
	}
	return Watcher{b, program}, nil
}

// Start starts the watcher and returns once it has said something, which it does when
// it holds the lock.
func (w Watcher) Start() error {
	if _, err := w.b.Make(body.LogsDir); err != nil {
		return err
	}
	in, out, err := os.Pipe()
	if err != nil {
		return err
	}
	defer in.Close()
	// The directory is not among the arguments: nobody who looks for runs on it is to
	// take the watcher for one.
	p, err := start(launch{
		args: []string{w.program, "--relaunch"}, env: os.Environ(), dir: w.b.Dir(),
		log: w.b.Path(relaunchLog), out: out,
	})
	out.Close()
	if err != nil {
		return err
	}
	spoke := make(chan bool, 1)
	go func() {
		n, err := in.Read(make([]byte, 1))
		spoke <- err == nil && n == 1
	}()
	select {
	case ready := <-spoke:
		if ready {
			return nil
		}
	case <-time.After(ackWait):
	}
	_ = kill(p.pid) // it may have ended by itself
	<-p.ended
	return fault.New(fault.IO, "the watcher did not begin: %q", w.b.Address()).
		WithHint("its log is %s", w.b.Path(relaunchLog))
}
