//go:build bench && unix

package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A verdict collects what one of the seven targets asks for.
type verdict struct {
	name    string
	said    []string
	missed  bool
	unknown bool
}

// want adds one part: what was found, the most it may be, and what it says in words.
func (v *verdict) want(l *line, found, most float64, format string, args ...any) {
	if l == nil {
		v.unknown = true
		v.said = append(v.said, fmt.Sprintf("not measured: %s", fmt.Sprintf(format, args...)))
		return
	}
	met := found <= most
	what := fmt.Sprintf(format, args...)
	said := fmt.Sprintf("%s: %.3g, at most %.3g", what, found, most)
	if !met {
		v.missed = true
		said = fmt.Sprintf("NOT %s: %.3g is %.2f times the %.3g allowed", what, found, found/most, most)
		if l.Floor != "" {
			said += fmt.Sprintf("; best %s, floor %s here", millis(l.Best), millis(l.FloorNS))
		}
	}
	v.said = append(v.said, said)
	both := met && (l.Met == nil || *l.Met)
	l.Met = &both
	if l.Target != "" {
		l.Target += "; "
	}
	l.Target += fmt.Sprintf("%s: at most %.3g", what, most)
}

func (v *verdict) String() string {
	word := "met"
	switch {
	case v.missed:
		word = "NOT met"
	case v.unknown:
		word = "met as far as measured"
	}
	return v.name + ": " + word + "\n     " + strings.Join(v.said, "\n     ")
}

func ms(l *line) float64 {
	if l == nil {
		return 0
	}
	return float64(l.Median) / float64(time.Millisecond)
}

// over is the ratio of two lines' medians.
func over(l, to *line) float64 {
	if l == nil || to == nil || to.Median == 0 {
		return 0
	}
	return float64(l.Median) / float64(to.Median)
}

func over10(l *line) float64 {
	if l == nil {
		return 0
	}
	return l.Over10
}

// exempt are the programs that bring a protocol's library along.
func exempt(name string) bool {
	return strings.HasPrefix(name, "mcp") || name == "proxy" || name == "carry"
}

// flat is how much more than the smallest room the largest may take where it should take the same.
const flat = 1.5

// targets judges the seven targets of design/performance.md.
func (m *bench) targets() []string {
	big := sizes[len(sizes)-1]
	at := func(row string) *line { return m.line(row, big) }
	said := []string{}
	add := func(name string, judge func(v *verdict)) {
		v := &verdict{name: name}
		judge(v)
		said = append(said, v.String())
	}
	add("1 start", func(v *verdict) {
		for _, l := range m.lines {
			if name, ok := strings.CutPrefix(l.Work, startRow); ok && !exempt(name) {
				v.want(l, l.Ratio, 2, "start of %s over a bare program", name)
			}
		}
	})
	add("2 post", func(v *verdict) {
		small, large := m.line(postRow, 10), at(postRow)
		for _, l := range []*line{small, large} {
			if l != nil && l.Calls["barriers"] > 0 {
				v.want(l, float64(l.Calls["barriers"]), 3, "sequential barriers at %s", thousands(l.Size))
			}
		}
		v.want(small, ms(small), 0.25*40, "ms at 10 (0.25 of the peer's 40)")
		if big == 100_000 {
			v.want(large, ms(large), 0.04*330, "ms at 100k (0.04 of the peer's 330)")
		}
		v.want(large, over10(large), flat, "%s over 10", thousands(big))
	})
	add("3 look", func(v *verdict) {
		rows := []string{nextRow, tailRow, headRow, windowRow}
		if at(checkRow) != nil {
			rows = append(rows, checkRow)
		}
		for _, row := range rows {
			v.want(at(row), ms(at(row)), 10, "ms, %s at %s", row, thousands(big))
			v.want(at(row), over10(at(row)), flat, "%s over 10, %s", thousands(big), row)
		}
		f, t := at(foreignRow), at(tailRow)
		least := time.Hour
		if f != nil {
			least = f.FloorNS
		}
		v.want(f, (ms(f)-ms(t))*float64(time.Millisecond)/float64(least), flat,
			"what a foreign entry adds to a read at %s, over list and sort", thousands(big))
	})
	add("4 full read", func(v *verdict) {
		l := m.line(fullRow, 10_000)
		v.want(l, ms(l), 340.0/5, "ms at 10k (a fifth of the peer's 340)")
		if large := at(fullRow); l != nil && large != nil && large != l {
			v.want(large, float64(large.Peak)/float64(l.Peak), flat, "memory at %s over 10k", thousands(big))
		}
		small, large := m.line(manifestRow, 10_000), at(manifestRow)
		if small != nil && large != nil && large != small {
			v.want(large, float64(large.Peak)/float64(small.Peak), flat, "memory of a manifest at %s over 10k", thousands(big))
		}
	})
	add("5 readers", func(v *verdict) {
		n := min(10_000, big)
		alone, elsewhere, here := m.line(aloneRow, n), m.line(elsewhRow, n), m.line(crowdRow, n)
		v.want(here, over(here, elsewhere), 1.3, "4 readers here over the same readers in another room")
		v.want(here, over(here, alone), 1.3, "4 readers here over none at all")
	})
	add("6 wake", func(v *verdict) {
		v.want(at(wakeRow), ms(at(wakeRow)), 5, "ms, %s at %s", wakeRow, thousands(big))
		v.want(at(watchRow), ms(at(watchRow)), 5, "ms, %s at %s", watchRow, thousands(big))
		l := at(idleRow)
		v.want(l, 100*ms(l)/(1000*max(1e-9, idle.Seconds())), 0.1,
			"%% CPU of an idle watcher at %s", thousands(big))
		if l != nil {
			v.want(l, float64(l.Calls["bytes"]), 0, "bytes that an idle watcher says")
		}
	})
	add("7 many rooms", func(v *verdict) {
		l := m.line(roomsRow, manyRooms)
		v.want(l, ms(l), 1000, "ms for %d rooms listed", manyRooms)
		w := m.line(manyWakeRow, manyRooms)
		v.want(w, ms(w), 50, "ms to a wake among %d", manyRooms)
		if w != nil {
			v.said = append(v.said, w.Note)
		}
	})
	return said
}

