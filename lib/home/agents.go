package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/yamldoc"
)

// Agent is how somebody's turns are taken on this machine. The keys besides run
// and context are ours; each has a default.
type Agent struct {
	Run      string        // a command for sh
	Context  string        // full or incremental; what is offered at each turn
	Reply    string        // self: the command posts; stdout: what it prints is posted
	Attempts int           // how often a turn is tried that brings no entry
	Pause    time.Duration // before the second attempt; each later one waits three times as long
	Timeout  time.Duration // after which the command is killed
	MaxBytes int           // of transcript text that are offered; 0 means all
}

// defaults are what an agent has that says nothing.
var defaults = Agent{Context: "full", Reply: "self", Attempts: 3, Pause: 5 * time.Second, Timeout: 30 * time.Minute}

// Agents returns the names of the agents that are configured.
func (h Home) Agents() ([]string, error) {
	doc, err := h.doc("agents.yaml")
	if err != nil {
		return nil, err
	}
	names, err := doc.Keys("agents")
	if err != nil {
		return nil, fault.New(fault.Corrupt, "%w", err)
	}
	return names, nil
}

// Agent returns how somebody's turns are taken. One who is not configured has the
// defaults, and no command.
func (h Home) Agent(who string) (Agent, error) {
	a := defaults
	doc, err := h.doc("agents.yaml")
	if err != nil {
		return a, err
	}
	r := reader{doc: doc, at: []string{"agents", who}}
	r.text("run", &a.Run)
	r.text("context", &a.Context)
	r.text("reply", &a.Reply)
	r.number("attempts", &a.Attempts)
	r.duration("pause", &a.Pause)
	r.duration("timeout", &a.Timeout)
	r.number("max_bytes", &a.MaxBytes)
	if r.err != nil {
		return a, fault.New(fault.Corrupt, "agent %q: %w", who, r.err)
	}
	return a, a.Check()
}

// Check refuses what makes no sense.
func (a Agent) Check() error {
	switch {
	case a.Context != "full" && a.Context != "incremental":
		return fault.New(fault.BadInput, "context is full or incremental, not %q", a.Context)
	case a.Reply != "self" && a.Reply != "stdout":
		return fault.New(fault.BadInput, "reply is self or stdout, not %q", a.Reply)
	case a.Attempts < 1:
		return fault.New(fault.BadInput, "attempts is below 1: %d", a.Attempts)
	case a.Timeout <= 0 || a.Pause <= 0:
		return fault.New(fault.BadInput, "timeout and pause are above 0")
	}
	return nil
}

// reader reads keys of one agent until one is wrong.
type reader struct {
	doc *yamldoc.Doc
	at  []string
	err error
}

func (r *reader) text(key string, to *string) {
	if r.err != nil {
		return
	}
	value, ok, err := r.doc.String(append(r.at, key)...)
	if r.err = err; ok && value != "" {
		*to = value
	}
}

func (r *reader) number(key string, to *int) {
	if r.err != nil {
		return
	}
	value, ok, err := r.doc.Int(append(r.at, key)...)
	if r.err = err; ok {
		*to = value
	}
}

func (r *reader) duration(key string, to *time.Duration) {
	var s string
	if r.text(key, &s); r.err == nil && s != "" {
		if *to, r.err = time.ParseDuration(s); r.err != nil {
			r.err = fmt.Errorf("%s: not a time such as 30s or 5m: %q", key, s)
		}
	}
}

// Only holds the right to attend somebody on this machine for as long as the file
// is open, here or in any process that inherited it. It refuses with busy when it
// is held elsewhere.
func (h Home) Only(who string) (*os.File, error) {
	if err := h.make(); err != nil {
		return nil, err
	}
	f, err := disk.Hold(filepath.Join(h.dir, ".attend-"+name.Component(who)+".lock"))
	if errors.Is(err, disk.ErrHeld) {
		return nil, fault.New(fault.Busy, "attended already on this machine: %q", who).
			WithHint("by another attendee, or by a command that one left at work")
	}
	return f, err
}
