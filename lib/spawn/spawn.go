// Package spawn runs a shell command as a process group that ends when its time is over.
package spawn

import (
	"context"
	"os/exec"
	"time"
)

// Grace is how long a group has between SIGTERM and SIGKILL, and how long output is
// waited for that a process left behind could still write.
const Grace = 2 * time.Second

// Command is a shell command. All of its group gets SIGTERM when its context ends. On
// Linux the kernel kills the command when we are killed, so that whoever is started
// again does not find the one before at work.
type Command struct {
	*exec.Cmd
	asked time.Time // to end; zero when it was not
}

// Shell returns a command to be run by sh, which is where it is on every Unix: a PATH
// may be missing.
func Shell(ctx context.Context, line string) *Command {
	c := &Command{Cmd: exec.CommandContext(ctx, shell, "-c", line)}
	c.WaitDelay = Grace
	c.group()
	return c
}

// Run runs the command and waits for it, not for what it leaves behind; see End.
func (c *Command) Run() error { return startAndWait(c.Cmd) }

// Status returns its exit status, 128 + n when signal n ended it, -1 when it has none.
func (c *Command) Status() int {
	if c.ProcessState == nil {
		return -1
	}
	return statusOf(c.ProcessState)
}
