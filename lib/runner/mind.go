package runner

import (
	"context"

	"github.com/substrate-tools/substrate/lib/record"
)

// Mind takes turns, one at a time.
type Mind interface {
	// Take takes a turn and returns when it is over, nil when it is done. It ends
	// early, and with it whatever it started, when ctx ends; its error is ctx's then,
	// however far it got.
	Take(ctx context.Context, t Turn) error
	// Sign returns a number that is another one whenever the mind gives a sign of life.
	Sign() int64
}

// Turn is what a mind is given.
type Turn struct {
	record.Turn
	Channels []record.Notification
	Environ  []string
}

// Failure is a turn that went wrong. A transient one is tried again for free, a few
// times.
type Failure struct {
	Err       error
	Transient bool
}

func (f *Failure) Error() string { return f.Err.Error() }

// Unwrap returns what went wrong.
func (f *Failure) Unwrap() error { return f.Err }