// trace adds to a line how many system calls a post takes, and how many syncs one after the other, where
// strace can say.
func (m *bench) trace(l *line, t *talk) {
	post := append([]string{"post"}, t.args()...)
	if !m.count(l, post[0], post[1:]...) {
		return
	}
	t.done()
	if l.Size != sizes[0] && l.Size != sizes[len(sizes)-1] {
		return
	}
	// Each sync is held up: those that run side by side are held up once.
	const hold = 200 * time.Millisecond
	held := func(d time.Duration) time.Duration {
		args := []string{
			"-f", "-qq", "-o", os.DevNull, "-e", "trace=fsync,fdatasync", "-e",
			fmt.Sprintf("inject=fsync,fdatasync:delay_exit=%d", 1+d.Microseconds()),
			filepath.Join(m.prog, "substrate-post"),
		}
		least := time.Hour
		for range 3 {
			m.body.Seek(0, 0)
			c := m.command(m.strace(), append(slices.Clone(args), t.args()...)...)
			least = min(least, timed(func() { m.must(c.Run()) }))
			t.done()
		}
		return least
	}
	quick, slow := held(0), held(hold)
	l.Calls["barriers"] = int((slow - quick + hold/2) / hold)
	l.Note = fmt.Sprintf("%d barriers, ", l.Calls["barriers"]) + l.Note
}

// strace returns the path of the program, "" when it is not here or may not trace.
func (m *bench) strace() string {
	path, err := exec.LookPath("strace")
	if err != nil || exec.Command(path, "-qq", "-o", os.DevNull, "true").Run() != nil {
		return ""
	}
	return path
}

// count adds to a line how many system calls a program makes that matter.
func (m *bench) count(l *line, prog string, args ...string) bool {
	strace := m.strace()
	if strace == "" {
		return false
	}
	m.body.Seek(0, 0)
	out := filepath.Join(m.dir, "strace")
	args = append([]string{"-f", "-qq", "-c", "-o", out, filepath.Join(m.prog, "substrate-"+prog)}, args...)
	m.must(m.command(strace, args...).Run())
	table, err := os.ReadFile(out)
	m.must(err)
	l.Calls = map[string]int{}
	for row := range strings.Lines(string(table)) {
		cells := strings.Fields(row)
		if len(cells) < 5 {
			continue
		}
		n, err := strconv.Atoi(cells[3])
		if err != nil {
			continue
		}
		switch name := cells[len(cells)-1]; name {
		case "fsync", "fdatasync":
			l.Calls["sync"] += n
		case "rename", "renameat", "renameat2", "link", "linkat":
			l.Calls["rename"] += n
		case "open", "openat":
			l.Calls["open"] += n
		case "stat", "lstat", "newfstatat", "statx":
			l.Calls["stat"] += n
		case "getdents", "getdents64":
			l.Calls["list"] += n
		case "total":
			l.Calls["all"] = n
		}
	}
	c := l.Calls
	l.Note = fmt.Sprintf("%d sync, %d rename, %d open, %d stat, %d list, %d calls",
		c["sync"], c["rename"], c["open"], c["stat"], c["list"], c["all"])
	return true
}

func loadavg() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Join(strings.Fields(string(data))[:1], " ")
}

func machine() string {
	return fmt.Sprintf("%s/%s, %d processors, %s",
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}
