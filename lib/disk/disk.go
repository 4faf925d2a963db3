// Package disk is the only one that renames, links, syncs and locks. Everything
// it publishes appears under its name whole or not at all: it is written to a
// unique dot-file on the same file system, synced, and then renamed.
//
// What it leans on: rename(2) within a file system is atomic; fsync(2) of a file
// makes its bytes durable and fsync(2) of a directory makes its names durable;
// and the names of one directory become durable in the order they were changed
// (the journals of ext4, xfs, btrfs and APFS keep that order).
//
// Whatever it makes in a directory is shared the way that directory is: the mode
// of a new file or directory comes from its parent, not from the umask, so that
// a second user of a group can go on where the first left off.
package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
)

// TempPrefix begins the name of every temporary file, here and elsewhere.
const TempPrefix = ".tmp-"

// Staged is a file that is complete and durable but has no public name yet.
type Staged struct{ temp string }

// Stage writes data to a new dot-file in dir and syncs it.
func Stage(dir string, data []byte) (*Staged, error) {
	return stage(dir, data, (*os.File).Sync)
}

func stage(dir string, data []byte, sync func(*os.File) error) (*Staged, error) {
	f, err := TempFile(dir)
	if err != nil {
		return nil, err
	}
	if _, err = f.Write(data); err == nil {
		err = sync(f)
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(f.Name())
		return nil, err
	}
	return &Staged{f.Name()}, nil
}

// TempFile makes a file under a unique dot-name in dir.
func TempFile(dir string) (*os.File, error) {
	mode, err := sharing(dir)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(tempName(dir), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode&0o666)
	if err != nil {
		return nil, err
	}
	if err := share(f, mode&0o666); err != nil {
		f.Close()
		os.Remove(f.Name())
		return nil, err
	}
	return f, nil
}

// IsTemp reports whether a name is that of a temporary file of this package's.
func IsTemp(name string) bool {
	digits, ok := strings.CutPrefix(name, TempPrefix)
	return ok && len(digits) == 16 && strings.Trim(digits, "0123456789abcdef") == ""
}

func tempName(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("%s%016x", TempPrefix, rand.Uint64()))
}

// Replace gives the file its name, taking the place of what had it.
func (s *Staged) Replace(path string) error { return s.publish(path, os.Rename) }

// Create gives the file its name, or fails with fs.ErrExist when something has
// it already: nothing is ever overwritten, lock or no lock.
func (s *Staged) Create(path string) error { return s.publish(path, renameNew) }

func (s *Staged) publish(path string, rename func(from, to string) error) error {
	err := rename(s.temp, path)
	if err == nil {
		s.temp = "" // no longer ours: somebody may use that name again
	}
	return err
}

// Discard removes a file that was not published.
func (s *Staged) Discard() {
	if s.temp != "" {
		os.Remove(s.temp)
	}
}

// linkNew is renameNew for systems with no exclusive rename.
func linkNew(from, to string) error {
	if err := os.Link(from, to); err != nil {
		return err
	}
	return os.Remove(from)
}

// SyncDir makes the names in a directory durable.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return syncDir(d)
}

// MakeDurable syncs a directory whose names have changed already. An error says
// that it is not known whether the change will last.
func MakeDurable(dir string) error {
	err := SyncDir(dir)
	if err == nil {
		return nil
	}
	return fault.New(fault.IO, "not known whether the change is durable: %w", err).
		WithHint("it can be seen; look again before you repeat it")
}

// Replace publishes data under path, whole and durable, in place of what was there.
func Replace(path string, data []byte) error {
	return publish(path, data, (*Staged).Replace)
}

// ReplaceLike publishes data in place of a file that is there, with its mode and,
// where that may be given, its owner: there may be secrets in it. Where path is a
// symbolic link, what it leads to is replaced.
func ReplaceLike(path string, data []byte) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	return publishLike(real, data, info, (*Staged).Replace)
}

// CreateLike publishes data under path with the mode and, where that may be given,
// the owner of another file, or fails with fs.ErrExist.
func CreateLike(path string, data []byte, other string) error {
	info, err := os.Stat(other)
	if err != nil {
		return err
	}
	return publishLike(path, data, info, (*Staged).Create)
}

func publishLike(path string, data []byte, like os.FileInfo, name func(*Staged, string) error) error {
	s, err := stage(filepath.Dir(path), data, func(f *os.File) error {
		own(f, like)
		return errors.Join(f.Chmod(like.Mode().Perm()), f.Sync())
	})
	if err != nil {
		return err
	}
	if err := name(s, path); err != nil {
		s.Discard()
		return err
	}
	return MakeDurable(filepath.Dir(path))
}

