package wake

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// explain says why dir has no events. The kernel's own words would mislead: it
// reports a full table of watches as a full disk, and too many inotify instances
// as too many open files.
func (h *Hub) explain(dir string, err error) string {
	inotify := runtime.GOOS == "linux"
	cause := ""
	switch {
	case errors.Is(err, syscall.ENOSPC) && inotify:
		cause = "fs.inotify.max_user_watches is used up"
	case errors.Is(err, syscall.EMFILE) && inotify && canOpen():
		cause = "fs.inotify.max_user_instances is used up"
	case errors.Is(err, syscall.EMFILE):
		cause = "the limit on open files (ulimit -n) is reached"
	case errors.Is(err, syscall.ENFILE):
		cause = "the system's limit on open files is reached"
	case errors.Is(err, fs.ErrPermission):
		cause = fmt.Sprintf("permission denied: %q", dir)
	default:
		cause = fmt.Sprintf("%q: %v", dir, err)
	}
	return fmt.Sprintf("no file events: %s; scanning every %v instead", cause, h.scan)
}

// canOpen reports whether this process may open one more file.
func canOpen() bool {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return false
	}
	f.Close()
	return true
}
