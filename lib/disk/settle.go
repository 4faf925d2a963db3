package disk

import "time"

// Settled reports whether any change made from now on to the directory that had
// print p is sure to give it another one. It must be asked right after the
// change that gave p, and may wait for the clock to tick, 20 ms at most.
//
// Stamps come from a clock that ticks every 1 to 10 ms, so that two changes may
// share one; kernels of today give a stamp between two ticks to a change that
// follows a look at the last one. A stamp past the last tick shows such a kernel,
// on a file system that keeps the promise in every case (tmpfs does not, when a
// rename overwrites). Elsewhere the tick has to pass first. Stamps without digits
// below the millisecond, and those of a network's server, prove nothing.
func (p Print) Settled(dir string) bool {
	kind, network := FileSystem(dir)
	switch {
	case network, p.Changed%int64(time.Millisecond) == 0:
		return false
	case p.Changed > Tick() && (kind == "ext4" || kind == "xfs" || kind == "btrfs"):
		return true
	}
	return p.Quiet(20 * time.Millisecond)
}

// Quiet waits until a clock tick has passed since the last change, for limit at
// most, and reports whether it has.
//
// A stamp from ahead of the clock, which has been set back then, is not waited for.
func (p Print) Quiet(limit time.Duration) bool {
	if p.Changed > Tick()+int64(time.Second) {
		return false
	}
	for ; p.Changed >= Tick(); limit -= time.Millisecond {
		if limit <= 0 {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}
