//go:build bench && unix

package cmd_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// The rows, by the work they time.
const (
	startRow    = "start of substrate-"
	postRow     = "post, whole process"
	loopRow     = "post, in process"
	oneRoomRow  = "8 processes on one room, per post"
	manyRow     = "8 processes on 8 rooms, per post"
	tailRow     = "read --tail 20, whole process"
	linesRow    = "read --last 40 --text, whole process"
	nextRow     = "next, whole process"
	listRow     = "list, whole process"
	headRow     = "head, in process"
	windowRow   = "tail of 40 lines, in process"
	fullRow     = "read --text of all, whole process"
	manifestRow = "offer --manifest, whole process"
	foreignRow  = "read --tail 20 after a foreign entry"
	aloneRow    = "post, nobody else"
	elsewhRow   = "post, 4 readers in another room"
	crowdRow    = "post, 4 readers in this room"
	wakeRow     = "post acknowledged to head seen, in process"
	waitRow     = "post begun to head seen, in process"
	watchRow    = "post acknowledged to watcher's line"
	roomsRow    = "list of all rooms"
	manyWakeRow = "post to wake among all rooms watched"
	listingRow  = "list and sort names"
	someRow     = "list, sort, read 8 files"
	plainRow    = "list, sort, read all files"
	statRow     = "stat of the directory"
)

const manyRooms = 5000

// peers quotes design/performance.md: the existing single-binary implementation, measured there and then.
var peers = map[string]map[int]string{
	postRow:      {10: "40 ms", 1000: "42 ms", 10_000: "59 ms", 100_000: "330 ms"},
	loopRow:      {0: "7.1 ms (140/s)", 1000: "10.8 ms (93/s)", 10_000: "33 ms (30/s)"},
	oneRoomRow:   {8: "7.0 ms (143/s)"},
	manyRow:      {8: "3.0 ms (338/s)"},
	linesRow:     {10: "40 ms", 1000: "87 ms", 10_000: "390 ms", 100_000: "3400 ms"},
	fullRow:      {10_000: "340 ms", 100_000: "3800 ms"},
	checkRow:     {10: "1.1 ms", 1000: "33 ms", 10_000: "273 ms"},
	tailMCPRow:   {10: "1.0 ms", 1000: "32 ms", 10_000: "278 ms"},
	turnRow:      {10: "26 ms", 1000: "72 ms", 10_000: "500 ms"},
	httpRow:      {1000: "36 ms (28/s)"},
	httpEightRow: {1000: "24 ms (42/s)"},
	watchRow:     {10: "10 ms", 1000: "12 ms", 10_000: "45 ms"},
	aloneRow:     {10_000: "28 ms"},
	crowdRow:     {10_000: "843 ms"},
	someRow:      {10_000: "12.6 ms", 100_000: "121 ms"},
	plainRow:     {10_000: "255 ms", 100_000: "2690 ms"},
	statRow:      {10: "0.003 ms"},
	"start":      {-1: "33 ms"},
}

// peerPeaks are MiB, of a tail.
var peerPeaks = map[int]string{10: "21", 1000: "27", 10_000: "61", 100_000: "479"}

// starts times the start of every program beside that of a bare one.
func (m *bench) starts() {
	m.progress("start of each program")
	l := m.measure(bareName, -1, 50, floor{}, m.bare)
	l.Note = "2 ms in the document"
	progs, err := filepath.Glob(filepath.Join(root, "cmd", "substrate-*")) // bin holds other things too
	m.must(err)
	for _, p := range progs {
		name := strings.TrimPrefix(filepath.Base(p), "substrate-")
		l := m.measure(startRow+name, -1, 40, m.bareFloor(), m.program(name, "--version"))
		l.Peer, l.Peak = peers["start"][-1], m.peak(name, "--version")
	}
}

