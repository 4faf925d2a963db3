package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/alarm"
	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/control"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/mail"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/prompt"
)

// tickLock is how long a tick waits for a lock that somebody else has: it has other
// things to do, and comes again.
const tickLock = time.Second

// Start makes a directory's agent of this process: it takes the lease, reads the
// configuration, and is asleep with a heartbeat. When it fails the lease is free again.
func Start(ctx context.Context, b body.Body, o Options) (*Runner, error) {
	o = o.defaults()
	if b.Manifest().IsHuman() {
		return nil, fault.New(fault.Denied, "a human, not an agent: %q", b.Dir())
	}
	lease, err := acquire(ctx, b, o)
	if err != nil {
		return nil, err
	}
	r := &Runner{
		Options: o, body: b, lease: lease, store: notice.Open(b).Within(tickLock), alarm: alarm.NewWatch(b),
		state: Suspended, started: o.Host.Now(), process: body.ProcessOf(os.Getpid()),
		results: make(chan error, 1), nudge: make(chan struct{}, 1),
		faults: map[string]string{}, looked: unknown,
	}
	r.watch = r.store.Watch()
	r.log = b.Log(b.Manifest().Name())
	if err = r.open(); err == nil {
		err = r.boot(ctx)
	}
	if err != nil {
		err = errors.Join(err, b.StopBeat())
		lease.Release()
		return nil, err
	}
	return r, nil
}

// open opens the directory. A tick looks for a dozen files there, mostly in vain.
func (r *Runner) open() (err error) {
	if r.dir, err = disk.OpenDir(r.body.Dir()); err == nil {
		r.names = r.dir.Listing()
		r.held = r.dir.Print(body.LeaseFile)
	}
	return err
}

// list notes what is in the directory when a tick begins; where that fails each name is
// looked for by itself.
func (r *Runner) list() {
	r.listed = r.held != (disk.Print{}) && r.names.Look() == nil
}

// there reports whether there is something of a name in the directory: when the tick
// began, or now where there is none or we have moved something since.
func (r *Runner) there(name body.Signal) bool {
	switch {
	case r.held == (disk.Print{}):
		return disk.Exists(r.body.Path(string(name)))
	case r.listed:
		return r.names.Has(string(name))
	}
	return r.dir.Print(string(name)) != (disk.Print{})
}

// acquire takes the lease. Where it is held by a run that beats there is nothing to wait
// for; any other may be about to let go.
func acquire(ctx context.Context, b body.Body, o Options) (*body.Lease, error) {
	lease, err := b.Acquire(ctx, 0)
	if !fault.Is(err, fault.Busy) {
		return lease, err
	}
	pids := b.Duplicates()
	if len(pids) == 0 || !b.Alive(o.Host.Now(), o.Threshold) {
		if lease, err = b.Acquire(ctx, o.Grace); !fault.Is(err, fault.Busy) {
			return lease, err
		}
		pids = b.Duplicates()
	}
	if len(pids) == 0 {
		return nil, err
	}
	return nil, fault.New(fault.Exists, "a run on this directory is there already: %q: process %s",
		b.Dir(), strings.Trim(fmt.Sprint(pids), "[]")).WithHint("each agent needs its own directory")
}

// boot is everything between the lease and the first tick.
func (r *Runner) boot(ctx context.Context) error {
	stale, err := r.body.ClearStale()
	if err != nil {
		return err
	}
	if err := r.configure(preset.AtBoot); err != nil {
		return err
	}
	if err := r.Launch.Write(r.body); err != nil {
		return err
	}
	if err := r.load(); err != nil {
		return err
	}
	// Between turns only is a clear taken: a turn without an end began after one that could not be done.
	r.unclear = r.there(clearTaken) && r.journal.Turn != nil && r.journal.Turn.Over == ""
	r.event("agent_start", map[string]any{"stale_signals": stale, "pid": os.Getpid()})
	r.sweep()
	if err := r.reap(); err != nil {
		return err
	}
	r.become(Asleep, "start")
	if err := r.status(ctx); err != nil {
		return err
	}
	return r.body.Beat(r.Host.Now())
}

// reap ends what the mind of a turn without an end has left behind, in case the agent
// before could not: two minds at one turn would be one too many.
func (r *Runner) reap() error {
	t := r.journal.Turn
	if t == nil {
		return nil
	}
	gone, err := endLeftovers("SUBSTRATE_TURN_ID="+t.ID, t.Session)
	if gone > 0 {
		r.event("mind_reaped", map[string]any{"id": t.ID, "processes": gone})
	}
	return err
}

// leftAfter is how old a temporary file is that nobody is writing any more.
const leftAfter = time.Hour

