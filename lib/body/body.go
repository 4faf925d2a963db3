// Package body is an agent's directory: what lies where in it, who holds it (the
// lease), whether its agent is alive (the heartbeat), what the agent is
// (.agent.json) and does (.status.json), and the signals that others put there.
//
// An agent is one directory, and its base name is the agent's address. Files have
// one writer, the agent that holds the lease, unless a function here says
// otherwise. Readers take no lock and write nothing.
package body

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

// The names of things in an agent's directory.
const (
	InitFile      = "init.json"   // the operator's; never written here
	ManifestFile  = ".agent.json" // see Manifest
	HeartbeatFile = ".agent.heartbeat"
	LeaseFile     = ".agent.lock"
	StatusFile    = ".status.json"
	AlarmFile     = ".alarm"
	NoticeDir     = ".notification"
	DropDir       = ".mcp_inbox"
	MailDir       = "mailbox"
	SystemDir     = "system"
	HistoryDir    = "history"
	LogsDir       = "logs"
	EventsFile    = "logs/events.jsonl"
	ResolvedFile  = "system/manifest.resolved.json"
)

// maxFile is the largest of an agent's small files that is read, in bytes.
const maxFile = 4 << 20

// Body is an agent's directory.
type Body struct{ dir string }

// Open returns the body in a directory, by its real path. What is in it is not
// looked at.
func Open(dir string) (Body, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Body{}, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			err = &fs.PathError{Op: "open", Path: dir, Err: errors.New("not a directory")}
		}
	}
	switch {
	case errors.Is(err, fs.ErrPermission):
		return Body{}, err
	case err != nil:
		return Body{}, fault.New(fault.BadInput, "no agent's directory: %q: %w", dir, err)
	}
	return Body{real}, nil
}

// Find returns the body in a directory or, where none is named, in the nearest one
// upward from here that holds an init.json or an .agent.json. A named one must hold
// one of them too.
func Find(dir string) (Body, error) {
	if dir != "" {
		b, err := Open(dir)
		if err == nil && !b.Settled() {
			err = fault.New(fault.BadInput, "no agent's directory: %q", dir).
				WithHint("one holds %s or %s", InitFile, ManifestFile)
		}
		return b, err
	}
	here, err := os.Getwd()
	if err != nil {
		return Body{}, err
	}
	for at := here; ; at = filepath.Dir(at) {
		if (Body{at}).Settled() {
			return Open(at)
		}
		if at == filepath.Dir(at) {
			return Body{}, fault.New(fault.BadInput, "no agent's directory here or above: %q", here).
				WithHint("give --body DIR, or set SUBSTRATE_BODY")
		}
	}
}

// Settled reports whether there is anything of an agent: an init.json to start it
// from, or an .agent.json that it left.
func (b Body) Settled() bool {
	return disk.Exists(b.Path(InitFile)) || disk.Exists(b.Path(ManifestFile))
}

// Dir returns the directory: absolute, without symbolic links.
func (b Body) Dir() string { return b.dir }

// Address returns the agent's address, the base name of its directory.
func (b Body) Address() string { return filepath.Base(b.dir) }

// Network returns the directory whose children are the agent's peers.
func (b Body) Network() string { return filepath.Dir(b.dir) }

// Path returns the path of something in the directory.
func (b Body) Path(parts ...string) string {
	return filepath.Join(append([]string{b.dir}, parts...)...)
}

// Same reports whether both are the same directory, whatever its spelling.
func (b Body) Same(other Body) bool {
	if b.dir == other.dir {
		return true
	}
	x, err := os.Stat(b.dir)
	if err != nil {
		return false
	}
	y, err := os.Stat(other.dir)
	return err == nil && os.SameFile(x, y)
}

// Make makes a directory below the agent's, and those on the way, each shared the
// way its parent is; it may be there already. It returns its path.
func (b Body) Make(rel string) (string, error) {
	at := b.dir
	for _, part := range strings.Split(filepath.ToSlash(filepath.Clean(rel)), "/") {
		if part == ".." || part == "" {
			return "", fault.New(fault.BadInput, "not below the agent's directory: %q", rel)
		}
		at = filepath.Join(at, part)
		if err := disk.Mkdir(at); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	if info, err := os.Stat(at); err == nil && !info.IsDir() {
		return "", fault.New(fault.Corrupt, "not a directory: %q", at).WithHint("move it away")
	}
	return at, nil
}

// List returns the bodies that are children of a network directory, sorted by
// name. A child that is a symbolic link counts as the directory it leads to, which
// is listed once however many names it has.
func List(network string) ([]Body, error) {
	n, err := Open(network)
	if err != nil {
		return nil, err
	}
	children, err := os.ReadDir(n.dir)
	if err != nil {
		return nil, err
	}
	var all []Body
	for _, child := range children {
		b, err := Open(n.Path(child.Name()))
		if err != nil || !b.Settled() || contains(all, b) {
			continue
		}
		all = append(all, b)
	}
	return all, nil
}

func contains(all []Body, b Body) bool {
	for _, other := range all {
		if other.dir == b.dir {
			return true
		}
	}
	return false
}
