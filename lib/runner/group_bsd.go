//go:build unix && !linux

package runner

import "syscall"

// dieTogether has nothing to ask for here: a command outlives an agent that is killed,
// and ends when its turn does.
func dieTogether(*syscall.SysProcAttr) {}
