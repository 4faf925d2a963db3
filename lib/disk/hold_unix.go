//go:build unix

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Hold takes an exclusive lock on a file, which it makes if need be, or fails with
// ErrHeld at once. The lock lasts until the file is closed here and in every
// process that inherited it.
func Hold(path string) (*os.File, error) {
	if err := MakeLock(path); err != nil {
		return nil, err
	}
	f, err := Edit(path)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, ErrHeld
	}
	return nil, err
}
