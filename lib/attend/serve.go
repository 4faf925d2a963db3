package attend

import (
	"context"
	"io"
	"os"
	"time"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// Attendee takes the turns of one agent, one at a time.
type Attendee struct {
	Name    string
	Machine home.Home
	// Adjust changes what agents.yaml says, which is read anew for every turn.
	Adjust  func(*home.Agent)
	Chatter io.Writer              // for what commands say to people
	Ran     func(record.Run) error // told of each attempt
	Say     func(error)            // told what went wrong besides
	Keep    *os.File               // see Hook
}

// agent returns how turns are taken now.
func (a *Attendee) agent() (home.Agent, error) {
	agent, err := a.Machine.Agent(a.Name)
	if err != nil {
		return agent, err
	}
	a.Adjust(&agent)
	if agent.Run == "" {
		return agent, fault.New(fault.BadInput, "no command for %q", a.Name).
			WithHint("give --exec, or a run line in %s/agents.yaml", a.Machine.Dir())
	}
	return agent, agent.Check()
}

// Check refuses an agent that could never take a turn.
func (a *Attendee) Check() error {
	_, err := a.agent()
	return err
}

// Offered takes a turn on an offer that came from elsewhere, in as many attempts
// as it takes, and returns the last.
func (a *Attendee) Offered(ctx context.Context, d *door.Door, o record.Offer) (record.Run, error) {
	for n := 1; ; n++ {
		agent, err := a.agent()
		if err != nil {
			return record.Run{}, err
		}
		run, err := a.attempt(ctx, d, o, agent)
		if err != nil || done(run) || n >= agent.Attempts {
			return run, err
		}
		select {
		case <-time.After(pause(agent, n)):
		case <-ctx.Done():
			return run, context.Cause(ctx)
		}
	}
}

// attempt is one turn, and moves the cursor when it brought an entry.
func (a *Attendee) attempt(ctx context.Context, d *door.Door, o record.Offer, agent home.Agent) (record.Run, error) {
	run, err := a.turn(ctx, d, o, agent)
	if err == nil && done(run) && o.ThroughEntry != "" {
		err = a.Machine.SetCursor(ctx, a.Name, o.Root, o.Thread, home.Cursor{Entry: o.ThroughEntry, Line: o.EndLine + 1})
	}
	return run, err
}

func done(run record.Run) bool { return run.Outcome == Posted || run.Outcome == Passed }

// pause is how long to wait after the nth attempt: three times as long each time,
// ten minutes at most.
func pause(agent home.Agent, n int) time.Duration {
	p := agent.Pause
	for ; n > 1 && p < 10*time.Minute; n-- {
		p *= 3
	}
	return min(p, 10*time.Minute)
}

// task is a turn to be taken.
type task struct {
	door     *door.Door
	key      store.Key
	version  int // of the room when the floor came
	attempts int
	due      time.Time
	given    bool // given up, until the room changes
}

// Serve takes turns as floors come, in the order they come, and goes on until ctx
// or wakes end. Rooms whose turn has to be tried again stand behind those that
// wait for their first.
func (a *Attendee) Serve(ctx context.Context, wakes <-chan door.Wake) error {
	s := &server{Attendee: a, tasks: map[store.Key]*task{}, finished: make(chan result)}
	timer := time.NewTimer(time.Hour)
	for {
		timer.Reset(s.next(ctx))
		select {
		case w, ok := <-wakes:
			if !ok {
				return nil
			}
			s.look(ctx, w)
		case r := <-s.finished:
			if err := s.settle(ctx, r); err != nil {
				return err
			}
		case <-timer.C:
		case <-ctx.Done():
			if s.busy {
				<-s.finished // the command is being killed
			}
			return context.Cause(ctx)
		}
	}
}

// server is the state of Serve.
type server struct {
	*Attendee
	tasks    map[store.Key]*task
	queue    []*task
	busy     bool
	said     string // the last complaint about agents.yaml
	finished chan result
}

type result struct {
	task  *task
	agent home.Agent
	run   record.Run
	err   error
	// misconfigured says that err is about agents.yaml, which somebody will repair.
	misconfigured bool
}

// look finds out which rooms wait for the agent.
func (s *server) look(ctx context.Context, w door.Wake) {
	if w.Err != nil {
		s.Say(w.Err)
		return
	}
	for key, err := range w.Keys(ctx) {
		if err != nil {
			s.Say(err)
			return
		}
		s.judge(ctx, w.Door, key)
	}
}

// judge makes a task of a room whose floor the agent has, unless it is one.
func (s *server) judge(ctx context.Context, d *door.Door, key store.Key) {
	head, err := d.Store.Head(ctx, key)
	if err != nil || head.State.Ended || head.State.Current() != s.Name {
		delete(s.tasks, key) // queued ones are looked at again before they run
		return
	}
	if t := s.tasks[key]; t != nil && t.version == head.Version {
		return
	}
	t := &task{door: d, key: key, version: head.Version}
	s.tasks[key] = t
	s.queue = append(s.queue, t)
}

// next starts the first turn that is due, if none is being taken, and returns how
// long it is until one could be.
func (s *server) next(ctx context.Context) time.Duration {
	wait := time.Hour
	if s.busy {
		return wait
	}
	for i := 0; i < len(s.queue); i++ {
		t := s.queue[i]
		if s.tasks[t.key] != t || t.given {
			s.queue = append(s.queue[:i], s.queue[i+1:]...)
			i--
			continue
		}
		if left := time.Until(t.due); left > 0 {
			wait = min(wait, left)
			continue
		}
		s.queue = append(s.queue[:i], s.queue[i+1:]...)
		s.busy = true
		go func() { s.finished <- s.take(ctx, t) }()
		return wait
	}
	return wait
}

// take offers the room as it is now and takes the turn.
func (s *server) take(ctx context.Context, t *task) result {
	r := result{task: t}
	if r.agent, r.err = s.agent(); r.err != nil {
		r.misconfigured = true
		return r
	}
	ask := room.Ask{For: s.Name, Policy: r.agent.Context, MaxBytes: r.agent.MaxBytes}
	offer, err := t.door.Offer(ctx, t.key, ask)
	if r.err = err; err == nil {
		r.run, r.err = s.attempt(ctx, t.door, offer, r.agent)
	}
	return r
}

// settle reports an attempt and decides what comes after it.
func (s *server) settle(ctx context.Context, r result) error {
	s.busy = false
	t := r.task
	if r.run.Outcome != "" {
		if err := s.Ran(r.run); err != nil {
			return err
		}
	}
	if done(r.run) && r.err == nil {
		delete(s.tasks, t.key)
		s.judge(ctx, t.door, t.key) // it may have come back meanwhile
		return nil
	}
	switch f := fault.From(r.err); {
	case r.err == nil:
	case f.Code == fault.NotYourTurn || f.Code == fault.Ended || f.Code == fault.UnknownThread:
		delete(s.tasks, t.key) // somebody has moved the floor on
		return nil
	case f.Message != s.said || !r.misconfigured:
		s.said = f.Message
		s.Say(r.err)
	}
	if s.tasks[t.key] != t {
		return nil
	}
	if r.misconfigured {
		t.due = time.Now().Add(15 * time.Second)
		s.queue = append(s.queue, t)
		return nil
	}
	if t.attempts++; t.attempts >= max(r.agent.Attempts, 1) {
		t.given = true
		printed := ""
		if r.agent.Reply != "stdout" && r.run.Outcome == "no_turn" {
			printed = "; what the command prints is posted with --reply stdout alone"
		}
		s.Say(fault.New(fault.Timeout, "left alone after %d attempts: %q in %q", t.attempts, s.Name, t.key.Room).
			WithHint("it is tried again when the floor comes again%s", printed))
		return nil
	}
	t.due = time.Now().Add(pause(r.agent, t.attempts))
	s.queue = append(s.queue, t)
	return nil
}