// posts times posts by whole processes and in this one, and by many at a time.
func (m *bench) posts() {
	for _, n := range sizes {
		m.progress("posts, room of %d entries", n)
		t := m.talk(m.key(n))
		t.process() // the floor and the work both warm
		m.remembered(t.key)
		l := m.measure(postRow, n, 40, m.publishFloor(), t.process)
		l.Peak = m.peak("post", append(t.args(), "-m", "a text")...)
		t.done()
		m.trace(l, t)
	}
	m.progress("posts in a loop")
	for _, n := range append([]int{0}, sizes[1:]...) {
		l := m.measure(loopRow, n, 100, m.publishFloor(), m.talk(m.key(n)).post)
		l.Note = perSecond(l)
	}
	m.eight()
}

func perSecond(l *line) string {
	return fmt.Sprintf("%.0f a second", float64(time.Second)/float64(l.Median))
}

// eight has as many processes post at once, 25 times each: a stream of drafts from the moderator of a room in
// which everybody else is quieted.
func (m *bench) eight() {
	m.progress("8 processes at once")
	m.makeSpace("eight")
	const each = 25
	var drafts strings.Builder
	for i := range each {
		fmt.Fprintf(&drafts, `{"type":"draft","thread":"ROOM","body":%q}`+"\n", bodyOf(i, 300))
	}
	for i := range 8 {
		m.fill(m.eightKey(i), 10, "quieted:\n  claude: 1000000000\n  ci: 1000000000\n")
	}
	round := func(key func(i int) store.Key) time.Duration {
		var all sync.WaitGroup
		errs := make([]error, 8)
		took := timed(func() {
			for i := range 8 {
				c := m.command("post", "-", "--as", "dan", "--space", key(i).Space)
				c.Stdin = strings.NewReader(strings.ReplaceAll(drafts.String(), "ROOM", key(i).Room))
				all.Go(func() { errs[i] = c.Run() })
			}
			all.Wait()
		})
		for _, err := range errs {
			m.must(err)
		}
		return took / (8 * each)
	}
	post := func(row string, key func(i int) store.Key) {
		var took, publishes []time.Duration
		for range 3 {
			for range 5 {
				publishes = append(publishes, timed(m.publish))
			}
			took = append(took, round(key))
		}
		l := m.add(row, 8, took, publishName, publishes)
		l.Note = fmt.Sprintf("%s, 3 rounds of %d posts", perSecond(l), 8*each)
	}
	post(oneRoomRow, func(int) store.Key { return m.eightKey(0) })
	post(manyRow, m.eightKey)
}

func (m *bench) eightKey(i int) store.Key {
	return store.Key{Space: m.space("eight"), Room: fmt.Sprint("room-", i)}
}

// reads times what looks at a room, first the floors in each.
func (m *bench) reads() {
	for _, n := range sizes {
		m.progress("reads, room of %d entries", n)
		key := m.key(n)
		m.remembered(key)
		few, many := 10, 40
		if n >= 100_000 {
			few = 3
		}
		dir := roomDir(key)
		m.measure(statRow, n, many, floor{}, func() { os.Stat(dir) })
		m.measure(listingRow, n, few, floor{}, func() { m.names(dir) })
		m.measure(someRow, n, few, floor{}, func() {
			names := m.names(dir)
			m.slurp(dir, names[len(names)-8:])
		})
		room, space := key.Room, key.Space
		for _, r := range []struct {
			row  string
			args []string
		}{
			{tailRow, []string{"read", room, "--tail", "20", "--space", space}},
			{linesRow, []string{"read", room, "--last", "40", "--text", "--space", space}},
			{nextRow, []string{"next", room, "--space", space}},
			{listRow, []string{"list", room, "--space", space}},
		} {
			l := m.measure(r.row, n, many, m.bareFloor(), m.program(r.args[0], r.args[1:]...))
			l.Peak = m.peak(r.args[0], r.args[1:]...)
			if r.row == linesRow {
				l.Note = "peer's peak " + peerPeaks[n] + " MiB"
			}
			if r.row == tailRow {
				m.count(l, r.args[0], r.args[1:]...)
			}
		}
		m.inProcess(key, n)
		l := m.measure(fullRow, n, few, floor{plainRow, func() { m.slurp(dir, m.names(dir)) }},
			m.program("read", room, "--text", "--space", space))
		l.Peak = m.peak("read", room, "--text", "--space", space)
		l = m.measure(manifestRow, n, few, m.bareFloor(), m.program("offer", room, "--manifest", "--space", space))
		l.Peak = m.peak("offer", room, "--manifest", "--space", space)
	}
}

