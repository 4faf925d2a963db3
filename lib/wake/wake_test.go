package wake

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// never is a scan interval that no test lives to see: what wakes is an event.
const never = time.Hour

func hub(t testing.TB, scan time.Duration) *Hub {
	t.Helper()
	h := NewHub(scan)
	t.Cleanup(h.Close)
	return h
}

func do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mkdir(t testing.TB, elem ...string) string {
	t.Helper()
	dir := filepath.Join(elem...)
	do(t, os.Mkdir(dir, 0o777))
	return dir
}

// publish makes a file the way the house does: by rename of a temporary.
func publish(t testing.TB, elem ...string) {
	t.Helper()
	path := filepath.Join(elem...)
	temp := filepath.Join(filepath.Dir(path), ".tmp-"+filepath.Base(path))
	do(t, os.WriteFile(temp, []byte("x"), 0o666))
	do(t, os.Rename(temp, path))
}

// next returns what the next Next does; a long time without fails the test.
func next(t testing.TB, w *Watch) ([]string, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dirs, scan, err := w.Next(ctx)
	if err != nil {
		t.Fatal("no wake: ", err)
	}
	return dirs, scan
}

// until waits for a wake by event that names dir, and returns all that were named
// meanwhile.
func until(t testing.TB, w *Watch, dir string) (all []string) {
	t.Helper()
	for {
		dirs, scan := next(t, w)
		if scan {
			continue
		}
		all = append(all, dirs...)
		if slices.Contains(dirs, dir) {
			slices.Sort(all)
			return slices.Compact(all)
		}
	}
}

// drain takes what still comes of earlier changes.
func drain(t testing.TB, w *Watch) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, _, err := w.Next(ctx)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return
		}
		do(t, err)
	}
}

func TestChangesWake(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	w := hub(t, never).Watch(dir)
	for _, change := range []struct {
		what string
		make func() error
	}{
		{"create", func() error { return os.WriteFile(file, nil, 0o666) }},
		{"write", func() error { return os.WriteFile(file, []byte("x"), 0o666) }},
		{"rename", func() error { return os.Rename(file, file+"2") }},
		{"replace", func() error {
			return errors.Join(os.WriteFile(file, nil, 0o666), os.Rename(file, file+"2"))
		}},
		{"remove", func() error { return os.Remove(file + "2") }},
		{"mkdir", func() error { return os.Mkdir(file, 0o777) }},
	} {
		do(t, change.make())
		if dirs, scan := next(t, w); scan || !slices.Equal(dirs, []string{dir}) {
			t.Errorf("%s: got %q, scan %v", change.what, dirs, scan)
		}
		drain(t, w)
	}
}

func TestNoise(t *testing.T) {
	noisy, other := t.TempDir(), t.TempDir()
	publish(t, noisy, "f")
	w := hub(t, never).Watch(noisy, other)
	temp := filepath.Join(noisy, ".tmp-1")
	do(t, os.WriteFile(temp, []byte("x"), 0o666))
	do(t, os.Chmod(filepath.Join(noisy, "f"), 0o600))
	do(t, os.Chmod(noisy, 0o700))
	do(t, os.Remove(temp))
	publish(t, other, "f")
	// Events come in order: without the noise this one is the first.
	if dirs, _ := next(t, w); !slices.Equal(dirs, []string{other}) {
		t.Errorf("temporaries and attributes woke: %q", dirs)
	}
}

func TestAddRemove(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	h := hub(t, never)
	w := h.Watch(a)
	w.Add(a)
	w.Add(b)
	publish(t, a, "1")
	publish(t, b, "1")
	if got := until(t, w, b); !slices.Contains(got, a) || len(got) != 2 {
		t.Errorf("got %q, want both", got)
	}
	drain(t, w)
	publish(t, a, "2")
	w.Remove(a)
	w.Remove("never added")
	publish(t, a, "3")
	publish(t, b, "2")
	if got := until(t, w, b); !slices.Equal(got, []string{b}) {
		t.Errorf("got %q after removal of %q", got, a)
	}
}

func TestManyChangesFewWakes(t *testing.T) {
	dir, last := t.TempDir(), t.TempDir()
	h := hub(t, never)
	slow, w := h.Watch(dir), h.Watch(dir, last)
	for i := range 2000 {
		do(t, os.Mkdir(filepath.Join(dir, fmt.Sprint(i)), 0o777))
	}
	start := time.Now()
	publish(t, last, "f")
	until(t, w, last)
	if wait := time.Since(start); wait > 20*time.Second {
		t.Errorf("a watch nobody asks delayed another by %v", wait)
	}
	if dirs, scan := next(t, slow); scan || !slices.Equal(dirs, []string{dir}) {
		t.Errorf("got %q, scan %v", dirs, scan)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if dirs, _, err := slow.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("2000 changes before the first Next woke twice: %q %v", dirs, err)
	}
}

