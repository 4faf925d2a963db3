package disk

import (
	"errors"
	"io/fs"
	"syscall"
)

func renameNew(from, to string) error { return linkNew(from, to) }

const canExchange = false

func exchange(_, _ string) error { return errors.ErrUnsupported }

// Print is what the system notes about a file or directory whenever it changes.
type Print struct {
	Inode, Size, Modified, Changed int64 // times in ns since 1970
}

// PrintOf returns the print of what info describes.
func PrintOf(info fs.FileInfo) Print {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Print{}
	}
	return Print{int64(st.Ino), st.Size, st.Mtimespec.Nano(), st.Ctimespec.Nano()}
}

// FileSystem names the file system that holds path, and says whether it is one
// that a network serves, where locks may not exclude.
func FileSystem(path string) (kind string, network bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return "an unknown file system", false
	}
	for _, c := range st.Fstypename {
		if c == 0 {
			break
		}
		kind += string(rune(c))
	}
	const local = 0x00001000 // MNT_LOCAL
	return kind, st.Flags&local == 0
}
