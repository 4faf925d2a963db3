package spawn

import (
	"os/exec"
	"runtime"
	"syscall"
)

func dieTogether(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// startAndWait keeps to one thread, since the kernel takes the end of the thread that
// started a child for the end of its parent.
func startAndWait(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if was := slack(); was > usual { // see Unhurried; the command begins with ours
		slacken(usual)
		defer slacken(was)
	}
	return cmd.Run()
}
