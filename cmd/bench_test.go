//go:build bench && unix

// The measurements of design/performance.md, side by side, in one table. Nothing here passes or fails by the
// clock: machines are noisy, and what is quoted are ratios to floors measured in the same run, one sample of
// the floor beside each sample of the work.
//
// scripts/bench runs it. Its flags, behind -args:
//
//	-max N     the largest room, in entries (default 100000)
//	-idle D    watch idle rooms for D (20s; 0s: not at all)
package cmd_test

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	largest = flag.Int("max", 100_000, "the largest room, in entries")
	idle    = flag.Duration("idle", 20*time.Second, "also watch an idle room for so long")
)

// bench is one run.
type bench struct {
	*testing.B
	dir    string // everything is below it
	prog   string // a copy of the programs, so that somebody who builds meanwhile does not pull them away
	env    []string
	null   *os.File
	stderr *os.File
	body   *os.File      // what is posted
	used   time.Duration // processor time of the programs that ran
	lines  []*line
	began  time.Time
}

func BenchmarkSubstrate(b *testing.B) {
	m := begun(b)
	load := loadavg()
	defer func() { m.report(m.targets(), load) }() // what there is, if something fails
	m.makeRooms()
	m.starts()
	m.posts()
	m.reads()
	m.foreign()
	m.wakes()
	m.watcher()
	m.mcp()
	m.http()
	m.crowd()
	m.many()
}

func begun(b *testing.B) *bench {
	m := &bench{B: b, dir: b.TempDir(), began: time.Now()}
	m.prog = filepath.Join(m.dir, "bin")
	m.must(os.Mkdir(m.prog, 0o777))
	m.must(exec.Command("sh", "-c", `cp "$1"/substrate-* "$2"`, "sh", bin, m.prog).Run())
	m.compile("bare", bareSource)
	m.compile("peak", peakSource)
	m.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.dir, "SUBSTRATE_HOME=" + m.dir + "/home"}
	var err error
	m.null, err = os.OpenFile(os.DevNull, os.O_RDWR, 0)
	m.must(err)
	m.stderr, err = os.Create(filepath.Join(m.dir, "stderr"))
	m.must(err)
	m.must(os.WriteFile(filepath.Join(m.dir, "body"), []byte(bodyOf(1, 300)+"\n"), 0o666))
	m.body, err = os.Open(filepath.Join(m.dir, "body"))
	m.must(err)
	return m
}

// The floor of every program, and one that says how much memory another takes: a child begins with the peak
// of whoever starts it, and ours is large.
const (
	bareSource = `package main

func main() {}
`
	peakSource = `package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

func main() {
	c := exec.Command(os.Args[1], os.Args[2:]...)
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)
}
`
)

func (m *bench) compile(name, source string) {
	file := filepath.Join(m.dir, name+".go")
	m.must(os.WriteFile(file, []byte(source), 0o666))
	out, err := exec.Command("go", "build", "-trimpath", "-o", filepath.Join(m.dir, name), file).CombinedOutput()
	if err != nil {
		m.Fatalf("cannot build %s: %v\n%s", file, err, out)
	}
}

func (m *bench) must(err error) {
	if err != nil {
		m.Helper()
		m.Fatal(err)
	}
}

func (m *bench) progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: %5.1fs  %s\n", time.Since(m.began).Seconds(), fmt.Sprintf(format, args...))
}

// command readies a program: ours by its name without substrate-, another by its path.
func (m *bench) command(prog string, args ...string) *exec.Cmd {
	if !filepath.IsAbs(prog) {
		prog = filepath.Join(m.prog, "substrate-"+prog)
	}
	c := exec.Command(prog, args...)
	// Files all, so that nothing of ours copies while the program is timed.
	c.Env, c.Dir, c.Stdin, c.Stdout, c.Stderr = m.env, m.dir, m.body, m.null, m.stderr
	return c
}

