package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/control"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/tool"
)

// system is a run of the program.
type system struct {
	*tool.Call
	dir    *string
	wait   *time.Duration
	people *bool
	delay  *string // nil: none was given
	force  bool
	reason string
	preset string
	revert bool
	check  bool
	verify bool
}

func define(c *tool.Call) *system {
	s := &system{Call: c, dir: c.Workdir(), wait: c.LockTimeout(), people: c.Text()}
	f := c.Flags
	f.Func("delay", "", func(text string) error {
		s.delay = &text
		return nil
	})
	f.BoolVar(&s.force, "force", false, "")
	f.StringVar(&s.reason, "reason", "", "")
	f.StringVar(&s.preset, "preset", "", "")
	f.BoolVar(&s.revert, "revert", false, "")
	f.BoolVar(&s.check, "check", false, "")
	f.BoolVar(&s.verify, "verify", false, "")
	return s
}

// only refuses flags that an operation has no use for.
func (s *system) only(op string, names ...string) error {
	var useless []string
	s.Flags.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(append(names, "body", "lock-timeout", "text", "errors"), f.Name) {
			useless = append(useless, f.Name)
		}
	})
	return s.Without(op, useless...)
}

func (s *system) do(op string, operands []string) error {
	address := ""
	if len(operands) == 1 {
		address = operands[0]
	}
	b, err := body.Find(*s.dir)
	if err != nil {
		return err
	}
	c := control.Caller{
		Body: b, Host: preset.Here(), Threshold: body.ReadEnv(os.LookupEnv).Threshold,
		Environ: os.Environ(), Say: s.Warn,
	}
	ctx := context.Background()
	switch op {
	case control.Sleep:
		return s.sleep(ctx, c, operands)
	case control.Refresh:
		return s.refresh(ctx, c, operands)
	case control.Lull, control.Interrupt, control.Suspend, control.CPR, control.Clear, control.Nirvana:
		if err := s.only(op, "reason"); err != nil {
			return err
		}
		return s.show(c.Act(ctx, op, address, s.reason))
	}
	return s.Misuse("unknown operation: %q", op)
}

func (s *system) show(out record.Control, err error) error {
	if err != nil {
		return err
	}
	return s.Show(*s.people, out)
}

func (s *system) sleep(ctx context.Context, c control.Caller, operands []string) error {
	if err := s.only("sleep", "delay", "force"); err != nil {
		return err
	}
	var delay json.RawMessage
	switch {
	case len(operands) > 0:
		return s.Misuse("sleep is for oneself; lull puts another to sleep: %q", operands[0])
	case s.delay != nil && *s.delay == "":
		return s.Misuse("--delay is empty")
	case s.delay != nil:
		delay = json.RawMessage(*s.delay)
	}
	return s.show(c.Sleep(ctx, delay, s.force))
}

func (s *system) refresh(ctx context.Context, c control.Caller, operands []string) error {
	if err := s.only("refresh", "reason", "preset", "revert", "check", "verify"); err != nil {
		return err
	}
	look := s.check || s.verify
	if look {
		if err := s.Without("--check and --verify", "reason", "preset", "revert"); err != nil {
			return err
		}
	}
	switch {
	case look && (len(operands) > 0 || s.check && s.verify):
		return s.Misuse("one of --check and --verify, and for oneself")
	case s.check:
		return s.findings(control.Preflight(c.Body, c.Host))
	case s.verify:
		return s.findings(control.Verify(c.Body, c.Host.Now(), c.Threshold))
	case len(operands) > 0:
		if err := s.Without("the refresh of another", "preset", "revert"); err != nil {
			return err
		}
		return s.show(c.Act(ctx, control.Refresh, operands[0], s.reason))
	}
	return s.show(c.Refresh(ctx, preset.Request{Preset: s.preset, Revert: s.revert, Wait: *s.wait}, s.reason))
}

// findings prints them, and ends with a no when one of them is a failure.
func (s *system) findings(all []record.Finding) error {
	for _, f := range all {
		if f.Level == "fail" {
			s.No()
		}
		if err := s.Show(*s.people, f); err != nil {
			return err
		}
	}
	return nil
}
