package disk

import "golang.org/x/sys/unix"

// Tick returns the time that the kernel would stamp on a change made now if its
// stamps move once a clock tick, in ns since 1970. It is never ahead of the stamp
// of a later change.
func Tick() int64 {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &t) != nil {
		return 0
	}
	return t.Nano()
}
