//go:build crash && linux && amd64

package cmd_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// together starts n runs at once and returns how each ended.
func together(t *testing.T, n int, each func(i int) *invocation) []result {
	t.Helper()
	results, start := make([]result, n), make(chan bool)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() {
			<-start
			var out, errs strings.Builder
			cmd := each(i).cmd()
			cmd.Stdout, cmd.Stderr = &out, &errs
			err := cmd.Run()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				t.Error(err)
				return
			}
			results[i] = result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
		})
	}
	close(start)
	wait.Wait()
	return results
}

// TestCrashRaceOneFloor has 16 processes post as the one who holds the floor.
func TestCrashRaceOneFloor(t *testing.T) {
	begin(t)
	won, busy := 0, 0
	for round := range 20 {
		s := newSandbox(t, t.TempDir())
		s.room(round % 4)
		v := s.see()
		rs := together(t, 16, func(i int) *invocation {
			return s.invoke("post", "r", "--as", v.Current, "-m", fmt.Sprint("mine ", i), "--errors", "json")
		})
		winner := -1
		for i, r := range rs {
			switch {
			case r.status == 0 && winner < 0:
				winner = i
				won++
			case r.status == 0:
				t.Errorf("both %d and %d won", winner, i)
			case r.status == 1 && strings.Contains(r.stderr, `"code":"not_your_turn"`):
			case r.status == 111 && strings.Contains(r.stderr, `"code":"busy"`):
				busy++
			default:
				t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
			}
		}
		if winner < 0 {
			t.Fatal("nobody won")
		}
		now := s.see()
		if want := v.Current + fmt.Sprint(": mine ", winner); now.Version != v.Version+1 || now.Entries[v.Version] != want {
			t.Errorf("%+v, want %q at the end", now, want)
		}
		goOn(s, now)
		s.audit(s.see())
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d rounds of 16, one winner each, %d busy", won, busy)
}

// turns makes a room of eight.
func (s *sandbox) turns(n int) []string {
	s.Helper()
	var who []string
	for i := range n {
		who = append(who, fmt.Sprint("w", i))
	}
	s.must("init", "--as", "w0")
	s.must(append([]string{"join", "--kind", "agent"}, who[1:]...)...)
	s.must("open", "r", "--topic", "t", "--moderator", "w0", "--turns", strings.Join(who, ","))
	return who
}

// TestCrashRaceTurns has eight writers post in turn, 800 times in all, some waiting for substrate-next to say so
// and some by trying until it works; the second time, 200 posts, one of them is a foreign program. Readers look on.
func TestCrashRaceTurns(t *testing.T) {
	begin(t)
	t.Parallel()
	foreign := filepath.Join(t.TempDir(), "foreign")
	build := exec.Command("go", "build", "-o", foreign, "./testdata/crash/foreign")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, mixed := range []bool{false, true} {
		t.Run(fmt.Sprintf("foreign=%v", mixed), func(t *testing.T) {
			s := newSandbox(t, t.TempDir())
			who := s.turns(8)
			each := 100
			if mixed || testing.Short() {
				each = 25
			}
			var wait sync.WaitGroup
			var busy, over atomic.Int64
			reads := make([]int, 4)
			for i, me := range who {
				if mixed && i == 3 {
					wait.Go(func() {
						if out, err := exec.Command(foreign, s.dir(), me, fmt.Sprint(each)).CombinedOutput(); err != nil {
							t.Errorf("foreign: %v: %s", err, out)
						}
					})
					continue
				}
				wait.Go(func() { s.write(me, each, i%2 == 0, &busy) })
			}
			var readers sync.WaitGroup
			for i := range reads {
				readers.Go(func() {
					for over.Load() == 0 && !t.Failed() {
						s.readOnce(who, i)
						reads[i]++
						time.Sleep(20 * time.Millisecond)
					}
				})
			}
			wait.Wait()
			over.Store(1)
			readers.Wait()
			if t.Failed() {
				return
			}
			v := s.see()
			if n := each * len(who); v.Version != n || len(v.Entries) != n || v.Current != who[0] {
				t.Fatalf("version %d, %d entries, %s holds the floor", v.Version, len(v.Entries), v.Current)
			}
			for i, e := range v.Entries {
				me := who[i%len(who)]
				if want := fmt.Sprintf("%s: %s %d", me, me, i/len(who)); e != want {
					t.Fatalf("entry %d is %q, want %q", i+1, e, want)
				}
			}
			names := s.list(s.dir(), entryName)
			for i := range names[1:] {
				if names[i][:19] >= names[i+1][:19] {
					t.Errorf("%s is not later than %s", names[i+1], names[i])
				}
			}
			s.audit(v)
			t.Logf("%d posts, %d times busy, reads %v", v.Version, busy.Load(), reads)
		})
	}
}

// write posts n times, each when it is its turn.
func (s *sandbox) write(me string, n int, ask bool, busy *atomic.Int64) {
	for i := 0; i < n && !s.Failed(); {
		if ask {
			var out strings.Builder
			cmd := s.invoke("next", "r", "--for", me).cmd()
			cmd.Stderr = &out
			if cmd.Run(); cmd.ProcessState.ExitCode() == 1 && out.Len() == 0 {
				time.Sleep(10 * time.Millisecond)
				continue
			} else if cmd.ProcessState.ExitCode() != 0 {
				s.Errorf("next: %v: %s", cmd.ProcessState, out.String())
				return
			}
		}
		var out strings.Builder
		cmd := s.invoke("post", "r", "--as", me, "-m", fmt.Sprintf("%s %d", me, i), "--errors", "json").cmd()
		cmd.Stderr = &out
		cmd.Run()
		switch status := cmd.ProcessState.ExitCode(); {
		case status == 0:
			i++
		case status == 111 && strings.Contains(out.String(), `"busy"`):
			busy.Add(1)
		case status == 1 && !ask && strings.Contains(out.String(), `"not_your_turn"`):
			time.Sleep(10 * time.Millisecond)
		default:
			s.Errorf("post as %s: status %d: %s", me, status, out.String())
			return
		}
	}
}

// readOnce reads a room in which the n-th post is by who[n % len(who)], in one of four ways, and checks that what
// it says belongs to one moment.
func (s *sandbox) readOnce(who []string, how int) {
	args := [][]string{
		{"read", "r", "--meta"}, {"list", "r"}, {"read", "r", "--tail", "5", "--meta"}, {"next"},
	}[how]
	var out, errs strings.Builder
	cmd := s.invoke(args...).cmd()
	cmd.Stdout, cmd.Stderr = &out, &errs
	if cmd.Run(); cmd.ProcessState.ExitCode() != 0 || errs.Len() > 0 {
		s.Errorf("%q: %v: %s", args, cmd.ProcessState, errs.String())
		return
	}
	type record struct {
		Type, Author, Body, Current                         string
		Version, Entries, Start_line, End_line, Total_lines int
	}
	var entries []record
	for line := range strings.Lines(out.String()) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			s.Errorf("%v: %q", err, line)
			return
		}
		entries = append(entries, r)
	}
	last := entries[len(entries)-1]
	if last.Type == "room" {
		if last.Current != who[last.Version%len(who)] {
			s.Errorf("version %d, but %s holds the floor", last.Version, last.Current)
		}
		return
	}
	entries = entries[:len(entries)-1]
	first := last.Version - len(entries)
	if how == 0 && first != 0 || how == 2 && len(entries) != min(5, last.Version) || last.Entries != len(entries) ||
		last.Total_lines != 3*last.Version {
		s.Errorf("%q: %d entries, %+v", args, len(entries), last)
	}
	for i, e := range entries {
		n := first + i
		me := who[n%len(who)]
		if e.Author != me || e.Body != fmt.Sprintf("%s %d", me, n/len(who)) || e.Start_line != 3*n+1 || e.End_line != 3*n+3 {
			s.Errorf("entry %d: %+v", n+1, e)
		}
	}
}

