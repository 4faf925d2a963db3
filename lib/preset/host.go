// Package preset reads an agent's configuration, init.json, and changes which preset
// is active in it.
//
// A preset is one file; its identity is its path. What an agent runs on is made anew
// at each reading: init.json, with the active preset's model and capabilities in
// their place, checked, its paths resolved. A reading writes nothing. Only Activate
// writes init.json, as one edit that leaves the rest of the text alone, and only
// WriteResolved writes system/manifest.resolved.json, which nobody here reads.
package preset

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
)

// Host is what a reading takes from outside an agent's directory.
type Host struct {
	Home    string // what ~ stands for; "" when there is none
	Look    body.Lookup
	Now     func() time.Time
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	Program func(name string) bool // whether it can be run
}

// Here returns the host that this process is on.
func Here() Host {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		home = "" // needed by paths with ~ only
	}
	return Host{
		Home: home, Look: os.LookupEnv, Now: time.Now, Dial: new(net.Dialer).DialContext,
		Program: func(name string) bool {
			_, err := exec.LookPath(name)
			return err == nil
		},
	}
}

// expand returns a path with ~ in its place and joined to dir where it is relative.
func (h Host) expand(path, dir string) (string, error) {
	if path == "~" || strings.HasPrefix(path, "~/") {
		if h.Home == "" {
			return "", fault.New(fault.BadInput, "no home directory for %q: HOME is not set", path)
		}
		return filepath.Join(h.Home, path[1:]), nil
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	if dir == "" {
		return "", fault.New(fault.BadInput, "relative path without an agent's directory: %q", path)
	}
	return filepath.Join(dir, path), nil
}

// resolve returns a path without symbolic links, as far as it exists.
func resolve(path string) string {
	for at, rest := path, ""; ; at, rest = filepath.Dir(at), filepath.Join(filepath.Base(at), rest) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
	}
}

// Member reports whether a preset is one of those that refs, which is to be a list
// of paths, allow: by the same words, or as another spelling of the same file. It is
// the one gate, for an agent's own preset and for those of its daemons; whatever it
// cannot make sense of is no member.
func (h Host) Member(dir string, candidate, refs any) bool {
	ref, ok := candidate.(string)
	allowed, isList := refs.([]any)
	if !ok || ref == "" || !isList {
		return false
	}
	path, err := h.expand(ref, dir)
	for _, item := range allowed {
		other, ok := item.(string)
		if !ok || other == "" {
			continue
		}
		if other == ref {
			return true
		}
		if at, bad := h.expand(other, dir); err == nil && bad == nil && resolve(at) == resolve(path) {
			return true
		}
	}
	return false
}
