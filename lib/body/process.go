package body

import (
	"path/filepath"
	"slices"
	"strings"
)

// Process names a process so that no other is taken for it: on another host, after
// a restart of the machine, or where its number was given to another.
type Process struct {
	PID     int    `json:"pid"`
	Host    string `json:"host"`
	Boot    string `json:"boot"`    // of the machine; "" where the system does not say
	Started int64  `json:"started"` // in clock ticks since the machine's boot; 0 where the system does not say
}

// Is reports whether this process is known to run, here and now. Only then may it
// be sent a signal.
func (p Process) Is() bool {
	now := ProcessOf(p.PID)
	return p.PID > 0 && p == now && now.Boot != "" && now.Started != 0
}

// Runs reports whether a command line, of a process that is in the directory cwd, is
// that of an agent's run on this directory: our program's, or the prior runtime's. A
// relative path is not looked at where cwd is "", not known; the lease decides in any
// case.
func (b Body) Runs(args []string, cwd string) bool {
	if len(args) == 0 {
		return false
	}
	rest := args[1:]
	if filepath.Base(args[0]) != "substrate-agent" {
		i := slices.Index(rest, "run")
		theirs := func(arg string) bool { return strings.Contains(arg, "lingtai") }
		if i < 0 || !slices.ContainsFunc(args[:i+1], theirs) {
			return false
		}
		rest = rest[i+1:]
	}
	for i, arg := range rest {
		if i > 0 && strings.HasPrefix(rest[i-1], "-") && !strings.Contains(rest[i-1], "=") {
			continue // may be the value of a flag
		}
		if !filepath.IsAbs(arg) {
			if cwd == "" {
				continue
			}
			arg = filepath.Join(cwd, arg)
		}
		if other, err := Open(arg); err == nil && b.Same(other) {
			return true
		}
	}
	return false
}