// TestCrashRaceMany has 20 processes at once do what all of them, or one of them, must succeed with.
func TestCrashRaceMany(t *testing.T) {
	begin(t)
	t.Run("init", func(t *testing.T) {
		for range 5 {
			s := newSandbox(t, t.TempDir())
			won := 0
			for _, r := range together(t, 20, func(int) *invocation { return s.invoke("init", "--as", "dan", "--errors", "json") }) {
				switch {
				case r.status == 0:
					won++
				case r.status != 1 || !strings.Contains(r.stderr, `"exists"`):
					t.Errorf("status %d: %s", r.status, r.stderr)
				}
			}
			if won != 1 {
				t.Errorf("%d made the space", won)
			}
			if temps := s.temps(); len(temps) > 0 {
				t.Errorf("left behind: %q", temps)
			}
			s.must("join", "ann", "--kind", "agent")
		}
	})
	t.Run("init-home", func(t *testing.T) {
		// Where .substrate is there already, as in a home directory.
		s := newSandbox(t, t.TempDir())
		os.Mkdir(filepath.Join(s.root, ".substrate"), 0o755)
		won := 0
		for _, r := range together(t, 20, func(int) *invocation { return s.invoke("init", "--as", "dan", "--errors", "json") }) {
			switch {
			case r.status == 0:
				won++
			case r.status != 1 || !strings.Contains(r.stderr, `"exists"`):
				t.Errorf("status %d: %s", r.status, r.stderr)
			}
		}
		if won != 1 {
			t.Errorf("%d made the space", won)
		}
	})
	t.Run("join", func(t *testing.T) {
		s := newSandbox(t, t.TempDir())
		s.room(0)
		s.people = true
		for _, r := range together(t, 20, func(i int) *invocation { return s.invoke("join", fmt.Sprint("p", i), "--kind", "agent") }) {
			if r.status != 0 {
				t.Errorf("status %d: %s", r.status, r.stderr)
			}
		}
		v := s.see()
		for i := range 20 {
			if !slices.Contains(v.People, fmt.Sprintf("p%d agent", i)) {
				t.Errorf("p%d is missing in %q", i, v.People)
			}
		}
	})
	t.Run("open", func(t *testing.T) {
		s := newSandbox(t, t.TempDir())
		s.must("init", "--as", "dan")
		s.must("join", "ann", "--kind", "agent")
		won := 0
		for i, r := range together(t, 20, func(i int) *invocation {
			return s.invoke("open", fmt.Sprint("room", i/2), "--topic", "t", "--moderator", "dan", "--turns", "ann", "--errors", "json")
		}) {
			switch {
			case r.status == 0:
				won++
			case r.status != 1 || !strings.Contains(r.stderr, `"exists"`):
				t.Errorf("%d: status %d: %s", i, r.status, r.stderr)
			}
		}
		if rooms := strings.Count(s.must("list"), "\n"); won != 10 || rooms != 10 {
			t.Errorf("%d opened, %d rooms; want 10", won, rooms)
		}
	})
	t.Run("spaces", func(t *testing.T) {
		s := newSandbox(t, t.TempDir())
		for i := range 20 {
			dir := filepath.Join(s.top, "all", fmt.Sprint("space", i))
			s.must("init", dir, "--as", "dan", "--no-register")
		}
		for _, r := range together(t, 20, func(i int) *invocation {
			return s.invoke("spaces", "add", filepath.Join(s.top, "all", fmt.Sprint("space", i)))
		}) {
			if r.status != 0 {
				t.Errorf("status %d: %s", r.status, r.stderr)
			}
		}
		if n := strings.Count(s.must("spaces", "list"), "\n"); n != 20 {
			t.Errorf("%d spaces are registered", n)
		}
		// And away again, while others come.
		for _, r := range together(t, 20, func(i int) *invocation {
			return s.invoke("spaces", "remove", fmt.Sprint("space", i))
		}) {
			if r.status != 0 {
				t.Errorf("status %d: %s", r.status, r.stderr)
			}
		}
		if left := s.must("spaces", "list"); left != "" {
			t.Errorf("still registered: %s", left)
		}
	})
}