// run runs a program to its end, which must be a good one.
func (m *bench) run(prog string, args ...string) {
	m.body.Seek(0, io.SeekStart)
	c := m.command(prog, args...)
	err := c.Run()
	if c.ProcessState != nil {
		m.used += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	if err != nil {
		said, _ := os.ReadFile(m.stderr.Name())
		m.Fatalf("%s %s: %v\n%s", prog, strings.Join(args, " "), err, said)
	}
}

// program is run, for the measures.
func (m *bench) program(prog string, args ...string) func() {
	return func() { m.run(prog, args...) }
}

func (m *bench) bare() { m.run(filepath.Join(m.dir, "bare")) }

// peak returns the most memory a program takes, in KiB.
func (m *bench) peak(prog string, args ...string) int64 {
	args = append([]string{filepath.Join(m.prog, "substrate-"+prog)}, args...)
	c := m.command(filepath.Join(m.dir, "peak"), args...)
	c.Stdout = nil
	out, err := c.Output()
	m.must(err)
	var n int64
	_, err = fmt.Sscan(string(out), &n)
	m.must(err)
	if darwin {
		n /= 1024
	}
	return n
}

// A floor is what the work is compared with.
type floor struct {
	name string
	do   func()
}

const (
	bareName    = "bare program"
	publishName = "durable publish"
)

func (m *bench) bareFloor() floor    { return floor{bareName, m.bare} }
func (m *bench) publishFloor() floor { return floor{publishName, m.publish} }

// publish is one durable publish, next to the rooms.
func (m *bench) publish() {
	dir := filepath.Join(m.dir, "floor")
	data := make([]byte, 1000)
	temp, final := filepath.Join(dir, "temp"), filepath.Join(dir, "final")
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	m.must(err)
	_, err = f.Write(data)
	m.must(errors.Join(err, f.Sync(), f.Close(), os.Rename(temp, final)))
	d, err := os.Open(dir)
	m.must(err)
	m.must(errors.Join(d.Sync(), d.Close()))
}

// timed returns how long do takes.
func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

// patience is how long one line may take, once it has a few samples: slow work needs no more of them.
const patience = 6 * time.Second

// samples yields up to n times, until patience is at its end.
func samples(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		begun := time.Now()
		for i := range n {
			if i >= 3 && time.Since(begun) > patience || !yield(i) {
				return
			}
		}
	}
}

// measure adds a line about work that is done n times, beside its floor.
func (m *bench) measure(what string, size, n int, f floor, work func()) *line {
	var took, least, used []time.Duration
	for range samples(n) {
		if f.do != nil {
			least = append(least, timed(f.do))
		}
		m.used = 0
		took = append(took, timed(work))
		used = append(used, m.used)
	}
	l := m.add(what, size, took, f.name, least)
	l.CPU = median(used)
	return l
}

// add adds a line about samples.
func (m *bench) add(what string, size int, took []time.Duration, floor string, least []time.Duration) *line {
	l := &line{Work: what, Size: size, Count: len(took)}
	l.Median, l.Worst, l.Best = median(took), slices.Max(took), slices.Min(took)
	if len(least) > 0 {
		l.Floor, l.FloorNS = floor, median(least)
		l.Ratio = float64(l.Median) / float64(l.FloorNS)
	}
	if first := m.line(what, sizes[0]); first != nil && first.Median > 0 && size > sizes[0] {
		l.Over10 = float64(l.Median) / float64(first.Median)
		if floor == bareName || floor == publishName || floor == statRow {
			l.Over10 = l.Ratio / first.Ratio // the floor is the same in every room: what differs is the machine
		}
	}
	l.Peer = peers[what][size]
	m.lines = append(m.lines, l)
	return l
}

func (m *bench) line(work string, size int) *line {
	for _, l := range m.lines {
		if l.Work == work && l.Size == size {
			return l
		}
	}
	return nil
}

func median(d []time.Duration) time.Duration {
	d = slices.Clone(d)
	slices.Sort(d)
	return d[len(d)/2]
}
