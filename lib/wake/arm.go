package wake

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// A spot is a name that somebody watches, and what it stands for now. Its fields
// are written under both locks.
type spot struct {
	name    string // as given
	abs     string // absolute: a change of the working directory is none of a watch's
	watches map[*Watch]struct{}
	node    *node  // what is armed for it; nil when only the scan is left
	child   string // while the directory is missing: the entry of node to wait for
	failed  bool   // no events, and Notice says why
}

func newSpot(name string) *spot {
	abs, err := filepath.Abs(name)
	if err != nil {
		abs = name
	}
	return &spot{name: name, abs: abs, watches: map[*Watch]struct{}{}}
}

// A node is a directory that the kernel watches, for one spot or many.
type node struct {
	path  string // without symbolic links
	info  os.FileInfo
	key   any
	spots map[*spot]struct{} // written under both locks
	dead  bool               // under mu: the kernel has dropped it, or may have
}

// looksUp says whether a missing directory is waited for in its nearest ancestor.
// kqueue opens every file of a directory that it watches, which is too much to do
// to a home directory: the scan has to do there.
const looksUp = runtime.GOOS == "linux" || runtime.GOOS == "windows"

// tries is how often settle follows a name that stands for something else each
// time it looks, before it leaves the name to the scan.
const tries = 8

// settle arms what s stands for now and reports whether that is anything else
// than what was armed. The caller holds arm.
//
// It arms, then looks again, until a look after the arming finds what it armed: a
// directory that appears or is replaced meanwhile is never missed.
func (h *Hub) settle(s *spot) (moved bool) {
	for try := range tries {
		n, child, err := h.target(s)
		if errors.Is(err, fs.ErrNotExist) && try < tries-1 {
			continue // gone between the look and the arming
		}
		h.report(s, err)
		if n == s.node && child == s.child {
			break
		}
		h.attach(s, n, child)
		moved = true
	}
	return moved
}

// target returns the armed node that s needs: its directory or, while that is
// missing, the nearest ancestor and the entry to wait for in there. The node is
// nil when it cannot be armed.
func (h *Hub) target(s *spot) (n *node, child string, err error) {
	dir, child, info := locate(s.abs)
	if info == nil || child != "" && !looksUp {
		return nil, "", nil
	}
	if child == s.child && s.node != nil && !h.dead(s.node) && os.SameFile(s.node.info, info) {
		return s.node, child, nil
	}
	path, err := filepath.EvalSymlinks(dir)
	if err != nil {
		path = dir // the arming says what is wrong with it
	}
	n, err = h.node(path, info)
	if err != nil {
		return nil, "", err
	}
	return n, child, nil
}

// locate returns path if it is a directory, otherwise its nearest ancestor that
// is, and the entry of that ancestor on the way to path. Without even a root, info
// is nil.
func locate(path string) (dir, child string, info os.FileInfo) {
	for dir = path; ; {
		info, err := os.Stat(dir)
		if err == nil && info.IsDir() {
			return dir, child, info
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", "", nil
		}
		dir, child = up, filepath.Base(dir)
	}
}

func (h *Hub) dead(n *node) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return n.dead
}

// node returns the armed node of the directory at path, which info describes. The
// caller holds arm and attaches a spot to it.
func (h *Hub) node(path string, info os.FileInfo) (*node, error) {
	key := keyOf(path, info)
	if n := h.nodes[key]; n != nil {
		if !h.dead(n) {
			return n, nil
		}
		h.drop(n)
	}
	// What was here earlier: fsnotify must forget it first, or it would take the
	// new directory for the old one and leave the old one's kernel watch behind.
	if n := h.paths[path]; n != nil {
		h.drop(n)
	}
	if h.src == nil {
		src, err := h.open()
		if err != nil {
			return nil, err
		}
		h.src = src
		h.work.Go(func() { h.read(src) })
	}
	if err := h.src.Add(path); err != nil {
		h.src.Remove(path) // kqueue may have added half of it
		return nil, err
	}
	n := &node{path: path, info: info, key: key, spots: map[*spot]struct{}{}}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.nodes[key], h.paths[path] = n, n
	return n, nil
}

// attach gives s another node, nil for none, and drops the old one when s was the
// last to need it. The caller holds arm.
func (h *Hub) attach(s *spot, n *node, child string) {
	h.mu.Lock()
	old := s.node
	if old != nil {
		delete(old.spots, s)
	}
	s.node, s.child = n, child
	if n != nil {
		n.spots[s] = struct{}{}
	}
	h.mu.Unlock()
	if old != nil && len(old.spots) == 0 {
		h.drop(old)
	}
}

// drop disarms n. The keeper finds another node for the spots that still have it.
// The caller holds arm.
func (h *Hub) drop(n *node) {
	h.mu.Lock()
	delete(h.nodes, n.key)
	delete(h.paths, n.path)
	for s := range n.spots {
		s.node, s.child = nil, ""
		h.suspect(s)
	}
	clear(n.spots)
	h.mu.Unlock()
	if h.src != nil {
		h.src.Remove(n.path) // an error says that the kernel did it before
	}
}

// report keeps account of the spots that have no events.
func (h *Hub) report(s *spot, err error) {
	if s.failed == (err != nil) {
		return
	}
	line := ""
	if err != nil {
		line = h.explain(s.name, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s.failed = err != nil
	if err == nil {
		h.failed--
	} else {
		h.failed++
	}
	switch {
	case h.failed == 0:
		h.notice = ""
	case h.notice == "":
		h.notice = line
	}
}
