//go:build bench && unix

package cmd_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/index"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

const darwin = runtime.GOOS == "darwin"

// sizes are those of the rooms, in entries.
var sizes = []int{10, 1000, 10_000, 100_000}

// crew takes turns in every room.
var crew = []string{"dan", "claude", "ci"}

// bodySize returns the size of an entry's body. Of 20 entries 10 have 100 to 300 bytes, 7 have 300 to 1,000
// and 3 have 1,000 to 2,000, spread evenly: 536 bytes on average.
func bodySize(i int) int {
	at := i * 7919 % 1000 // fixed, but unlike its neighbours
	switch k := i % 20; {
	case k < 10:
		return 100 + at*200/1000
	case k < 17:
		return 300 + at*700/1000
	}
	return 1000 + at
}

// bodyOf returns a text of so many bytes, in lines of 70 or so.
func bodyOf(i, size int) string {
	var b strings.Builder
	for b.Len() < size {
		fmt.Fprintf(&b, "%d. The generated parser keeps every comment, the hand-written one does\n", i)
	}
	return strings.TrimSpace(b.String()[:size-1]) + "."
}

// space is one space with rooms; key names one of them.
func (m *bench) space(name string) string { return filepath.Join(m.dir, name) }

func (m *bench) key(n int) store.Key {
	return store.Key{Space: m.space("sizes"), Room: fmt.Sprint("room-", n)}
}

func roomDir(key store.Key) string {
	return filepath.Join(key.Space, ".substrate", "threads", key.Room)
}

// makeRooms makes the rooms that every row uses.
func (m *bench) makeRooms() {
	m.must(os.Mkdir(filepath.Join(m.dir, "floor"), 0o777))
	for len(sizes) > 1 && sizes[len(sizes)-1] > *largest {
		sizes = sizes[:len(sizes)-1]
	}
	m.makeSpace("sizes")
	for _, n := range append([]int{0}, sizes...) {
		m.progress("writing a room of %d entries", n)
		m.fill(m.key(n), n, "")
	}
	m.makeSpace("many")
	m.progress("writing %d rooms", manyRooms)
	for i := range manyRooms {
		m.fill(m.manyKey(i), 1, "")
	}
	m.settle("sizes", "many")
}

func (m *bench) makeSpace(name string) {
	m.run("init", m.space(name), "--as", "dan")
	m.run("join", "claude", "--kind", "agent", "--space", m.space(name))
	m.run("join", "ci", "--kind", "other", "--space", m.space(name))
}

// settle has what was written out of the way of what is measured, and the indexes up to date.
func (m *bench) settle(spaces ...string) {
	m.progress("waiting for the disk")
	m.must(exec.Command("sync").Run())
	for _, s := range spaces {
		m.progress("making the indexes of space %q", s)
		m.warm(m.space(s))
	}
}

// warm makes the indexes of a space. A doctor who finds something to say is fine.
func (m *bench) warm(space string) { m.command("doctor", "--fix", "--space", space).Run() }

// fill writes a room of n entries straight to files, as another writer would have left them.
func (m *bench) fill(key store.Key, n int, quieted string) {
	dir := roomDir(key)
	m.must(os.MkdirAll(filepath.Join(dir, "transactions"), 0o777))
	begin := time.Now().UTC().Add(-time.Duration(n+60) * time.Second).Truncate(time.Second)
	config := fmt.Sprintf("topic: which parser do we take?\ncreated_at: %s\nmoderator: dan\nturn_order:\n",
		begin.Format(time.RFC3339))
	for _, who := range crew {
		config += "  - " + who + "\n"
	}
	if next := n % len(crew); next > 0 && quieted == "" {
		config += fmt.Sprintf("next_index: %d\n", next)
	}
	config += quieted + "status: active\n"
	m.must(os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o666))
	m.must(os.WriteFile(filepath.Join(dir, ".turn.lock"), nil, 0o666)) // a room that was posted to has one
	workers := runtime.GOMAXPROCS(0)
	errs := make([]error, workers)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n && errs[w] == nil; i += workers {
				at := begin.Add(time.Duration(i) * time.Second)
				errs[w] = drop(dir, at, crew[i%len(crew)], bodyOf(i, bodySize(i)))
			}
		})
	}
	wait.Wait()
	for _, err := range errs {
		m.must(err)
	}
}

// drop writes an entry without asking anybody.
func drop(dir string, at time.Time, author, body string) error {
	e, _ := transcript.ParseName(transcript.Name(at, author, false))
	e.Body = body
	return os.WriteFile(filepath.Join(dir, e.Name), transcript.File(e), 0o666)
}

// remembered checks that a room's index is up to date.
func (m *bench) remembered(key store.Key) {
	m.Helper()
	x, err := index.Open(roomDir(key), filepath.Join(key.Space, ".substrate", "cache", key.Room+".index"), func() bool { return false })
	m.must(err)
	defer x.Close()
	if !x.Remembered() {
		m.Fatalf("%s: the index is not up to date, so the row would measure something else", key.Room)
	}
}

// A talk posts to a room in turn.
type talk struct {
	m     *bench
	rooms room.Rooms
	key   store.Key
	next  string
	last  record.Posted
}

func (m *bench) talk(key store.Key) *talk {
	t := &talk{m: m, rooms: room.Rooms{Store: &files.Store{}}, key: key}
	h, err := t.rooms.Head(context.Background(), key)
	m.must(err)
	t.next = h.Current
	return t
}

// post posts in this process.
func (t *talk) post() {
	var err error
	t.last, err = t.rooms.Post(context.Background(), t.key, room.Draft{As: t.next, Body: bodyOf(1, 300)})
	t.m.must(err)
	t.next = t.last.Next
}

// args are those of the next post by a whole process; done says that it was made.
func (t *talk) args() []string {
	return []string{t.key.Room, "--as", t.next, "--space", t.key.Space}
}

func (t *talk) done() {
	for i, who := range crew {
		if who == t.next {
			t.next = crew[(i+1)%len(crew)]
			return
		}
	}
}

// process posts by a whole process.
func (t *talk) process() {
	t.m.run("post", t.args()...)
	t.done()
}
