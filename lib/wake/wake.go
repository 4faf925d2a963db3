// Package wake says when to look again: directory events where the kernel gives
// them, and a slow scan in any case.
//
// A wake-up carries no payload. It names directories that may have changed, never
// what happened in them, and there may be one where nothing happened. Whoever
// arms a watch, then looks, then waits misses no change; where events are missing
// or lost (limits, network file systems, mounts of another system) a change is
// noticed one scan interval late at most.
//
// Directories are watched, never files: a file saved by rename is another file.
// Only what is directly in a directory wakes, subdirectories are watched by name.
// Changes of nothing but attributes, and files whose name begins with
// disk.TempPrefix, do not wake.
package wake

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	defaultScan = 15 * time.Second
	// burst is the least time between two returns of Next. What changes meanwhile
	// is returned together; a change after a longer rest is returned at once.
	burst = 2 * time.Millisecond
)

// ErrClosed is returned by Next once its watch or the hub is closed.
var ErrClosed = errors.New("watch closed")

// A Hub shares one source of events among all its watches: however many watch a
// directory, the kernel does once. It holds goroutines, descriptors and kernel
// watches only while there are watches. The zero Hub is not usable.
//
// A hub is safe for concurrent use. Its calls look at the file system and wait
// for one another there: a directory on a server that no longer answers delays
// Add, Remove and Close for all, but no wake-up of other directories and no scan.
type Hub struct {
	scan time.Duration
	open func() (*fsnotify.Watcher, error)
	poke chan struct{} // wakes the keeper

	// arm is held by whoever changes what is watched, across system calls. Fields
	// that are written under both locks may be read under either.
	arm    sync.Mutex
	src    *fsnotify.Watcher // nil without events, or before the first directory
	stop   chan struct{}     // ends the keeper; nil without watches; written under both locks
	work   *sync.WaitGroup   // the keeper and the reader of src
	closed bool

	// mu is never held across a system call or a call of fsnotify: fsnotify may
	// hold its own lock while it waits for its reader, which needs mu.
	mu      sync.Mutex
	clock   *time.Timer
	watches map[*Watch]struct{} // written under both locks
	spots   map[string]*spot    // by the name given; written under both locks
	nodes   map[any]*node       // by identity
	paths   map[string]*node    // by the path that fsnotify reports
	dirty   map[*spot]struct{}  // to be looked at by the keeper
	recheck bool                // the keeper looks at all
	failed  int                 // spots without events
	notice  string
}

// NewHub returns a hub whose watches wake at least once every scan, 15 s when
// scan is not above zero. It never fails: without events the scan is what is left.
func NewHub(scan time.Duration) *Hub {
	if scan <= 0 {
		scan = defaultScan
	}
	return &Hub{
		scan: scan, open: fsnotify.NewWatcher, poke: make(chan struct{}, 1),
		watches: map[*Watch]struct{}{}, spots: map[string]*spot{},
		nodes: map[any]*node{}, paths: map[string]*node{}, dirty: map[*spot]struct{}{},
	}
}

// Close closes all watches of the hub and returns when nothing of it is left.
func (h *Hub) Close() {
	h.arm.Lock()
	h.closed = true
	all := slices.Collect(maps.Keys(h.watches))
	h.arm.Unlock()
	for _, w := range all {
		w.Close()
	}
}

// Notice returns the one line that says why events are missing and that scanning
// has taken over, naming the limit and the scan interval; "" while all is well.
// It keeps its text until every directory has events again.
func (h *Hub) Notice() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.notice
}

// A Watch is one party's interest in directories. Changes add up while it does
// not ask: it holds up neither the hub nor other watches.
type Watch struct {
	hub  *Hub
	done chan struct{}
	wake chan struct{} // holds a token while there may be something to return
	last time.Time     // when Next returned; Next's own

	dirs    map[string]*spot    // written under both locks of the hub
	pending map[string]struct{} // under hub.mu, as is all
	all     bool
}

