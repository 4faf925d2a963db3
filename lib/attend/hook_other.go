//go:build !linux

package attend

import "os/exec"

func startAndWait(cmd *exec.Cmd) error { return cmd.Run() }
