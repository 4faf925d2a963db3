//go:build unix

package attend

import (
	"os/exec"
	"syscall"
)

// shell is where it is on every Unix; a PATH may be missing.
const shell = "/bin/sh"

// group gives the command a process group, all of which gets SIGTERM when its
// time is over; what is left after the grace period is killed.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieTogether(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
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
