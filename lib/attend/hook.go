// Package attend takes the turns of an agent: an offer, a fresh process, its
// reply, and pauses between attempts that brought nothing.
package attend

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/spawn"
)

// Hook is a command that is run by sh, in a process group of its own.
type Hook struct {
	Command string
	Env     []string // KEY=VALUE, besides the environment
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Timeout time.Duration // after which the whole group is killed; 0: never
	// Keep is open in the command and in whatever it starts: a lock that lasts as
	// long as any of them. It may be nil.
	Keep *os.File
}

// ErrTimeout says that a hook was killed for taking too long.
var ErrTimeout = errors.New("timed out")

// Run runs the hook and returns its exit status, 128 + n when signal n ended it.
// The error says that it did not run to its end: ErrTimeout, the end of ctx, or
// that it could not be started.
func (h Hook) Run(ctx context.Context) (status int, err error) {
	if h.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, h.Timeout, ErrTimeout)
		defer cancel()
	}
	cmd := spawn.Shell(ctx, h.Command)
	cmd.Env = append(environ(), h.Env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = h.Stdin, h.Stdout, h.Stderr
	if h.Keep != nil {
		cmd.ExtraFiles = []*os.File{h.Keep}
	}
	err = cmd.Run()
	if ctx.Err() != nil {
		cmd.End()
		return cmd.Status(), context.Cause(ctx)
	}
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) || errors.Is(err, exec.ErrWaitDelay) {
		return cmd.Status(), nil
	}
	return -1, err
}

// environ is the environment of a hook: ours, without what set flags of ours, and
// with the place of our own programs at the end of PATH, so that it finds them
// when started by cron.
func environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "SUBSTRATE_") && !strings.HasPrefix(v, "SUBSTRATE_HOME=")
	})
	self, err := os.Executable()
	if err != nil {
		return env
	}
	path := os.Getenv("PATH")
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	return append(env, "PATH="+strings.Join([]string{path, filepath.Dir(self)}, string(filepath.ListSeparator)))
}

// limited keeps so many bytes of what is written to it and lets the rest go, so
// that a child is never stopped by its own chatter.
type limited struct {
	to   io.Writer
	left int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.over = l.over || n < len(p)
	if n > 0 {
		if _, err := l.to.Write(p[:n]); err != nil {
			l.left = 0
		}
	}
	return len(p), nil
}
