package disk

import (
	"os"

	"github.com/gofrs/flock"
)

// Hold takes an exclusive lock on a file, which it makes if need be, or fails with
// ErrHeld at once. The lock lasts until this process ends; children do not inherit
// it.
func Hold(path string) (*os.File, error) {
	if err := MakeLock(path); err != nil {
		return nil, err
	}
	locked, err := flock.New(path).TryLock()
	if err == nil && !locked {
		err = ErrHeld
	}
	if err != nil {
		return nil, err
	}
	return os.Open(os.DevNull)
}

// Held reports whether somebody holds the lock on a file, which need not exist.
func Held(path string) (bool, error) {
	if !Exists(path) {
		return false, nil
	}
	lock := flock.New(path)
	free, err := lock.TryRLock()
	if free {
		err = lock.Unlock()
	}
	return err == nil && !free, err
}
