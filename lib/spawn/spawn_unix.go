//go:build unix

package spawn

import (
	"os"
	"syscall"
	"time"
)

const shell = "/bin/sh"

func (c *Command) group() {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieTogether(c.SysProcAttr)
	c.Cancel = func() error {
		c.asked = time.Now()
		return syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
	}
}

// End kills what is left of the group once the command has ended. Where the group was
// asked to end it has the grace period from then on: a shell in front of what is to put
// its work away is gone before it.
func (c *Command) End() {
	if c.Process == nil {
		return
	}
	group := -c.Process.Pid
	for time.Since(c.asked) < Grace && syscall.Kill(group, 0) == nil {
		time.Sleep(5 * time.Millisecond)
	}
	_ = syscall.Kill(group, syscall.SIGKILL) // there may be nothing left
}

func statusOf(state *os.ProcessState) int {
	if st, ok := state.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return 128 + int(st.Signal())
	}
	return state.ExitCode()
}
