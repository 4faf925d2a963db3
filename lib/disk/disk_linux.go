package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// renameNew renames without overwriting, in one step where the file system can
// and by a second link where it cannot.
func renameNew(from, to string) error {
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE)
	switch {
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS):
		return linkNew(from, to)
	case err != nil:
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: err}
	}
	return nil
}

// exchange lets two files change places in one step.
func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

const canExchange = true

// Print is what the system notes about a file or directory whenever it changes.
// Equal prints mean that nothing changed between them, but for changes within
// one tick of the clock; see Fine.
type Print struct {
	Inode, Size, Modified, Changed int64 // times in ns since 1970
}

// PrintOf returns the print of what info describes.
func PrintOf(info fs.FileInfo) Print {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return Print{}
	}
	return Print{int64(st.Ino), st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// PrintAt returns the print of whatever is at path, the zero Print when nothing is.
func PrintAt(path string) Print {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return Print{}
	}
	return printOf(&st)
}

// FileSystem names the file system that holds path, and says whether it is one
// that a network or a virtual machine's host serves, where locks may not exclude.
func FileSystem(path string) (kind string, network bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return "an unknown file system", false
	}
	switch uint32(st.Type) {
	case unix.NFS_SUPER_MAGIC:
		return "nfs", true
	case unix.SMB_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC:
		return "smb", true
	case unix.V9FS_MAGIC:
		return "9p", true
	case unix.FUSE_SUPER_MAGIC:
		return "fuse or virtiofs", true
	case unix.CEPH_SUPER_MAGIC:
		return "ceph", true
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC, unix.CODA_SUPER_MAGIC:
		return "afs", true
	case unix.EXT4_SUPER_MAGIC:
		return "ext4", false
	case unix.XFS_SUPER_MAGIC:
		return "xfs", false
	case unix.BTRFS_SUPER_MAGIC:
		return "btrfs", false
	case unix.TMPFS_MAGIC:
		return "tmpfs", false
	case unix.OVERLAYFS_SUPER_MAGIC:
		return "overlay", false
	}
	return fmt.Sprintf("file system 0x%x", uint32(st.Type)), false
}
