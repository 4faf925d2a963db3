package wake

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// kernel counts this process's descriptors, inotify instances and kernel watches.
func kernel(t testing.TB) (fds, instances, watches int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	do(t, err)
	for _, e := range list {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err != nil {
			continue // the one that the list was read with
		}
		fds++
		if to != "anon_inode:inotify" {
			continue
		}
		instances++
		info, err := os.ReadFile("/proc/self/fdinfo/" + e.Name())
		do(t, err)
		watches += strings.Count(string(info), "inotify wd:")
	}
	return fds, instances, watches
}

// TestShared has hundreds wait in one process, and checks that nothing is left.
func TestShared(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	NewHub(0).Watch(dir).Close() // starts the runtime's poller
	noGoroutines(t)
	fds, _, _ := kernel(t)

	h := hub(t, never)
	if n := goroutines(); n != 0 {
		t.Errorf("an idle hub has %d goroutines", n)
	}
	all := make([]*Watch, 200)
	for i := range all {
		all[i] = h.Watch(dir)
	}
	all[0].Add(other)
	check := func(instances, watches int) {
		t.Helper()
		if _, i, w := kernel(t); i != instances || w != watches {
			t.Errorf("%d instances, %d kernel watches, want %d and %d", i, w, instances, watches)
		}
	}
	check(1, 2)
	if goroutines() == 0 {
		t.Error("a hub at work is not seen")
	}
	publish(t, dir, "f")
	for _, w := range all {
		if dirs, scan := next(t, w); scan || !slices.Equal(dirs, []string{dir}) {
			t.Errorf("got %q, scan %v", dirs, scan)
		}
	}
	all[0].Remove(other)
	check(1, 1)
	do(t, os.RemoveAll(other))
	for _, w := range all[1:] {
		w.Close()
	}
	check(1, 1)
	all[0].Close()
	check(0, 0)
	if n, _, _ := kernel(t); n != fds {
		t.Errorf("%d descriptors, %d before", n, fds)
	}
	noGoroutines(t)
}

// goroutines counts those of hubs and of fsnotify. Others, such as those of the tests
// before, come and go as they like.
func goroutines() (n int) {
	all := make([]byte, 1<<20)
	all = all[:runtime.Stack(all, true)]
	for g := range strings.SplitSeq(string(all), "\n\n") {
		if strings.Contains(g, "wake.(*Hub)") || strings.Contains(g, "/fsnotify.") {
			n++
		}
	}
	return n
}

// noGoroutines fails the test unless the goroutines that are about to end do end.
func noGoroutines(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); goroutines() != 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d goroutines are left", goroutines())
		}
	}
}

// TestNoWatchLeft checks that replaced directories leave no kernel watch behind,
// moved ones above all, which live on elsewhere.
func TestNoWatchLeft(t *testing.T) {
	top := t.TempDir()
	dir := mkdir(t, top, "room")
	w := hub(t, never).Watch(dir)
	for i := range 50 {
		do(t, os.Rename(dir, fmt.Sprint(dir, "-", i)))
		mkdir(t, dir)
	}
	drain(t, w)
	if _, _, n := kernel(t); n != 1 {
		t.Errorf("%d kernel watches, want 1", n)
	}
	publish(t, dir, "f")
	until(t, w, dir)
}

func TestOverflow(t *testing.T) {
	limit, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	do(t, err)
	most, err := strconv.Atoi(strings.TrimSpace(string(limit)))
	do(t, err)
	if most > 100_000 {
		t.Skip("the queue is too long to fill")
	}
	noisy, still, top := t.TempDir(), t.TempDir(), t.TempDir()
	gone := mkdir(t, top, "gone")
	h := hub(t, never)
	w := h.Watch(noisy, still, gone)
	var files [2]*os.File
	for i := range files {
		f, err := os.Create(filepath.Join(noisy, fmt.Sprint(i)))
		do(t, err)
		defer f.Close()
		files[i] = f
	}
	drain(t, w)

	h.mu.Lock() // the reader stands still
	for i := range most + 10_000 {
		if _, err := files[i%2].WriteString("x"); err != nil { // two files: the kernel joins equal events
			t.Error(err)
			break
		}
	}
	os.Remove(gone) // the event is lost, and the new one may get the old one's inode
	os.Mkdir(gone, 0o777)
	h.mu.Unlock()

	seen := map[string]bool{}
	for len(seen) < 3 {
		dirs, _ := next(t, w)
		for _, d := range dirs {
			seen[d] = true
		}
	}
	drain(t, w)
	for _, dir := range []string{gone, still, noisy} {
		publish(t, dir, "after")
		until(t, w, dir)
	}
}

// BenchmarkWake measures from before the rename to Next's return.
func BenchmarkWake(b *testing.B) {
	for _, n := range []int{1, 5000} {
		b.Run(fmt.Sprintf("dirs=%d", n), func(b *testing.B) {
			dirs := many(b, n)
			h := hub(b, never)
			start := time.Now()
			w := h.Watch(dirs...)
			armed := time.Since(start)
			file := filepath.Join(dirs[n/2], "f")
			do(b, os.WriteFile(file, nil, 0o666))
			drain(b, w)
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				time.Sleep(2 * burst) // a new burst
				start := time.Now()
				do(b, os.Rename(file, file+"x"))
				next(b, w)
				took = append(took, time.Since(start))
				file += "x"
				if len(file) > 200 {
					do(b, os.Rename(file, filepath.Join(dirs[n/2], "f")))
					file = filepath.Join(dirs[n/2], "f")
					drain(b, w)
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-µs")
			b.ReportMetric(float64(took[len(took)-1].Microseconds()), "worst-µs")
			b.ReportMetric(float64(armed.Microseconds())/float64(n), "arm-µs/dir")
		})
	}
}

// BenchmarkScan measures one scan of 5,000 directories: the wake, and the keeper's
// look at each.
func BenchmarkScan(b *testing.B) {
	dirs := many(b, 5000)
	h := hub(b, never)
	w := h.Watch(dirs...)
	for b.Loop() {
		h.tick(h.stop)
		if got, scan, err := w.Next(context.Background()); !scan || err != nil || len(got) != len(dirs) {
			b.Fatal(len(got), scan, err)
		}
		for _, s := range h.suspects() {
			h.mend(s)
		}
	}
}

func many(b *testing.B, n int) []string {
	top := b.TempDir()
	dirs := make([]string, n)
	for i := range dirs {
		dirs[i] = mkdir(b, top, fmt.Sprintf("room-%04d", i))
	}
	return dirs
}
