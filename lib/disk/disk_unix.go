//go:build unix

package disk

import (
	"errors"
	"io/fs"
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

// own gives a file the owner of another, where this user may.
func own(f *os.File, like fs.FileInfo) {
	if st, ok := like.Sys().(*syscall.Stat_t); ok {
		f.Chown(int(st.Uid), int(st.Gid))
	}
}
