package wake

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/substrate-tools/substrate/lib/disk"
)

// Three parties work while there are watches. The clock and the reader only mark
// and never wait for the file system, so that nothing holds a wake-up back. The
// keeper alone arms again what was replaced, lost or refused, and marks it after
// that: who is woken then looks at a directory that is armed.

// start begins the clock and the keeper with the first watch. The caller holds
// arm.
func (h *Hub) start() {
	if h.stop != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	stop := make(chan struct{})
	h.stop, h.work = stop, new(sync.WaitGroup)
	h.work.Go(func() { h.keep(stop) })
	h.clock = time.AfterFunc(h.scan, func() { h.tick(stop) })
}

// halt ends with the last watch what start began, and the events. The caller
// holds arm, and calls wait without it.
func (h *Hub) halt() (wait func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clock.Stop()
	close(h.stop)
	src, work := h.src, h.work
	h.src, h.stop, h.work, h.clock = nil, nil, nil, nil
	return func() {
		if src != nil {
			src.Close()
		}
		work.Wait()
	}
}

// tick is the scan: everybody looks at everything. The keeper looks once at each
// directory itself, meanwhile.
func (h *Hub) tick(stop chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stop != stop {
		return // halted since
	}
	h.clock.Reset(h.scan)
	for w := range h.watches {
		w.all = true
		w.signal()
	}
	h.suspectAll()
}

// read takes events until src is closed.
func (h *Hub) read(src *fsnotify.Watcher) {
	for {
		select {
		case e, open := <-src.Events:
			if !open {
				return
			}
			h.event(filepath.Clean(e.Name), e.Op)
		case err, open := <-src.Errors:
			if !open {
				return
			}
			h.lost(errors.Is(err, fsnotify.ErrEventOverflow))
		}
	}
}

// event marks what an event at path concerns: the directory at path itself, and
// the one that path is in.
func (h *Hub) event(path string, op fsnotify.Op) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if n := h.paths[path]; n != nil {
		h.itself(n, op)
	}
	dir, base := filepath.Split(path)
	n := h.paths[filepath.Clean(dir)]
	if n == nil || base == "" || op == fsnotify.Chmod {
		return
	}
	passing := strings.HasPrefix(base, disk.TempPrefix)
	for s := range n.spots {
		switch {
		case s.child == base:
			h.suspect(s)
		case s.child == "" && !passing:
			h.mark(s)
		}
	}
}

// itself deals with an event of a watched directory itself. The caller holds mu.
func (h *Hub) itself(n *node, op fsnotify.Op) {
	replaced := op.Has(fsnotify.Create | fsnotify.Remove | fsnotify.Rename)
	// The new directory may have the inode of the old one: a look cannot tell
	// that it has to be armed again.
	n.dead = n.dead || replaced
	for s := range n.spots {
		switch {
		// A directory that is removed while somebody has it open changes its
		// attributes first and sends its removal who knows when.
		case replaced || op == fsnotify.Chmod:
			h.suspect(s)
		case s.child == "":
			h.mark(s) // kqueue and Windows tell of changes in it that way
		}
	}
}

// lost deals with errors of the event source, among them events that are lost:
// these may have told of any change and any replaced directory.
func (h *Hub) lost(events bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if events {
		for _, n := range h.nodes {
			n.dead = true
		}
	}
	h.suspectAll()
}

// mark makes the watches of s return it. The caller holds mu.
func (h *Hub) mark(s *spot) {
	for w := range s.watches {
		w.pending[s.name] = struct{}{}
		w.signal()
	}
}

// suspect makes the keeper look at s. The caller holds mu.
func (h *Hub) suspect(s *spot) {
	h.dirty[s] = struct{}{}
	h.rouse()
}

// suspectAll makes the keeper look at all spots. The caller holds mu.
func (h *Hub) suspectAll() {
	h.recheck = true
	h.rouse()
}

func (h *Hub) rouse() {
	select {
	case h.poke <- struct{}{}:
	default:
	}
}

// keep looks at what is suspect until stop is closed.
func (h *Hub) keep(stop chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-h.poke:
		}
		for _, s := range h.suspects() {
			h.mend(s)
		}
	}
}

// suspects returns the spots to look at and forgets them.
func (h *Hub) suspects() []*spot {
	h.arm.Lock()
	defer h.arm.Unlock()
	h.mu.Lock()
	all := h.recheck
	h.mu.Unlock()
	armed := map[string]bool{}
	if all && h.src != nil {
		// An unmounted directory disarms itself without an event.
		for _, path := range h.src.WatchList() {
			armed[path] = true
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	from := maps.Keys(h.dirty)
	if all {
		h.recheck = false
		from = maps.Values(h.spots)
		for path, n := range h.paths {
			n.dead = n.dead || !armed[path]
		}
	}
	list := slices.Collect(from)
	clear(h.dirty)
	return list
}

// mend arms s again if it stands for something else or has no events. It lets go
// of arm each time, so that a scan of many directories holds up nobody.
func (h *Hub) mend(s *spot) {
	h.arm.Lock()
	defer h.arm.Unlock()
	if h.spots[s.name] != s || h.stop == nil || !h.settle(s) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mark(s)
}
