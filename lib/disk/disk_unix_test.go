//go:build unix

package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/substrate-tools/substrate/lib/disk"
)

// Not parallel: the umask belongs to the process.
func TestNewFilesAreSharedAsTheirDirectoryIs(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for _, c := range []struct{ dir, file fs.FileMode }{
		{0o777, 0o666}, {0o775, 0o664}, {0o770, 0o660}, {0o755, 0o644}, {0o750, 0o640}, {0o700, 0o600},
	} {
		dir := t.TempDir()
		if err := os.Chmod(dir, c.dir|fs.ModeSetgid); err != nil {
			t.Fatal(err)
		}
		mode := func(what string, err error, path string, want fs.FileMode) {
			t.Helper()
			info, lost := os.Lstat(path)
			if err != nil || lost != nil || info.Mode().Perm() != want {
				t.Errorf("%s in %v: got %v, %v; want %v", what, c.dir, info.Mode(), err, want)
			}
		}
		at := func(name string) string { return filepath.Join(dir, name) }
		mode("create", disk.Create(at("a"), nil), at("a"), c.file)
		mode("replace", disk.Replace(at("b"), nil), at("b"), c.file)
		mode("loose", disk.ReplaceLoose(at("c"), nil), at("c"), c.file)
		unlock, err := disk.Lock(t.Context(), at("l"), 0)
		mode("lock", err, at("l"), c.file)
		unlock()
		mode("mkdir", disk.Mkdir(at("d")), at("d"), c.dir)
		if info, err := os.Stat(at("d")); err != nil || info.Mode()&fs.ModeSetgid == 0 {
			t.Errorf("%v: the set-group-ID bit is lost: %v", c.dir, info.Mode())
		}
		temp, err := disk.TempDir(dir)
		mode("temporary directory", err, temp, c.dir)
	}
}

// What is no regular file is refused at once: nobody ever opens the other end.
func TestOpenRefusesWhatIsNoRegularFile(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("file"), "x")
	for _, err := range []error{
		syscall.Mkfifo(at("fifo"), 0o600), os.Mkdir(at("dir"), 0o700), os.Symlink("file", at("link")),
		os.Symlink("nowhere", at("dangling")), os.Symlink("fifo", at("link to fifo")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"fifo", "dir", "link", "dangling", "link to fifo"} {
		if f, _, err := disk.Open(at(name)); !errors.Is(err, disk.ErrNotRegular) {
			t.Errorf("%s: got %v, %v", name, f, err)
		}
	}
	for _, name := range []string{"fifo", "dir", "link to fifo"} {
		if data, err := disk.ReadFile(at(name), 9); !errors.Is(err, disk.ErrNotRegular) {
			t.Errorf("read %s: got %q, %v", name, data, err)
		}
	}
	f, info, err := disk.Open(at("file"))
	if err != nil || info.Size() != 1 {
		t.Fatalf("got %v, %v", info, err)
	}
	f.Close()
	if _, _, err := disk.Open(at("none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
