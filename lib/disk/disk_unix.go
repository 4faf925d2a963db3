//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

const (
	noFollow = syscall.O_NOFOLLOW
	noBlock  = syscall.O_NONBLOCK
)

// irregular reports whether an open failed since the path names a symbolic link,
// which noFollow refuses, or a socket.
func irregular(err error) bool {
	return errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.ENXIO)
}

func syncDir(d *os.File) error { return d.Sync() }
