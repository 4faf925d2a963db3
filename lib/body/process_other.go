//go:build !linux

package body

import "os"

// ProcessOf returns the name of a process, as far as this system says: never enough
// for Is.
func ProcessOf(pid int) Process {
	host, _ := os.Hostname()
	return Process{PID: pid, Host: host}
}

// Duplicates says nothing here; what keeps a second agent out is the lease.
func (b Body) Duplicates() []int { return nil }
