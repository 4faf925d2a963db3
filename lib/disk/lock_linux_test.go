package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

// opened counts the open files that have this path, or had it.
func opened(t *testing.T, path string) (n int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for _, fd := range fds {
		if at, _ := os.Readlink("/proc/self/fd/" + fd.Name()); strings.TrimSuffix(at, " (deleted)") == path {
			n++
		}
	}
	return n
}

func TestLocksDoNotStayOpen(t *testing.T) {
	path, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(path, ".lock")
	lock(t, path)()
	if n := opened(t, path); n != 0 {
		t.Errorf("%d are open", n)
	}
}

// asAnybody runs do as somebody whom permissions keep out. Not parallel: the
// user belongs to the process.
func asAnybody(t *testing.T, dir string, do func()) {
	t.Helper()
	if os.Geteuid() == 0 {
		for d := dir; d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
			if err := os.Chmod(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Seteuid(65534); err != nil {
			t.Skip(err)
		}
		defer syscall.Seteuid(0)
	}
	do()
}

func TestALockFileOneMayOnlyReadLocksAsWell(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".lock")
	put(t, path, "")
	if err := os.Chmod(path, 0o444); err != nil {
		t.Fatal(err)
	}
	asAnybody(t, dir, func() {
		if f, err := os.OpenFile(path, os.O_RDWR, 0); err == nil {
			f.Close()
			t.Skip("permissions mean nothing here")
		}
		unlock := lock(t, path)
		if _, err := disk.Lock(t.Context(), path, 0); !fault.Is(err, fault.Busy) {
			t.Errorf("it does not exclude: %v", err)
		}
		unlock()
		lock(t, path)()
	})
}

func TestALockFileOneMayNotReadIsDenied(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".lock")
	put(t, path, "")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	asAnybody(t, dir, func() {
		if _, err := disk.Lock(t.Context(), path, long); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v", err)
		}
	})
}

func TestNoLockFileCanBeMadeIsDenied(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	asAnybody(t, filepath.Dir(dir), func() {
		if os.Getuid() != 0 {
			t.Skip("the directory is ours")
		}
		if _, err := disk.Lock(t.Context(), filepath.Join(dir, ".lock"), long); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("got %v", err)
		}
	})
}