// TestCrashRaceStopped stops a writer between its two files, at several points, as a debugger or a laptop's lid
// does: readers answer at once, other writers give up at their bound, and it goes on where it was.
func TestCrashRaceStopped(t *testing.T) {
	begin(t)
	for _, at := range []string{"renameat2 .pending.yaml", "renameat2 INTENT", "renameat2 ENTRY", "renameat config.yaml", "renameat2 MARKER"} {
		t.Run(strings.ReplaceAll(at, " ", "-"), func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t, t.TempDir())
			s.room(4)
			v := s.see()
			held := false
			end := trace(t, s.top, s.invoke("post", "r", "--as", "ann", "-m", "slow"), func(p point) act {
				if p.call+" "+kind(p.path) != at {
					return act{}
				}
				return act{hold: func() { held = true; s.besides(v) }}
			})
			if !held || end.status != 0 {
				t.Fatalf("held %v; status %d: %s", held, end.status, end.stderr)
			}
			now := s.see()
			if now.Version != v.Version+1 || now.Current != "bob" {
				t.Errorf("it went on to %+v", now)
			}
			goOn(s, now)
			s.audit(s.see())
		})
	}
}

// besides is what others do while somebody holds the room's lock. v is the room before him.
func (s *sandbox) besides(v view) {
	for _, args := range [][]string{{"read", "r"}, {"list", "r"}, {"next"}, {"list"}, {"read", "r", "--text", "--last", "3"}, {"doctor"}} {
		began := time.Now()
		r := s.run(args...)
		if took := time.Since(began); took > 5*time.Second {
			s.Errorf("%q took %v", args, took)
		}
		if r.status != 0 || args[0] != "doctor" && r.stderr != "" {
			s.Errorf("%q: status %d: %s", args, r.status, r.stderr)
		}
	}
	now := s.see()
	if now.Version == v.Version+1 {
		if now.Current != "bob" || now.Entries[v.Version] != "ann: slow" {
			s.Errorf("half of a post shows: %+v", now)
		}
	} else if now.Version != v.Version || now.Current != v.Current {
		s.Errorf("half of a post shows: %+v", now)
	}
	began := time.Now()
	r := s.run("post", "r", "--as", now.Current, "-m", "x", "--lock-timeout", "300ms")
	if took := time.Since(began); took < 300*time.Millisecond || took > 5*time.Second {
		s.Errorf("a post gave up after %v", took)
	}
	if lock := filepath.Join(s.dir(), ".turn.lock"); r.status != 111 || !strings.Contains(r.stderr, lock) || r.stdout != "" {
		s.Errorf("post: status %d: %s", r.status, r.stderr)
	}
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		cmd := s.invoke("post", "r", "--as", now.Current, "-m", "x").cmd()
		if err := cmd.Start(); err != nil {
			s.Error(err)
			return
		}
		time.Sleep(100 * time.Millisecond)
		began := time.Now()
		cmd.Process.Signal(sig)
		cmd.Wait()
		if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); !ws.Signaled() || ws.Signal() != sig || time.Since(began) > 5*time.Second {
			s.Errorf("%v: %v after %v", sig, cmd.ProcessState, time.Since(began))
		}
	}
	// Another room of the space is none of his business.
	other := s.run("open", "other", "--topic", "t", "--moderator", "dan", "--turns", "ann")
	post := s.run("post", "other", "--as", "dan", "-m", "x")
	if other.status != 0 || post.status != 0 {
		s.Errorf("in another room: %s%s", other.stderr, post.stderr)
	}
}

