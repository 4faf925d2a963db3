package disk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/substrate-tools/substrate/lib/fault"
)

// Lock takes an exclusive flock(2) on path, making the file if need be, and
// returns its release. It asks again and again instead of waiting inside the
// kernel, where a lost file server would hold it for ever, and gives up after
// wait with the code busy, or when ctx ends.
//
// The kernel frees the lock of a process that died. The file itself means
// nothing and is never removed: a second opener could hold the removed one while
// a third locks its successor.
func Lock(ctx context.Context, path string, wait time.Duration) (unlock func(), err error) {
	// Some network file systems lock exclusively only what is open for writing.
	file := flock.New(path, flock.SetFlag(os.O_RDWR|noBlock|noFollow))
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	made, readOnly := false, false
	for {
		locked, err := file.TryLock()
		switch {
		case locked && named(file, path):
			return func() { file.Unlock() }, nil
		case locked:
			file.Unlock() // a checkout has put another file in its place
		case errors.Is(err, fs.ErrNotExist) && !made:
			if err := MakeLock(path); err != nil {
				return nil, err
			}
			made = true
			continue
		case errors.Is(err, fs.ErrPermission) && !readOnly:
			// A lock file that one may only read locks as well on a local one.
			file, readOnly = flock.New(path, flock.SetFlag(os.O_RDONLY|noBlock|noFollow)), true
			continue
		case err != nil:
			return nil, unlockable(path, err)
		}
		select {
		case <-time.After(pause()):
		case <-ctx.Done():
			return nil, busy(path, wait, ctx.Err())
		}
	}
}

// ErrHeld says that somebody else holds a lock.
var ErrHeld = errors.New("lock held elsewhere")

// pause is how long to wait before asking again: about as long as a post takes,
// so that a lock does not lie idle, and not as long as everybody else.
func pause() time.Duration {
	return time.Millisecond + time.Duration(rand.Int64N(int64(3*time.Millisecond)))
}

// named reports whether the locked file is still the one that path names.
func named(file *flock.Flock, path string) bool {
	held, err := file.Stat()
	now, gone := os.Stat(path)
	return err == nil && gone == nil && os.SameFile(held, now)
}

// MakeLock makes a lock file if there is none, shared the way its directory is.
func MakeLock(path string) error {
	mode, err := sharing(filepath.Dir(path))
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode&0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return share(f, mode&0o666)
}

func unlockable(path string, err error) error {
	if fault.From(err).Code == fault.Denied { // a read-only file system too
		return err
	}
	kind, _ := FileSystem(path)
	return fault.New(fault.IO, "cannot lock %q on %s: %w", path, kind, err).
		WithHint("keep the space on a file system whose locks work")
}

func busy(path string, wait time.Duration, cause error) error {
	if errors.Is(cause, context.Canceled) {
		return cause
	}
	on := ""
	if kind, network := FileSystem(path); network {
		on = " on " + kind
	}
	after := ""
	if wait > 0 {
		after = fmt.Sprintf(", after %v", wait)
	}
	return fault.New(fault.Busy, "lock held elsewhere: %q%s%s", path, on, after).
		WithHint("try again; the holder lets go when it ends")
}