// Watch begins a watch over directories. What changes in them after its return
// wakes.
func (h *Hub) Watch(dirs ...string) *Watch {
	w := &Watch{
		hub: h, done: make(chan struct{}), wake: make(chan struct{}, 1),
		dirs: map[string]*spot{}, pending: map[string]struct{}{},
	}
	h.arm.Lock()
	if h.closed {
		close(w.done)
	} else {
		h.start()
		h.mu.Lock()
		h.watches[w] = struct{}{}
		h.mu.Unlock()
	}
	h.arm.Unlock()
	for _, dir := range dirs {
		w.Add(dir)
	}
	return w
}

// Add adds a directory, which need not be there yet: that it appears is a change.
// What changes in it after Add's return wakes. Next returns it under the name
// given, whatever symbolic links lead to it. To add it twice is to add it once.
func (w *Watch) Add(dir string) {
	h := w.hub
	h.arm.Lock()
	defer h.arm.Unlock()
	if _, open := h.watches[w]; !open || w.dirs[dir] != nil {
		return
	}
	s := h.spots[dir]
	if s == nil {
		s = newSpot(dir)
	}
	// Another watch's spot may be armed on what the name stood for earlier.
	moved := h.settle(s)
	h.mu.Lock()
	defer h.mu.Unlock()
	if moved {
		h.mark(s) // before w is among those that are told
	}
	h.spots[dir], w.dirs[dir] = s, s
	s.watches[w] = struct{}{}
}

// Remove ends the watch over a directory.
func (w *Watch) Remove(dir string) {
	w.hub.arm.Lock()
	defer w.hub.arm.Unlock()
	if s := w.dirs[dir]; s != nil {
		w.detach(s)
	}
}

// detach makes w forget s, and the hub too if nobody else watches it. The caller
// holds arm.
func (w *Watch) detach(s *spot) {
	h := w.hub
	h.mu.Lock()
	delete(w.dirs, s.name)
	delete(w.pending, s.name)
	delete(s.watches, w)
	unused := len(s.watches) == 0
	if unused {
		delete(h.spots, s.name)
		delete(h.dirty, s)
	}
	h.mu.Unlock()
	if unused {
		h.report(s, nil)
		h.attach(s, nil, "")
	}
}

// Close ends the watch: a Next that waits returns ErrClosed. With the last watch
// of a hub go its goroutines and descriptors, before Close returns.
func (w *Watch) Close() {
	h := w.hub
	h.arm.Lock()
	if _, open := h.watches[w]; !open {
		h.arm.Unlock()
		return
	}
	h.mu.Lock()
	delete(h.watches, w)
	h.mu.Unlock()
	close(w.done)
	wait := func() {}
	if len(h.watches) == 0 {
		wait = h.halt()
	}
	for _, s := range w.dirs {
		w.detach(s)
	}
	h.arm.Unlock()
	wait()
}

// Next blocks until some of the directories may have changed since the last Next,
// or since they were added, and returns them, sorted. At every scan interval it
// returns all of them, none if there are none, and scan is true. What changes
// within a burst is returned together: a first change at once, later ones 2 ms
// apart at least.
//
// It ends with ctx's error, which loses no change, or with ErrClosed. One
// goroutine at a time may call it.
func (w *Watch) Next(ctx context.Context) (dirs []string, scan bool, err error) {
	for {
		if err := w.wait(ctx); err != nil {
			return nil, false, err
		}
		if dirs, scan = w.take(); scan || len(dirs) > 0 {
			w.last = time.Now()
			return dirs, scan, nil
		}
	}
}

// wait returns when there is something to take and the burst is over.
func (w *Watch) wait(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-w.done:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	case <-w.wake:
	}
	rest := burst - time.Since(w.last)
	if rest <= 0 {
		return nil
	}
	timer := time.NewTimer(rest)
	defer timer.Stop()
	select {
	case <-w.done:
		return ErrClosed
	case <-ctx.Done():
		w.signal() // for the next Next
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// take returns what is pending and forgets it.
func (w *Watch) take() (dirs []string, scan bool) {
	w.hub.mu.Lock()
	defer w.hub.mu.Unlock()
	scan = w.all
	if scan {
		dirs = slices.Collect(maps.Keys(w.dirs))
	} else {
		dirs = slices.Collect(maps.Keys(w.pending))
	}
	slices.Sort(dirs)
	w.all = false
	clear(w.pending)
	return dirs, scan
}

// signal leaves a token for Next.
func (w *Watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}
