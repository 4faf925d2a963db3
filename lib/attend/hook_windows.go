package attend

import "os/exec"

const shell = "sh"

func group(*exec.Cmd) (end func()) { return func() {} }

func statusOf(cmd *exec.Cmd) int {
	if cmd.ProcessState == nil {
		return -1
	}
	return cmd.ProcessState.ExitCode()
}
