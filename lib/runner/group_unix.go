//go:build unix

package runner

import (
	"os/exec"
	"syscall"
)

// shell is where it is on every Unix; a PATH may be missing.
const shell = "/bin/sh"

// group gives the command a process group, all of which gets SIGTERM when the turn is
// cut off; what is left after the grace period is killed.
func group(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieTogether(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killGroup ends what the command has left behind in its group.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // there may be nothing left
	}
}
