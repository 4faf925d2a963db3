// Package control is what one agent may do to another, and to itself: sleep, lull,
// interrupt, suspend, cpr, clear, nirvana and refresh.
//
// Each operation passes gates first, in one order: the caller's rights, an address, not
// oneself, an agent there, its life. A gate that refuses has written nothing. What is
// done is a file in the other's directory, which the other takes when it looks; only
// cpr starts a process, and only nirvana removes a directory.
package control

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
)

// The operations.
const (
	Sleep     = "sleep"
	Lull      = "lull"
	Interrupt = "interrupt"
	Suspend   = "suspend"
	Clear     = "clear"
	CPR       = "cpr"
	Nirvana   = "nirvana"
	Refresh   = "refresh"
)

// Caller is an agent that acts.
type Caller struct {
	Body      body.Body
	Threshold time.Duration // see body.Env
	Host      preset.Host   // its clock is the one there is
	Environ   []string      // of a process that is started, before it is cleaned
	Say       func(error)   // told what went wrong besides

	start func(launch) (*process, error) // how a process is started; nil is for real
}

// signals are the operations that are a file in the other's directory and no more.
var signals = map[string]struct {
	file    body.Signal
	outcome string
}{
	Lull:      {body.Sleep, "asleep"},
	Interrupt: {body.Interrupt, "interrupted"},
	Suspend:   {body.Suspend, "suspended"},
	Clear:     {body.Clear, "cleared"},
	Refresh:   {body.Refresh, "refresh_requested"},
}

// Act does an operation to the agent at an address. For Sleep, and to refresh oneself,
// there are functions of their own.
func (c Caller) Act(ctx context.Context, op, address, reason string) (record.Control, error) {
	signal, ok := signals[op]
	if !ok && op != CPR && op != Nirvana {
		return record.Control{}, fault.New(fault.Usage, "no operation on another: %q", op)
	}
	target, err := c.gate(op, address, reason)
	if err != nil {
		return record.Control{}, err
	}
	out := c.receipt(op, target, reason)
	switch op {
	case CPR:
		return c.revive(ctx, target, out)
	case Nirvana:
		return c.destroy(ctx, target, out)
	}
	out.Outcome = signal.outcome
	text := ""
	switch op {
	case Clear:
		if out.Reason == "" {
			out.Reason = c.Body.Address()
		}
		text = out.Reason
	case Refresh:
		text = request(c.Body, reason)
	}
	if err := target.Put(signal.file, text); err != nil {
		return record.Control{}, err
	}
	c.log(out)
	return out, nil
}

func (c Caller) receipt(op string, target body.Body, reason string) record.Control {
	return record.Control{
		Type: "control", Op: op, By: c.Body.Address(), Address: target.Address(), Dir: target.Dir(), Reason: reason,
	}
}

// log notes what was done in the caller's own log.
func (c Caller) log(out record.Control) {
	c.event("karma", map[string]any{
		"op": out.Op, "target": out.Address, "outcome": out.Outcome, "reason": out.Reason,
	})
}

func (c Caller) event(kind string, fields map[string]any) {
	if err := c.Body.Log(c.Body.Manifest().Name()).Append(c.Host.Now(), kind, fields); err != nil {
		c.Say(err)
	}
}

// gate lets an operation pass, or says why not.
func (c Caller) gate(op, address, reason string) (body.Body, error) {
	var none body.Body
	if err := c.authority(op); err != nil {
		return none, err
	}
	switch {
	case address == "":
		return none, fault.New(fault.BadInput, "address missing: %s whom?", op)
	case op == Nirvana && strings.TrimSpace(reason) == "":
		return none, fault.New(fault.BadInput, "reason missing: why is %q to be destroyed?", address).
			WithHint("give --reason TEXT")
	}
	target, named, err := c.find(address)
	switch {
	case err != nil:
		return none, err
	case target.Same(c.Body):
		return none, fault.New(fault.Denied, "not to oneself: %s %q", op, address)
	}
	m := target.Manifest()
	switch {
	case !m.IsAgent() && target.Settled():
		return none, fault.New(fault.BadInput, "never started: %q", address).
			WithHint("substrate-agent %s --mind CMD starts it", record.Shell(target.Dir()))
	case !m.IsAgent():
		return none, noAgent(address)
	case m.IsHuman():
		return none, human(address)
	case op == Nirvana:
		return target, c.fence(target, named)
	}
	return target, c.life(op, target)
}