// TestCrashForeign leaves posts of the foreign writer behind at each step for ours to finish, and ours for it.
func TestCrashForeign(t *testing.T) {
	begin(t)
	t.Parallel()
	foreign := filepath.Join(t.TempDir(), "foreign")
	build := exec.Command("go", "build", "-o", foreign, "./testdata/crash/foreign")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, step := range []string{"pending", "intent", "entry", "config", "marker"} {
		s := newSandbox(t, t.TempDir())
		s.room(4)
		v := s.see()
		if err := exec.Command(foreign, s.dir(), "ann", "1", step).Run(); err == nil {
			t.Fatalf("it did not stop after %s", step)
		}
		now := s.see()
		there := step == "entry" || step == "config" || step == "marker"
		if there && (now.Version != 5 || now.Current != "bob" || now.Entries[4] != "ann: ann 0") || !there && now.Version != v.Version {
			t.Errorf("foreign stopped after %s: %+v", step, now)
		}
		goOn(s, now)
		s.audit(s.see())
	}
	n := 0
	s := newSandbox(t, t.TempDir())
	s.room(4)
	all := trace(t, s.top, s.invoke("post", "r", "--as", "ann", "-m", "ours"), nil)
	for i := range all.points {
		s := newSandbox(t, t.TempDir())
		s.room(4)
		end := trace(t, s.top, s.invoke("post", "r", "--as", "ann", "-m", "ours"), func(p point) act { return act{after: p.n == i+1} })
		v := s.see()
		if out, err := exec.Command(foreign, s.dir(), v.Current, "1").CombinedOutput(); err != nil {
			t.Fatalf("ours killed at %v: foreign: %v: %s", end.points[len(end.points)-1], err, out)
		}
		want := v.Version + 1
		if v = s.see(); v.Version != want {
			t.Errorf("ours killed at %v, then foreign: %+v", end.points[len(end.points)-1], v)
		}
		s.audit(goOn(s, v))
		n++
	}
	t.Logf("5 steps of the foreign writer finished by ours, %d of ours by it", n)
}
