//go:build unix && !linux

package attend

import "syscall"

// dieTogether has nothing to ask for here: a command outlives an attendee that is
// killed, and ends when its turn does.
func dieTogether(*syscall.SysProcAttr) {}
