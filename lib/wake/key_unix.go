//go:build unix

package wake

import (
	"os"
	"syscall"
)

// keyOf returns what is equal for all names of one directory. The kernel watches
// it once, and fsnotify reports it under the path it was first added by.
func keyOf(path string, info os.FileInfo) any {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return [2]uint64{uint64(st.Dev), uint64(st.Ino)}
	}
	return path
}
