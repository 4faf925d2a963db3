package wake

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
)

// blind returns a hub without events.
func blind(scan time.Duration) *Hub {
	h := NewHub(scan)
	h.open = func() (*fsnotify.Watcher, error) { return nil, syscall.EMFILE }
	return h
}

func TestScan(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := blind(0)
		w, none := h.Watch(b, a), h.Watch()
		want := []string{a, b}
		slices.Sort(want)
		start := time.Now()
		for i := range 3 {
			dirs, scan, err := w.Next(t.Context())
			if !scan || err != nil || !slices.Equal(dirs, want) {
				t.Errorf("got %q, scan %v, %v", dirs, scan, err)
			}
			if at, due := time.Since(start), time.Duration(i+1)*defaultScan; at != due {
				t.Errorf("scan at %v, want %v", at, due)
			}
		}
		if dirs, scan, _ := none.Next(t.Context()); !scan || len(dirs) != 0 {
			t.Errorf("a watch over nothing: got %q, scan %v", dirs, scan)
		}
		if n := h.Notice(); !strings.HasSuffix(n, "scanning every 15s instead") || strings.Contains(n, "\n") {
			t.Errorf("notice %q", n)
		}
		h.Close()
		if n := h.Notice(); n != "" {
			t.Errorf("notice %q of a closed hub", n)
		}
	})
}

// TestBurst pins the pace: a first change at once, what follows together.
func TestBurst(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		h := blind(time.Hour)
		defer h.Close()
		w := h.Watch(dir)
		change := func() {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.mark(h.spots[dir])
		}
		woke := func(want time.Duration) {
			t.Helper()
			start := time.Now()
			if _, _, err := w.Next(t.Context()); err != nil || time.Since(start) != want {
				t.Errorf("woke after %v, want %v; %v", time.Since(start), want, err)
			}
		}
		time.Sleep(time.Second)
		change()
		woke(0)
		go func() {
			for range 4 {
				change()
				time.Sleep(burst / 4)
			}
		}()
		woke(burst)

		change()
		ctx, cancel := context.WithTimeout(t.Context(), burst/2)
		defer cancel()
		if _, _, err := w.Next(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		woke(burst / 2) // what the deadline cut off is still there
		change()
		time.Sleep(burst)
		woke(0)
	})
}