func TestReplaced(t *testing.T) {
	for what, replace := range map[string]func(t *testing.T, dir string){
		"by rename": func(t *testing.T, dir string) {
			fresh := mkdir(t, dir+"-new")
			do(t, os.Rename(dir, dir+"-old"))
			do(t, os.Rename(fresh, dir))
		},
		"moved, then removed": func(t *testing.T, dir string) {
			do(t, os.Rename(dir, dir+"-old"))
			do(t, os.RemoveAll(dir+"-old"))
			mkdir(t, dir)
		},
		"recreated": func(t *testing.T, dir string) {
			do(t, os.RemoveAll(dir))
			mkdir(t, dir)
		},
		"recreated while open": func(t *testing.T, dir string) {
			f, err := os.Open(dir)
			do(t, err)
			defer f.Close()
			do(t, os.RemoveAll(dir))
			mkdir(t, dir)
		},
	} {
		for _, watched := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, parent watched %v", what, watched), func(t *testing.T) {
				t.Parallel()
				needsLookUp(t)
				space := t.TempDir()
				dir := mkdir(t, space, "room")
				w := hub(t, never).Watch(dir)
				if watched {
					w.Add(space)
				}
				for range 3 {
					replace(t, dir)
					until(t, w, dir)
					drain(t, w)
					publish(t, dir, "f")
					until(t, w, dir)
					drain(t, w)
					do(t, os.RemoveAll(dir+"-old"))
				}
			})
		}
	}
}

func needsLookUp(t *testing.T) {
	if !looksUp {
		t.Skip("only a scan finds a directory that appears on " + runtime.GOOS)
	}
}

func TestNotYetThere(t *testing.T) {
	needsLookUp(t)
	top := t.TempDir()
	dir := filepath.Join(top, "space", "agent", "mailbox")
	w := hub(t, never).Watch(dir)
	do(t, os.MkdirAll(dir, 0o777))
	until(t, w, dir)
	drain(t, w)
	publish(t, dir, "f")
	until(t, w, dir)

	do(t, os.RemoveAll(filepath.Join(top, "space")))
	until(t, w, dir)
	drain(t, w)
	publish(t, top, "space") // a file is no directory
	do(t, os.Remove(filepath.Join(top, "space")))
	do(t, os.MkdirAll(dir, 0o777))
	until(t, w, dir)
	drain(t, w)
	publish(t, dir, "f")
	until(t, w, dir)
}

func TestNames(t *testing.T) {
	top := t.TempDir()
	dir := mkdir(t, top, "dir")
	link := filepath.Join(top, "link")
	if err := os.Symlink("dir", link); err != nil {
		t.Skip(err)
	}
	t.Chdir(top)
	h := hub(t, never)
	names := []string{dir, link, "dir", "./dir/../dir/", "link"}
	slices.Sort(names)
	all, one := h.Watch(names...), h.Watch("link")
	t.Chdir("/") // names were taken when they were added
	publish(t, dir, "f")
	if got, _ := next(t, all); !slices.Equal(got, names) {
		t.Errorf("got %q, want %q", got, names)
	}
	if got, _ := next(t, one); !slices.Equal(got, []string{"link"}) {
		t.Errorf("got %q, want the link", got)
	}
	if len(h.nodes) != 1 {
		t.Errorf("%d directories armed, want 1", len(h.nodes))
	}
}

// TestArmedOnReturn lets a writer race with whoever arms, then looks, then waits.
func TestArmedOnReturn(t *testing.T) {
	needsLookUp(t)
	h := hub(t, never)
	h.Watch() // keeps the hub awake
	top := t.TempDir()
	for i := range 300 {
		dir := filepath.Join(top, fmt.Sprint(i))
		file := filepath.Join(dir, "f")
		var writer sync.WaitGroup
		writer.Go(func() {
			do(t, os.Mkdir(dir, 0o777))
			if i%2 == 0 {
				do(t, os.Remove(dir))
				do(t, os.Mkdir(dir, 0o777))
			}
			do(t, os.WriteFile(file, nil, 0o666))
		})
		w := h.Watch(dir)
		for {
			if _, err := os.Stat(file); err == nil {
				break
			}
			next(t, w)
		}
		w.Close()
		writer.Wait()
	}
}

func TestClosed(t *testing.T) {
	h := hub(t, never)
	dir := t.TempDir()
	w, other := h.Watch(dir), h.Watch(dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.Next(ctx); err != context.Canceled {
		t.Errorf("ended context: %v", err)
	}
	failed := make(chan error)
	go func() {
		_, _, err := w.Next(t.Context())
		failed <- err
	}()
	w.Close()
	w.Close()
	w.Add(dir)
	w.Remove(dir)
	if err := <-failed; err != ErrClosed {
		t.Errorf("closed watch: %v", err)
	}
	publish(t, dir, "f")
	until(t, other, dir)
	h.Close()
	h.Close()
	for _, w := range []*Watch{other, h.Watch(dir)} {
		if _, _, err := w.Next(t.Context()); err != ErrClosed {
			t.Errorf("closed hub: %v", err)
		}
	}
}

// TestChurn has everybody come, go and replace at once, then looks for what is
// left behind.
func TestChurn(t *testing.T) {
	h := hub(t, 3*time.Millisecond)
	top := t.TempDir()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 60 {
				dir := filepath.Join(top, fmt.Sprint(n%3))
				w := h.Watch(dir, top)
				os.Mkdir(dir, 0o777)
				os.Rename(dir, fmt.Sprint(dir, "-", i, "-", n))
				next(t, w)
				w.Remove(top)
				w.Close()
			}
		})
	}
	all.Wait()
	if n := len(h.nodes) + len(h.paths) + len(h.spots) + len(h.watches) + len(h.dirty); n != 0 {
		t.Errorf("%d things left behind", n)
	}
	if h.src != nil || h.stop != nil || h.Notice() != "" {
		t.Errorf("still at work: %q", h.Notice())
	}
}