// Create publishes data under path, whole and durable, or fails with fs.ErrExist.
func Create(path string, data []byte) error {
	return publish(path, data, (*Staged).Create)
}

// ReplaceLoose publishes data under path, whole but not durable: for what can be
// made again.
func ReplaceLoose(path string, data []byte) error {
	s, err := stage(filepath.Dir(path), data, func(*os.File) error { return nil })
	if err != nil {
		return err
	}
	defer s.Discard()
	return s.Replace(path)
}

func publish(path string, data []byte, name func(*Staged, string) error) error {
	dir := filepath.Dir(path)
	s, err := Stage(dir, data)
	if err != nil {
		return err
	}
	if err := name(s, path); err != nil {
		s.Discard()
		return err
	}
	return MakeDurable(dir)
}

// MoveNew gives a directory that is complete its public name, or fails with
// fs.ErrExist when something has it already.
func MoveNew(from, to string) error {
	if Exists(to) {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: fs.ErrExist}
	}
	return os.Rename(from, to)
}

// TempDir makes a directory under a unique dot-name in dir.
func TempDir(dir string) (string, error) {
	temp := tempName(dir)
	return temp, Mkdir(temp)
}

// Remove unlinks a file; that it is not there is fine.
func Remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Mkdir makes a directory that is shared the way its parent is, or fails with
// fs.ErrExist. The name is durable once the parent is synced.
func Mkdir(dir string) error {
	mode, err := sharing(filepath.Dir(dir))
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, mode); err != nil {
		return err
	}
	// Not through a link that somebody may have put there meanwhile.
	d, err := os.OpenFile(dir, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return err
	}
	defer d.Close()
	return share(d, mode)
}

// sharing returns the permission bits for what is made in a directory: its own,
// but that everybody may write in a sticky one, such as /tmp, does not mean that
// everybody shares all that is in it.
func sharing(dir string) (fs.FileMode, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, err
	}
	mode := info.Mode().Perm()
	if info.Mode()&fs.ModeSticky != 0 {
		mode &^= 0o022
	}
	return mode, nil
}

// share gives a new file the mode that the umask may have kept from it.
func share(f *os.File, mode fs.FileMode) error {
	info, err := f.Stat()
	if err != nil || info.Mode().Perm() == mode {
		return err
	}
	// Only the permission bits are set: the set-group-ID bit that a directory
	// got from its parent stays.
	return f.Chmod(info.Mode()&^fs.ModePerm | mode)
}

// ErrNotRegular says that a path names something other than a regular file.
var ErrNotRegular = errors.New("not a regular file")

// Open opens a regular file for reading. It never waits for the other end of a
// FIFO, and a symbolic link as the last component is not followed but refused
// like any other thing that is not a regular file, with ErrNotRegular.
func Open(path string) (*os.File, fs.FileInfo, error) { return open(path, noFollow) }

// Edit opens a regular file for reading and writing in place, with the same care.
func Edit(path string) (*os.File, error) {
	f, _, err := open(path, os.O_RDWR|noFollow)
	return f, err
}

// Append opens a regular file, or the one a symbolic link leads to, for reading and for
// writing at its end. It never waits for the other end of a FIFO.
func Append(path string) (*os.File, error) {
	f, _, err := open(path, os.O_RDWR|os.O_APPEND)
	return f, err
}

func open(path string, flags int) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, noBlock|flags, 0)
	if err != nil {
		if irregular(err) {
			err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// ErrTooLarge says that a file is larger than its reader takes.
var ErrTooLarge = errors.New("file too large")

// ReadFile returns the content of a regular file, or of the one a symbolic link
// leads to, up to limit bytes.
func ReadFile(path string, limit int64) ([]byte, error) {
	f, info, err := open(path, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	data, err := readOpen(f, info)
	if err == nil && int64(len(data)) > limit {
		err = &fs.PathError{Op: "read", Path: path, Err: ErrTooLarge}
	}
	return data, err
}

// readOpen reads the rest of an open file, which info is expected to describe.
func readOpen(f *os.File, info fs.FileInfo) ([]byte, error) {
	// One byte more shows the end of the file without a second buffer.
	data := make([]byte, info.Size()+1)
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return data[:n], nil
	}
	if err != nil {
		return nil, err
	}
	rest, err := io.ReadAll(f) // it has grown since
	return append(data, rest...), err
}

// Exists reports whether there is anything at path, a dangling link included.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
