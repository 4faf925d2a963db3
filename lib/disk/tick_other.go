//go:build !linux

package disk

import "time"

// Tick returns a time that is never ahead of the stamp of a later change, in ns
// since 1970. Ten milliseconds are allowed for a coarse clock.
func Tick() int64 { return time.Now().Add(-10 * time.Millisecond).UnixNano() }
