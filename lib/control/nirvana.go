package control

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

const (
	lastWait = 10 * time.Second // for an agent that is to end before it is destroyed
	lastPoll = 500 * time.Millisecond
)

// fence lets only a directory pass that is itself a child of the caller's network:
// neither one elsewhere nor one that a link leads to.
func (c Caller) fence(target body.Body, named string) error {
	info, err := os.Lstat(named)
	switch {
	case err != nil:
		return err
	case info.Mode()&fs.ModeSymlink != 0:
		return fault.New(fault.Denied, "a link, not an agent's directory: %q", named)
	case filepath.Dir(target.Dir()) != c.Body.Network() || target.Dir() == target.Network():
		return fault.New(fault.Denied, "not a child of %q: %q", c.Body.Network(), target.Dir())
	}
	return nil
}

// destroy ends an agent for good and removes its directory. The directory leaves its
// name in one step, under the lease, so that no agent starts in it meanwhile and none is
// ever seen half gone.
func (c Caller) destroy(ctx context.Context, target body.Body, out record.Control) (record.Control, error) {
	release, err := c.end(ctx, target)
	if err != nil {
		return record.Control{}, err
	}
	defer release()
	out.Outcome = Nirvana
	c.log(out) // before: the log is all that is left to tell
	grave := filepath.Join(target.Network(), fmt.Sprintf("%s%016x", disk.TempPrefix, rand.Uint64()))
	if err := disk.MoveNew(target.Dir(), grave); err != nil {
		return record.Control{}, err
	}
	// These two make a directory an agent's; should we die now, a heap of files is left.
	for _, file := range []string{body.ManifestFile, body.InitFile} {
		if err := disk.Remove(filepath.Join(grave, file)); err != nil {
			return record.Control{}, err
		}
	}
	if err := os.RemoveAll(grave); err != nil {
		return record.Control{}, fault.New(fault.IO, "destroyed, but for some of its files: %w", err).
			WithHint("remove %s", grave)
	}
	return out, disk.MakeDurable(target.Network())
}

// end has an agent end, if it lives, and takes its lease.
func (c Caller) end(ctx context.Context, target body.Body) (release func(), err error) {
	lease, err := target.Acquire(ctx, 0)
	if err == nil {
		return lease.Release, nil
	}
	if !fault.Is(err, fault.Busy) {
		return nil, err
	}
	if err := target.Put(body.Suspend, ""); err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lastWait); ; {
		select {
		case <-time.After(lastPoll):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		lease, err := target.Acquire(ctx, 0)
		switch {
		case err == nil:
			return lease.Release, nil
		case !fault.Is(err, fault.Busy):
			return nil, err
		case time.Now().After(deadline):
			return nil, fault.New(fault.Busy, "still running after %v: %q", lastWait, target.Address()).
				WithHint("it was asked to end; look at its process before you try again")
		}
	}
}
