package disk_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

// long is a bound that no test waits for.
const long = time.Minute

func lock(t *testing.T, path string) (unlock func()) {
	t.Helper()
	unlock, err := disk.Lock(t.Context(), path, long)
	if err != nil {
		t.Fatal(err)
	}
	return unlock
}

func TestLockExcludes(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	var n, inside atomic.Int32 // the race detector knows nothing of flock
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			unlock, err := disk.Lock(t.Context(), path, long)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			if inside.Add(1) != 1 {
				t.Error("somebody else is inside")
			}
			n.Add(1)
			inside.Add(-1)
		})
	}
	wait.Wait()
	if n.Load() != 20 {
		t.Errorf("%d of 20 got it", n.Load())
	}
}

func TestLockGivesUpAtItsBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	unlock := lock(t, path)
	for _, wait := range []time.Duration{0, 5 * time.Millisecond} {
		start := time.Now()
		_, err := disk.Lock(t.Context(), path, wait)
		if !fault.Is(err, fault.Busy) || !strings.Contains(err.Error(), fmt.Sprintf("%q", path)) {
			t.Errorf("after %v: got %v", wait, err)
		}
		if took := time.Since(start); took < wait || took > 20*time.Second {
			t.Errorf("after %v: took %v", wait, took)
		}
	}
	unlock()
	lock(t, path)()
}

func TestLockEndsWithItsContext(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	defer lock(t, path)()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := disk.Lock(ctx, path, long)
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestALockFileMeansNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	const left = "12345 of a process that died\n"
	put(t, path, left)
	lock(t, path)()
	holds(t, path, left, 1)
}

func TestALockFileStaysBehind(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	unlock := lock(t, path)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("got %v, %v", after, err)
	}
}

func TestAReplacedLockFileIsNobodys(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	defer lock(t, path)()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	// Held is a file that has no name any more.
	lock(t, path)()
}

func TestLockInNoDirectory(t *testing.T) {
	if _, err := disk.Lock(t.Context(), filepath.Join(t.TempDir(), "none", ".lock"), long); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestADirectoryIsNoLockFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := disk.Lock(t.Context(), dir, long); !fault.Is(err, fault.IO) || !strings.Contains(err.Error(), dir) {
		t.Errorf("got %v", err)
	}
}

func TestADanglingLinkIsNoLockFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ".lock")
	if err := os.Symlink("nowhere", path); err != nil {
		t.Fatal(err)
	}
	if _, err := disk.Lock(t.Context(), path, 5*time.Millisecond); err == nil {
		t.Error("locked")
	}
	count(t, dir, 1)
}
