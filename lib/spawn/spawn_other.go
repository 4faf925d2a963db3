//go:build !linux

package spawn

import "os/exec"

func startAndWait(cmd *exec.Cmd) error { return cmd.Run() }
