//go:build unix

package disk

import (
	"errors"
	"io/fs"
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

// Held reports whether somebody holds the lock on a file, which need not exist. It
// makes no file, and two who ask do not find each other; somebody who takes the lock
// without waiting at that very moment may.
func Held(path string) (bool, error) {
	f, _, err := Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close() // which lets go of it
	err = unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}
