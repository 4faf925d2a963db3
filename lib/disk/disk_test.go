//go:build unix

package disk

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
)

func names(t *testing.T, dir string) string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, f := range found {
		all = append(all, f.Name())
	}
	return strings.Join(all, " ")
}

func TestCreateNeverOverwrites(t *testing.T) {
	for name, rename := range map[string]func(from, to string) error{"renameNew": renameNew, "linkNew": linkNew} {
		dir := t.TempDir()
		for _, taken := range []func(path string) error{
			func(path string) error { return os.WriteFile(path, []byte("old"), 0o644) },
			func(path string) error { return os.Mkdir(path, 0o755) },
			func(path string) error { return os.Symlink("nowhere", path) },
			func(path string) error { return syscall.Mkfifo(path, 0o644) },
		} {
			path := filepath.Join(dir, "x")
			if err := taken(path); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(path)
			s, err := Stage(dir, []byte("new"))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.publish(path, rename); !errors.Is(err, fs.ErrExist) {
				t.Errorf("%s: over %v: %v", name, before.Mode(), err)
			}
			s.Discard()
			if after, err := os.Lstat(path); err != nil || !os.SameFile(before, after) {
				t.Errorf("%s: %v was replaced: %v", name, before.Mode(), err)
			}
			os.Remove(path)
		}
		if left := names(t, dir); left != "" {
			t.Errorf("%s: left behind: %s", name, left)
		}
	}
}

func TestCreateOneWins(t *testing.T) {
	for name, rename := range map[string]func(from, to string) error{"renameNew": renameNew, "linkNew": linkNew} {
		dir := t.TempDir()
		var won atomic.Int32
		var wait sync.WaitGroup
		for range 16 {
			wait.Go(func() {
				s, err := Stage(dir, []byte("x"))
				if err == nil {
					defer s.Discard()
					err = s.publish(filepath.Join(dir, "x"), rename)
				}
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
			})
		}
		if wait.Wait(); won.Load() != 1 || names(t, dir) != "x" {
			t.Errorf("%s: %d won, %s", name, won.Load(), names(t, dir))
		}
	}
}

// What is made is shared as its directory is, whatever the umask.
func TestSharing(t *testing.T) {
	old := syscall.Umask(0o077)
	defer syscall.Umask(old)
	for _, mode := range []fs.FileMode{0o700, 0o750, 0o755, 0o770, 0o775, 0o777, 0o770 | fs.ModeSetgid} {
		dir := t.TempDir()
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		lock, err := Lock(context.Background(), dir+"/lock", time.Second)
		if err == nil {
			lock()
			err = errors.Join(Create(dir+"/create", nil), Replace(dir+"/replace", nil), ReplaceLoose(dir+"/loose", nil), Mkdir(dir+"/dir"))
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []string{"lock", "create", "replace", "loose", "dir"} {
			info, err := os.Stat(filepath.Join(dir, f))
			want := mode & 0o666
			if f == "dir" {
				want = mode
			}
			if err != nil || info.Mode()&^fs.ModeDir != want {
				t.Errorf("in %v: %s has %v: %v", mode, f, info.Mode(), err)
			}
		}
	}
}

func TestLockExcludes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var inside, times atomic.Int32
	var wait sync.WaitGroup
	stop := make(chan bool)
	// A checkout puts another file in its place meanwhile; whoever waits must not go in by the one that is gone.
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
				if inside.Load() == 0 {
					unlock, err := Lock(context.Background(), path, 5*time.Second)
					if err != nil {
						t.Error(err)
						return
					}
					os.WriteFile(path+"+", nil, 0o644)
					os.Rename(path+"+", path)
					unlock()
				}
			}
		}
	})
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 50 {
				unlock, err := Lock(context.Background(), path, 20*time.Second)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d hold the lock", n)
				}
				times.Add(1)
				inside.Add(-1)
				unlock()
			}
		})
	}
	workers.Wait()
	close(stop)
	if wait.Wait(); times.Load() != 400 {
		t.Errorf("%d times", times.Load())
	}
}

func TestLockGivesUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := Lock(context.Background(), path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_, err = Lock(context.Background(), path, 50*time.Millisecond)
	if took := time.Since(began); !fault.Is(err, fault.Busy) || !strings.Contains(err.Error(), path) || took < 50*time.Millisecond {
		t.Errorf("%v after %v", err, took)
	}
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := Lock(ctx, path, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := Lock(context.Background(), path, 0); !fault.Is(err, fault.Busy) {
		t.Errorf("with no time to wait: %v", err)
	}
	unlock()
	if unlock, err = Lock(context.Background(), path, 0); err != nil {
		t.Errorf("free, with no time to wait: %v", err)
	} else {
		unlock()
	}
	if !Exists(path) {
		t.Error("the lock file was removed")
	}
	if _, err := Lock(context.Background(), filepath.Join(path, "no", "such"), time.Second); err == nil || fault.Is(err, fault.Busy) {
		t.Errorf("in no directory: %v", err)
	}
}

func TestStageLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	failed := errors.New("failed")
	if _, err := stage(dir, []byte("x"), func(*os.File) error { return failed }); !errors.Is(err, failed) {
		t.Error(err)
	}
	if err := os.Mkdir(dir+"/taken", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/taken/x", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func(string, []byte) error{"Replace": Replace, "Create": Create, "ReplaceLoose": ReplaceLoose} {
		if err := do(dir+"/taken", []byte("x")); err == nil {
			t.Errorf("%s took the place of a directory", name)
		}
		if left := names(t, dir); left != "taken" {
			t.Errorf("%s leaves %s", name, left)
			for f := range strings.FieldsSeq(left) {
				if strings.HasPrefix(f, TempPrefix) {
					os.Remove(filepath.Join(dir, f))
				}
			}
		}
	}
}

func TestOpenRegularOnly(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(dir+"/dir", 0o755)
	os.Symlink("/etc/passwd", dir+"/link")
	os.Symlink("nowhere", dir+"/dangling")
	syscall.Mkfifo(dir+"/fifo", 0o644)
	for _, f := range []string{"dir", "link", "dangling", "fifo"} {
		began := time.Now()
		if _, _, err := Open(filepath.Join(dir, f)); !errors.Is(err, ErrNotRegular) {
			t.Errorf("%s: %v", f, err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s took %v", f, took)
		}
	}
}
