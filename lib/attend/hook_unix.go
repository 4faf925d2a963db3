//go:build unix

package attend

import (
	"os/exec"
	"syscall"
	"time"
)

// shell is where it is on every Unix; a PATH may be missing.
const shell = "/bin/sh"

// group gives the command a process group, all of which gets SIGTERM when its time is
// over.
// end kills what is left of it, not before the grace period since then is over: a shell
// in front of what was asked to end is gone before it.
func group(cmd *exec.Cmd) (end func()) {
	var asked time.Time
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieTogether(cmd.SysProcAttr)
	cmd.Cancel = func() error {
		asked = time.Now()
		return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	}
	return func() {
		if cmd.Process == nil {
			return
		}
		group := -cmd.Process.Pid
		for time.Since(asked) < grace && syscall.Kill(group, 0) == nil {
			time.Sleep(5 * time.Millisecond)
		}
		_ = syscall.Kill(group, syscall.SIGKILL) // there may be nothing left
	}
}

func statusOf(cmd *exec.Cmd) int {
	if cmd.ProcessState == nil {
		return -1
	}
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() {
		return 128 + int(st.Signal())
	}
	return cmd.ProcessState.ExitCode()
}
