//go:build unix && !linux

package spawn

import "syscall"

// dieTogether has nothing to ask for here: a command outlives us when we are killed.
func dieTogether(*syscall.SysProcAttr) {}
