package body

import (
	"context"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

// The lease says who the agent of a directory is: whoever holds an exclusive
// flock(2) on .agent.lock. The file itself means nothing, so it is never removed; a
// dead holder's lock is freed by the kernel. Children do not inherit it.

// LeaseGrace is how long an agent that starts waits for the one before it to let
// go.
const LeaseGrace = 10 * time.Second

// leasePause is how long an acquisition waits before it asks again.
const leasePause = 250 * time.Millisecond

// Lease is the right to be the agent of a directory.
type Lease struct {
	once   sync.Once
	unlock func()
}

// Acquire takes the lease, or refuses with busy when it was held elsewhere for as
// long as wait; with a wait of 0 it tries once. It ends early with
// ctx's cause.
func (b Body) Acquire(ctx context.Context, wait time.Duration) (*Lease, error) {
	deadline := time.Now().Add(wait) // monotonic: no step of the wall clock moves it
	for {
		unlock, err := disk.Lock(ctx, b.Path(LeaseFile), 0)
		switch {
		case err == nil:
			return &Lease{unlock: unlock}, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !fault.Is(err, fault.Busy):
			return nil, fault.New(fault.From(err).Code, "cannot take the lease of %q: %w", b.dir, err).
				WithHint("keep agents on a file system that can be written and whose locks work")
		}
		left := time.Until(deadline)
		if left <= 0 {
			return nil, fault.New(fault.Busy, "another agent has this directory: %q", b.dir).
				WithHint("each agent needs its own directory")
		}
		select {
		case <-time.After(min(left, leasePause)):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Release lets go of the lease. To release it again does nothing.
func (l *Lease) Release() { l.once.Do(l.unlock) }

// Held reports whether somebody holds the lease. To look makes no lock file.
func (b Body) Held(context.Context) (bool, error) { return disk.Held(b.Path(LeaseFile)) }