// authority asks for the rights that an operation takes.
func (c Caller) authority(op string) error {
	m := c.Body.Manifest()
	missing := ""
	switch {
	case !m.Karma():
		missing = "karma"
	case op == Nirvana && !m.Nirvana():
		missing = "nirvana"
	default:
		return nil
	}
	return fault.New(fault.Denied, "no right to %s: %q has no admin.%s", op, c.Body.Address(), missing).
		WithHint("rights are given in manifest.admin of its init.json")
}

// find returns the agent at an address: the name of a directory beside the caller's, or
// an absolute path. It also returns the path by which it was named.
func (c Caller) find(address string) (b body.Body, named string, err error) {
	named = address
	if !filepath.IsAbs(address) {
		if strings.ContainsAny(address, `/\`) || address == "." || address == ".." {
			return b, named, fault.New(fault.BadInput,
				"neither the name of a directory nor an absolute path: %q", address)
		}
		named = filepath.Join(c.Body.Network(), address)
	}
	named = filepath.Clean(named)
	if b, err = body.Open(named); fault.Is(err, fault.BadInput) {
		err = noAgent(address)
	}
	return b, named, err
}

func human(address string) error {
	return fault.New(fault.Denied, "a human, not an agent: %q", address)
}

func noAgent(address string) error {
	return fault.New(fault.UnknownParticipant, "no agent at %q", address).
		WithHint("substrate-agents lists those that there are")
}

// life asks that cpr finds its target dead and all others find theirs alive.
func (c Caller) life(op string, target body.Body) error {
	alive := target.Alive(c.Host.Now(), c.Threshold)
	switch {
	case op != CPR && !alive:
		return notRunning(target)
	case op == CPR && alive:
		return fault.New(fault.Exists, "running already: %q", target.Address())
	}
	return nil
}

func notRunning(target body.Body) error {
	return fault.New(fault.Unreachable, "not running: %q has no fresh heartbeat", target.Address()).
		WithHint("where one is starting, wait for its heartbeat")
}

// gap refuses to start what has no heartbeat but a process or somebody who is starting
// it: between the two is a gap that every start goes through.
func gap(ctx context.Context, target body.Body) error {
	held, err := target.Held(ctx)
	if err != nil {
		return err
	}
	pids := target.Duplicates()
	switch {
	case len(pids) > 0:
		return fault.New(fault.Busy, "a run of %q is there already, with no fresh heartbeat: process %s",
			target.Address(), list(pids)).WithHint("wait for its heartbeat; a second start helps nobody")
	case held:
		return fault.New(fault.Busy, "the lease of %q is held, with no fresh heartbeat", target.Address()).
			WithHint("wait for its heartbeat; a second start helps nobody")
	}
	return nil
}

// hold makes us the one who starts an agent, until the file is closed: of many who
// revive one, and the refresh that is just starting it anew, one does it.
func hold(target body.Body) (release func(), err error) {
	f, err := disk.Hold(target.Path(relaunchLock))
	if errors.Is(err, disk.ErrHeld) {
		return nil, fault.New(fault.Busy, "somebody is starting it already: %q", target.Address()).
			WithHint("wait for its heartbeat")
	}
	if err != nil {
		return nil, err
	}
	return func() { f.Close() }, nil
}

// relaunchLock is held by whoever starts an agent that was there before.
const relaunchLock = ".relaunch.lock"
