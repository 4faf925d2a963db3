package courier

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/record"
)

// refusals remembers writes that were refused, of which no entry tells, in a file: an
// address that was refused stays so over a restart. A line has a hash of what was
// asked for and what was said. That it cannot be written stops nobody, and is as if
// it were lost.
type refusals struct {
	path  string
	mu    sync.Mutex
	known map[string]string // nil before the file was read
	order []string          // the oldest first
	lines int               // in the file
	torn  bool              // its last line has no end
}

// At most so many are remembered, and the file is written anew at twice as many.
const mostRefusals = 4096

func refusalID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// of returns what was said to a write that was refused.
func (r *refusals) of(id string) (said string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load()
	said, ok = r.known[refusalID(id)]
	return said, ok
}

// add remembers one more.
func (r *refusals) add(id, said string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.load()
	hash := refusalID(id)
	r.note(hash, record.OneLine(said))
	if r.lines++; r.lines > 2*mostRefusals {
		r.rewrite()
		return
	}
	line := []byte(hash + " " + r.known[hash] + "\n")
	f, err := disk.Append(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		disk.ReplaceLoose(r.path, line)
	}
	if err != nil {
		return
	}
	defer f.Close()
	if r.torn {
		line = append([]byte("\n"), line...)
	}
	n, err := f.Write(line)
	r.torn = err != nil && (r.torn || n > 0)
}

func (r *refusals) note(hash, said string) {
	if _, known := r.known[hash]; !known {
		r.order = append(r.order, hash)
	}
	r.known[hash] = said
	if len(r.order) > mostRefusals {
		delete(r.known, r.order[0])
		r.order = slices.Delete(r.order, 0, 1)
	}
}

// load reads the file once. Lines that are damaged are none.
func (r *refusals) load() {
	if r.known != nil {
		return
	}
	r.known = map[string]string{}
	data, _ := disk.ReadFile(r.path, 64<<20)
	r.torn = len(data) > 0 && data[len(data)-1] != '\n'
	for line := range strings.Lines(string(data)) {
		r.lines++
		hash, said, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if ok && len(hash) == 32 && strings.HasPrefix(said, "refused ") && strings.HasSuffix(line, "\n") {
			r.note(hash, said)
		}
	}
}

func (r *refusals) rewrite() {
	var all strings.Builder
	for _, hash := range r.order {
		all.WriteString(hash + " " + r.known[hash] + "\n")
	}
	if disk.ReplaceLoose(r.path, []byte(all.String())) == nil {
		r.lines, r.torn = len(r.order), false
	}
}
