package main

import (
	"context"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/attend"
	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/tool"
)

// adjustments defines the flags that win over agents.yaml.
func adjustments(c *tool.Call) func(*home.Agent) {
	run, context, reply := c.Flags.String("exec", "", ""), c.Flags.String("context", "", ""), c.Flags.String("reply", "", "")
	attempts, limit := door.Positive(c.Flags, "attempts"), door.Positive(c.Flags, "max-bytes")
	pause, timeout := c.Duration("pause", 0), c.Duration("timeout", 0)
	return func(a *home.Agent) {
		set(&a.Run, *run)
		set(&a.Context, *context)
		set(&a.Reply, *reply)
		set(&a.Attempts, *attempts)
		set(&a.MaxBytes, *limit)
		set(&a.Pause, *pause)
		set(&a.Timeout, *timeout)
	}
}

func set[T comparable](to *T, value T) {
	var zero T
	if value != zero {
		*to = value
	}
}

// whom parses the command line, and returns this machine and the agents whose turns
// are to be taken.
func whom(c *tool.Call, every *bool, spot *string) (machine home.Home, names []string, err error) {
	names, err = c.Parse(0, 1)
	if err == nil {
		machine, err = home.Open()
	}
	switch {
	case err != nil:
	case *every == (len(names) == 1):
		err = c.Misuse("name one agent, or --all")
	case *every && *spot == "-":
		err = c.Misuse("offers are for one agent: name it")
	case *every:
		if names, err = machine.Agents(); err == nil && len(names) == 0 {
			err = c.Misuse("no agents in %s/agents.yaml", machine.Dir())
		}
	}
	return machine, names, err
}

// attendance is one run of the program.
type attendance struct {
	c       *tool.Call
	machine home.Home
	adjust  func(*home.Agent)
	text    bool
	mu      sync.Mutex // over what several agents print
}

// attendee returns who takes the turns of an agent, the only one on this machine
// for as long as Keep is open.
func (a *attendance) attendee(name string) (*attend.Attendee, error) {
	who := &attend.Attendee{
		Name: name, Machine: a.machine, Adjust: a.adjust, Chatter: a.c.Chatter(),
		Ran: func(r record.Run) error {
			a.mu.Lock()
			defer a.mu.Unlock()
			return a.c.Show(a.text, r)
		},
		Say: func(err error) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.c.Warn(err)
		},
	}
	err := who.Check()
	if err == nil {
		who.Keep, err = a.machine.Only(name)
	}
	return who, err
}

// offers takes a turn on each offer that standard input brings.
func (a *attendance) offers(ctx context.Context, name string, flags door.Flags) error {
	who, err := a.attendee(name)
	if err != nil {
		return err
	}
	defer who.Keep.Close()
	return a.c.Each("offer", door.NewStream(ctx, flags).Turn(func(d *door.Door, o record.Offer) (any, error) {
		if o.For != name {
			return nil, fault.New(fault.BadInput, "offer is for %q, not for %q", o.For, name)
		}
		return who.Offered(ctx, d, o)
	}))
}

// serve takes the turns of each agent until it is interrupted.
func (a *attendance) serve(ctx context.Context, names []string, q door.Query) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, len(names))
	for _, name := range names {
		go func() { ended <- a.one(ctx, name, q) }()
	}
	var first error
	for range names {
		err := <-ended
		if len(names) > 1 && err != nil && ctx.Err() == nil {
			a.c.Fail(err) // the others go on
			continue
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// one takes the turns of one agent.
func (a *attendance) one(ctx context.Context, name string, q door.Query) error {
	who, err := a.attendee(name)
	if err != nil {
		return err
	}
	defer who.Keep.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	q.For = name
	wakes := make(chan door.Wake)
	lost := make(chan error, 1)
	go func() {
		defer close(wakes)
		for w, err := range q.Watch(ctx, 15*time.Second, who.Say, func(s string) { a.c.Notice("%s", s) }) {
			if err == nil && w.Err != nil && len(q.Rooms) > 0 {
				err = w.Err
			}
			if err != nil {
				lost <- err
				return
			}
			select {
			case wakes <- w:
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := who.Serve(ctx, wakes); err != nil {
		return err
	}
	select {
	case err := <-lost:
		return err
	default:
		return nil
	}
}