// sweep removes what writers that died had not finished. What cannot be removed does no
// harm.
func (r *Runner) sweep() {
	for _, dir := range []string{".", body.HistoryDir, body.SystemDir, body.LogsDir, body.NoticeDir} {
		left, _ := os.ReadDir(r.body.Path(dir))
		for _, f := range left {
			info, err := f.Info()
			if err != nil || !info.Mode().IsRegular() || !disk.IsTemp(f.Name()) {
				continue
			}
			if r.Host.Now().Sub(info.ModTime()) > leftAfter {
				_ = disk.Remove(r.body.Path(dir, f.Name()))
			}
		}
	}
}

// configure reads the configuration and makes everything that is derived from it. When
// that cannot be done nothing is changed, and the agent goes on with what it had.
func (r *Runner) configure(when preset.When) error {
	reading := r.Host.Read(r.body.Dir(), when)
	if err := reading.Err(); err != nil {
		return err
	}
	was := r.config
	r.config = reading.Config
	if err := r.compose(); err != nil {
		r.config = was
		return err
	}
	if _, err := r.Host.WriteResolved(reading); err != nil {
		r.say(err) // a convenience to others
	}
	r.mail = mail.NewPoller(mail.Open(r.body, body.Env{Threshold: r.Threshold}),
		r.config.Texts("manifest", "pseudo_agent_subscriptions"))
	env, bad, err := r.config.Env()
	for _, err := range append(bad, err) {
		if err != nil {
			r.say(err)
		}
	}
	r.environ = r.minds(env.Over(r.Environ, false))
	if err := r.project(); err != nil {
		r.config = was
		return err
	}
	r.shown = ""
	r.event("configured", map[string]any{
		"outcome": reading.Outcome, "ignored_paths": reading.IgnoredPaths,
		"compatibility_paths": reading.CompatibilityPaths,
	})
	return nil
}

// compose composes the system prompt and writes it for the mind.
func (r *Runner) compose() error {
	p, err := prompt.Compose(prompt.Input{
		Body: r.body, Host: r.Host, Config: r.config, Resident: prompt.Resident,
	})
	if err != nil {
		return err
	}
	_, err = p.Write()
	return err
}

// project writes .agent.json.
func (r *Runner) project() error {
	c := r.config
	m, err := r.body.Project(body.Profile{
		Name: c.Text("manifest", "agent_name"), Admin: c.Object("manifest", "admin"),
		Language: c.Text("manifest", "language"), State: r.state,
		SoulDelay: c.Float(0, "manifest", "soul", "delay"), SoulVoice: c.Text("manifest", "soul", "voice"),
		LLM: c.LLM(), Capabilities: c.Capabilities(), Preset: c.Preset(), Started: r.started,
	}, r.Host.Now())
	if err != nil {
		return err
	}
	r.persists = m.Object
	r.identity = body.Identity{
		AgentID: m.AgentID(), Name: m.Name(), Nickname: m.Text("nickname"), Address: r.body.Address(),
	}
	r.log = r.body.Log(m.Name())
	return nil
}

// amend changes .agent.json. Where somebody has taken it away or spoilt it, it is made
// anew, and is the same agent's: what it alone has we have kept.
func (r *Runner) amend(change func(*body.Object) error) error {
	err := r.body.Amend(change)
	if kind := r.body.Manifest().Kind; err == nil || kind == body.Present {
		return err
	}
	kept := r.persists
	if err := r.project(); err != nil {
		return err
	}
	return r.body.Amend(func(o *body.Object) error {
		for _, key := range []string{"agent_id", "created_at", "molt_count", "nickname"} {
			if raw := kept.Get(key); raw != nil {
				if err := o.Set(key, raw); err != nil {
					return err
				}
			}
		}
		r.identity.AgentID = o.Text("agent_id")
		r.persists = o
		return change(o)
	})
}

// flags are the variables that our own flags are read from: a mind that calls our
// programs is not to inherit how its agent was called.
var flags = []string{"SUBSTRATE_MIND", "SUBSTRATE_RELAUNCH", "SUBSTRATE_TEXT", "SUBSTRATE_ERRORS"}

// minds returns the environment of a mind: it finds our programs, those of its virtual
// environment, and knows whose mind it is.
func (r *Runner) minds(environ []string) []string {
	path := ""
	env := slices.DeleteFunc(environ, func(pair string) bool {
		key, value, _ := strings.Cut(pair, "=")
		if key == "PATH" {
			path = value
		}
		return key == "PATH" || key == "SUBSTRATE_BODY" || slices.Contains(flags, key)
	})
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	dirs := []string{path, filepath.Dir(r.Launch.Program)}
	if venv := r.config.Text("venv_path"); venv != "" {
		if python, err := control.Python(venv); err != nil {
			r.say(err)
		} else {
			dirs = append([]string{filepath.Dir(python)}, dirs...)
			env = append(env, "VIRTUAL_ENV="+venv)
		}
	}
	path = strings.Join(dirs, string(filepath.ListSeparator))
	return append(env, "PATH="+path, "SUBSTRATE_BODY="+r.body.Dir())
}