// inProcess times what a server does that stays open.
func (m *bench) inProcess(key store.Key, n int) {
	rooms := room.Rooms{Store: &files.Store{}}
	ctx := context.Background()
	dir := roomDir(key)
	stat := floor{statRow, func() { os.Stat(dir) }}
	m.measure(headRow, n, 200, stat, func() {
		_, err := rooms.Head(ctx, key)
		m.must(err)
	})
	m.measure(windowRow, n, 200, stat, func() {
		rd, err := rooms.Read(ctx, key, store.Part{LastLines: 40}, 0)
		m.must(err)
		m.must(transcript.WriteText(io.Discard, rd.Entries(), rd.First()))
	})
}

// names lists a room as the simplest reader would.
func (m *bench) names(dir string) []string {
	found, err := os.ReadDir(dir) // sorted
	m.must(err)
	names := make([]string, 0, len(found))
	for _, f := range found {
		if strings.HasSuffix(f.Name(), ".md") {
			names = append(names, f.Name())
		}
	}
	return names
}

func (m *bench) slurp(dir string, names []string) {
	for _, name := range names {
		_, err := os.ReadFile(filepath.Join(dir, name))
		m.must(err)
	}
}

// foreign times the first read after somebody else has put an entry into a room.
func (m *bench) foreign() {
	for _, n := range sizes {
		m.progress("foreign entries, room of %d entries", n)
		key, dir := m.key(n), roomDir(m.key(n))
		var took, least []time.Duration
		for range samples(5) {
			m.must(drop(dir, time.Now(), "ci", "From elsewhere."))
			least = append(least, timed(func() { m.names(dir) }))
			took = append(took, timed(m.program("read", key.Room, "--tail", "20", "--space", key.Space)))
		}
		l := m.add(foreignRow, n, took, listingRow, least)
		l.Peak = m.peak("read", key.Room, "--tail", "20", "--space", key.Space)
		m.count(l, "read", key.Room, "--tail", "20", "--space", key.Space)
	}
	m.warm(m.space("sizes"))
}

// crowd times whole-process posts while others read without a rest. Four of them keep two processors busy
// whatever they read, so that they first do it in another room of the same size.
func (m *bench) crowd() {
	n := min(10_000, sizes[len(sizes)-1])
	m.progress("posts beside 4 readers, room of %d entries", n)
	t := m.talk(m.key(n))
	m.measure(aloneRow, n, 40, m.publishFloor(), t.process)
	m.fill(store.Key{Space: m.space("sizes"), Room: "other"}, n, "")
	m.warm(m.space("sizes"))
	for _, c := range []struct{ row, room string }{{elsewhRow, "other"}, {crowdRow, t.key.Room}} {
		stop := m.readers(c.room, t.key.Space)
		m.measure(c.row, n, 40, m.publishFloor(), t.process)
		stop()
	}
}

// readers starts four loops of whole-process reads.
func (m *bench) readers(room, space string) (stop func()) {
	var loops []*exec.Cmd
	for range 4 {
		c := m.command("/bin/sh", "-c", `while :; do "$@"; done`, "sh",
			filepath.Join(m.prog, "substrate-read"), room, "--tail", "20", "--space", space)
		c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		m.must(c.Start())
		loops = append(loops, c)
	}
	return func() {
		for _, c := range loops {
			syscall.Kill(-c.Process.Pid, syscall.SIGKILL)
			c.Wait()
		}
	}
}
