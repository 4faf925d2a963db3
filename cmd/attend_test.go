//go:build unix

package cmd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// soon is how long a test waits for what is to happen at once, on a busy machine.
const soon = time.Minute

// A stage is a space with its own home, in which dan moderates ann and bob, and programs that live there.
type stage struct {
	t        *testing.T
	dir, env string // the space, and SUBSTRATE_HOME
}

func newStage(t *testing.T) *stage {
	t.Helper()
	touchSources(t)
	dir := t.TempDir()
	s := &stage{t, filepath.Join(dir, "p"), filepath.Join(dir, "home")}
	if err := os.Mkdir(s.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s.do("init", ".", "--as", "dan")
	s.do("join", "ann", "bob", "--kind", "agent")
	return s
}

// open makes rooms whose floor dan has, and in which the others follow.
func (s *stage) open(turns string, rooms ...string) {
	s.t.Helper()
	for _, room := range rooms {
		s.do("open", room, "--topic", "t", "--moderator", "dan", "--turns", turns)
	}
}

func (s *stage) agents(yaml string) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.env, "agents.yaml"), []byte(yaml), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) cmd(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(bin, "substrate-"+program), args...)
	cmd.Dir = s.dir
	// The directory of the programs is left out: a hook must find them all the same.
	cmd.Env = []string{"HOME=" + s.env, "SUBSTRATE_HOME=" + s.env, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "LC_ALL=C",
		// Under the race detector a program would sleep for a second at its end.
		"GORACE=atexit_sleep_ms=0",
	}
	return cmd
}

func (s *stage) try(program string, args ...string) (out, errs string, status int) {
	s.t.Helper()
	var stdout, stderr strings.Builder
	cmd := s.cmd(program, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		s.t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

func (s *stage) do(program string, args ...string) string {
	s.t.Helper()
	out, errs, status := s.try(program, args...)
	if status != 0 {
		s.t.Fatalf("substrate-%s %q: status %d: %s", program, args, status, errs)
	}
	return out
}

// bodies returns what the entries of a room say, as "author: body".
func (s *stage) bodies(room string) (all []string) {
	s.t.Helper()
	for line := range strings.Lines(s.do("read", room)) {
		var e struct{ Author, Body string }
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, e.Author+": "+e.Body)
	}
	return all
}

// shown waits until a file has a whole line, and returns what is in it.
func (s *stage) shown(file string) string {
	s.t.Helper()
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(s.dir, file)); err == nil && strings.HasSuffix(string(text), "\n") {
			return strings.TrimSuffix(string(text), "\n")
		}
	}
	s.t.Fatalf("%s does not appear", file)
	return ""
}

// A player is a program at work.
type player struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines chan map[string]any
	ended chan struct{}
	mu    sync.Mutex
	errs  bytes.Buffer
}

func (p *player) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errs.Write(b)
}

func (p *player) stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.errs.String()
}

// start has a program print records; it is killed at the end of the test.
func (s *stage) start(program string, args ...string) *player {
	s.t.Helper()
	return s.play(s.cmd(program, args...))
}

func (s *stage) play(cmd *exec.Cmd) *player {
	s.t.Helper()
	p := &player{t: s.t, cmd: cmd, lines: make(chan map[string]any, 1000), ended: make(chan struct{})}
	out, err := cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	cmd.Stderr = p
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		for in := bufio.NewReaderSize(out, 1<<20); ; {
			line, err := in.ReadBytes('\n')
			var record map[string]any
			if json.Unmarshal(line, &record) == nil {
				p.lines <- record
			} else if len(line) > 0 {
				s.t.Errorf("not a record: %q", line)
			}
			if err != nil {
				break
			}
		}
		close(p.lines)
		cmd.Wait()
	}()
	s.t.Cleanup(func() {
		cmd.Process.Kill()
		<-p.ended
	})
	return p
}

// next returns the next record.
func (p *player) next() map[string]any {
	p.t.Helper()
	select {
	case r, ok := <-p.lines:
		if !ok {
			<-p.ended
			p.t.Fatalf("ended with %v: %s", p.cmd.ProcessState, p.stderr())
		}
		return r
	case <-time.After(soon):
		p.t.Fatalf("no record in time; standard error: %s", p.stderr())
	}
	return nil
}

// end waits for the program to end, and returns its status and what it still printed.
func (p *player) end() (status int, rest []map[string]any) {
	p.t.Helper()
	late := time.After(soon)
	for {
		select {
		case r, ok := <-p.lines:
			if ok {
				rest = append(rest, r)
				continue
			}
			<-p.ended
			return p.cmd.ProcessState.ExitCode(), rest
		case <-late:
			p.t.Fatalf("does not end; standard error: %s", p.stderr())
		}
	}
}

// says waits until standard error has a text.
func (p *player) says(text string) {
	p.t.Helper()
	for end := time.Now().Add(soon); !strings.Contains(p.stderr(), text); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			p.t.Fatalf("does not say %q, but: %s", text, p.stderr())
		}
	}
}

func alive(pid string) bool {
	n, err := strconv.Atoi(pid)
	return err == nil && syscall.Kill(n, 0) == nil
}

// zombie reports whether a process has ended and is only not reaped yet, which may take for ever in a container.
func zombie(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// gone waits until a process has ended.
func gone(t *testing.T, pid string) {
	t.Helper()
	for end := time.Now().Add(soon); alive(pid) && !zombie(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %s is still there", pid)
		}
	}
}

// TestWatchStartRaces starts watchers at random moments around a post. No scan helps them.
func TestWatchStartRaces(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	rounds := 300
	if testing.Short() {
		rounds = 20
	}
	for i := range rounds {
		posted := make(chan int)
		lead := time.Duration(rand.IntN(12000)-4000) * time.Microsecond
		go func() {
			time.Sleep(max(0, lead))
			_, _, status := s.try("post", "r", "--as", "dan", "-m", "x")
			posted <- status
		}()
		time.Sleep(max(0, -lead))
		var w *player
		if i%3 == 2 {
			w = s.start("next", "r", "--for", "ann", "--wait", "60s")
		} else {
			w = s.start("watch", "r", "--for", "ann", "--once", "--scan", "10m")
		}
		if status := <-posted; status != 0 {
			t.Fatalf("round %d: post failed: %d", i, status)
		}
		status, lines := w.end()
		if status != 0 || len(lines) != 1 || lines[0]["current"] != "ann" || lines[0]["version"] != float64(2*i+1) {
			t.Fatalf("round %d, post %v after the start: status %d, %v", i, lead, status, lines)
		}
		s.do("post", "r", "--as", "ann", "--pass")
	}
}

// TestWatchManyPosts has 200 posts in quick succession: entries are all there, of floors the last is right.
func TestWatchManyPosts(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	first := s.do("post", "r", "--as", "dan", "-m", "0")
	entry := func(line string) string {
		var r struct{ Entry string }
		json.Unmarshal([]byte(line), &r)
		return r.Entry
	}
	tail := s.start("watch", "r", "--entries", "--since", entry(first), "--scan", "10m")
	floors := s.start("watch", "r", "--for", "dan", "--scan", "10m")
	post := s.cmd("post", "-")
	in, err := post.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	poster := s.play(post)
	for i := 1; i <= 201; i++ { // the last by ann
		fmt.Fprintf(in, `{"type":"draft","thread":"r","as":%q,"body":"%d"}`+"\n", []string{"dan", "ann"}[i%2], i)
	}
	in.Close()
	names := []string{}
	for i := 1; i <= 201; i++ {
		e := tail.next()
		if e["type"] != "entry" || e["body"] != strconv.Itoa(i) {
			t.Fatalf("entry %d: %v", i, e)
		}
		names = append(names, e["entry"].(string))
	}
	if status, rest := poster.end(); status != 0 || len(rest) != 201 {
		t.Fatalf("poster: %d, %d receipts: %s", status, len(rest), poster.stderr())
	}
	last, n := 0.0, 0
	for last < 202 { // with the first there are 202 entries; the floor is dan's at each even version
		f := floors.next()
		v := f["version"].(float64)
		if v <= last || int(v)%2 != 0 || f["current"] != "dan" {
			t.Fatalf("after version %v: %v", last, f)
		}
		last, n = v, n+1
	}
	t.Logf("201 posts: %d floor lines for dan", n)
	// From a cursor in the middle it catches up first, then follows.
	middle := s.start("watch", "r", "--entries", "--since", names[149], "--scan", "10m")
	for i := 151; i <= 201; i++ {
		if e := middle.next(); e["body"] != strconv.Itoa(i) {
			t.Fatalf("catching up, %d: %v", i, e)
		}
	}
	s.do("post", "r", "--as", "dan", "-m", "new")
	for _, p := range []*player{middle, tail} {
		if e := p.next(); e["body"] != "new" {
			t.Errorf("following: %v", e)
		}
	}
}

// TestWatchStoppedWriter stops writers at any moment of a post. Who waits sees a post wholly or not at all,
// and it when the writer goes on.
func TestWatchStoppedWriter(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	w := s.start("watch", "r", "--for", "ann", "--scan", "10m")
	held := 0
	for i := range 60 {
		post := s.play(s.cmd("post", "r", "--as", "dan", "-m", strconv.Itoa(i)))
		time.Sleep(time.Duration(rand.IntN(9000)) * time.Microsecond)
		post.cmd.Process.Signal(syscall.SIGSTOP)
		begun := time.Now()
		var room struct {
			Current string
			Version int
		}
		if err := json.Unmarshal([]byte(s.do("next", "r")), &room); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > 5*time.Second {
			t.Fatalf("next waited for a stopped writer: %v", took)
		}
		posted := room.Version == 2*i+1
		if !posted {
			held++
		}
		if posted != (room.Current == "ann") || !posted && room.Version != 2*i {
			t.Fatalf("round %d: half a post is seen: %+v", i, room)
		}
		post.cmd.Process.Signal(syscall.SIGCONT)
		if f := w.next(); f["version"] != float64(2*i+1) || f["current"] != "ann" {
			t.Fatalf("round %d: %v", i, f)
		}
		if status, _ := post.end(); status != 0 {
			t.Fatalf("round %d: stopped and continued, then %d: %s", i, status, post.stderr())
		}
		s.do("post", "r", "--as", "ann", "--pass")
	}
	t.Logf("%d of 60 writers were stopped before their post was seen", held)
}

// TestWatchHook has a hook that is slower than the changes, and one that fails.
func TestWatchHook(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r", "other")
	s.do("post", "r", "--as", "dan", "-m", "1")
	// One run at a time for a room: the hook counts whom it meets.
	hook := `mkdir "run-$SUBSTRATE_THREAD" || echo overlap >>overlaps
		sed 's/.*"version":\([0-9]*\).*/'"$SUBSTRATE_THREAD"' \1/' >>seen
		sleep 0.3; rmdir "run-$SUBSTRATE_THREAD"`
	w := s.start("watch", "--for", "ann", "--exec", hook, "--scan", "10m")
	w.next()
	for i := range 10 {
		s.do("post", "r", "--as", "ann", "--pass")
		s.do("post", "r", "--as", "dan", "-m", strconv.Itoa(i))
	}
	s.do("post", "other", "--as", "dan", "-m", "1")
	for end := time.Now().Add(soon); ; time.Sleep(10 * time.Millisecond) {
		data, _ := os.ReadFile(filepath.Join(s.dir, "seen"))
		if seen := string(data); strings.Contains(seen, "r 21\n") && strings.Contains(seen, "other 1\n") {
			break
		} else if time.Now().After(end) {
			t.Fatalf("never the newest state: %q; says %q", seen, w.stderr())
		}
	}
	seen := s.shown("seen")
	if _, err := os.Stat(filepath.Join(s.dir, "overlaps")); err == nil {
		t.Errorf("two hooks at once for a room: %s", seen)
	}
	before := 0
	for line := range strings.Lines(seen) {
		var room string
		var version int
		fmt.Sscan(line, &room, &version)
		if room == "r" && version <= before {
			t.Errorf("an older state after %d: %d", before, version)
		}
		if room == "r" {
			before = version
		}
	}
	t.Logf("11 changes, hook of 0.3 s: %d runs", strings.Count(seen, "\n")+1)
}

// TestWatchHookFails has a hook that fails twice: it is tried again later each time, and for nothing twice.
func TestWatchHookFails(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	hook := `date +%s%N >>tries; [ "$(wc -l <tries)" -ge 3 ] || exit 1; echo "$SUBSTRATE_TURN" >done`
	w := s.start("watch", "--for", "ann", "--exec", hook, "--scan", "10m")
	s.do("post", "r", "--as", "dan", "-m", "1")
	w.next()
	if who := s.shown("done"); who != "ann" {
		t.Errorf("SUBSTRATE_TURN is %q", who)
	}
	var at []int64
	for line := range strings.Lines(s.shown("tries") + "\n") {
		n, _ := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		at = append(at, n)
	}
	first, second := time.Duration(at[1]-at[0]), time.Duration(at[2]-at[1])
	if first < 500*time.Millisecond || second < first {
		t.Errorf("pauses do not grow: %v, %v", first, second)
	}
	t.Logf("tried again after %v and %v", first, second)
}

// TestWatchInterrupted interrupts watchers: the hook goes with its watcher, and the status is that of the signal.
func TestWatchInterrupted(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		for _, hook := range []string{"", `sh -c 'echo $$ >hook; sleep 100'; true`} {
			os.Remove(filepath.Join(s.dir, "hook"))
			args := []string{"--for", "dan"}
			if hook != "" {
				args = append(args, "--exec", hook)
			}
			w := s.start("watch", args...)
			w.next()
			pid := ""
			if hook != "" {
				pid = s.shown("hook")
			}
			w.cmd.Process.Signal(sig)
			w.end()
			status, _ := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
			if !(status.Signaled() && status.Signal() == sig) && w.cmd.ProcessState.ExitCode() != 128+int(sig) {
				t.Errorf("%v, hook %q: %v", sig, hook, w.cmd.ProcessState)
			}
			if pid != "" {
				gone(t, pid)
			}
			if errs := w.stderr(); errs != "" {
				t.Errorf("%v, hook %q: says %q", sig, hook, errs)
			}
		}
	}
}

// TestAttendQuickReply has an agent that answers while the post that woke it still holds the room: each reply is
// posted at the first attempt.
func TestAttendQuickReply(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	a := s.start("attend", "ann", "--exec", "echo here", "--reply", "stdout", "--pause", "10ms")
	failed := 0
	for i := range 100 {
		s.do("post", "r", "--as", "dan", "-m", strconv.Itoa(i), "--wait", "20s")
		run := a.next()
		for ; run["outcome"] != "posted"; run = a.next() {
			failed++
		}
	}
	if failed > 0 {
		t.Errorf("%d of 100 replies were refused, and the agent was run again: %s", failed, a.stderr())
	}
}

// TestAttendKillsGroup has a command that never ends and has a child of its own.
func TestAttendKillsGroup(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	s.do("post", "r", "--as", "dan", "-m", "1")
	for _, deaf := range []string{"", "trap '' TERM; "} {
		os.Remove(filepath.Join(s.dir, "child"))
		os.Remove(filepath.Join(s.dir, "grandchild"))
		command := deaf + `echo $$ >child; sh -c '` + strings.ReplaceAll(deaf, "'", `'\''`) + `echo $$ >grandchild; while :; do sleep 1; done' & wait; while :; do sleep 1; done`
		begun := time.Now()
		a := s.start("attend", "ann", "--exec", command, "--timeout", "500ms", "--attempts", "1")
		run := a.next()
		if run["outcome"] != "timeout" || run["for"] != "ann" {
			t.Errorf("%v", run)
		}
		gone(t, s.shown("child"))
		gone(t, s.shown("grandchild"))
		a.says("left alone after 1 attempts")
		t.Logf("%q: gone after %v, status %v", deaf, time.Since(begun), run["status"])
		a.cmd.Process.Signal(syscall.SIGTERM)
		a.end()
	}
}

// TestAttendTerminated ends an attendee in the middle of a turn: its command goes with it.
func TestAttendTerminated(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	s.do("post", "r", "--as", "dan", "-m", "1")
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		os.Remove(filepath.Join(s.dir, "grandchild"))
		a := s.start("attend", "ann", "--exec", `sh -c 'echo $$ >grandchild; sleep 100'; true`)
		pid := s.shown("grandchild")
		a.cmd.Process.Signal(sig)
		if status, lines := a.end(); status != 128+int(sig) || len(lines) != 0 {
			t.Errorf("%v: %d %v", sig, status, lines)
		}
		gone(t, pid)
		if errs := a.stderr(); errs != "" {
			t.Errorf("%v: says %q", sig, errs)
		}
	}
}

// TestAttendFlood has a command that prints 100 MB.
func TestAttendFlood(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	s.do("post", "r", "--as", "dan", "-m", "1")
	const flood = `head -c 100000000 /dev/zero | tr '\0' x`
	for reply, want := range map[string]string{"self": "no_turn", "stdout": "failed"} {
		begun := time.Now()
		a := s.start("attend", "ann", "--exec", flood+"; "+flood+" >&2", "--reply", reply, "--attempts", "1")
		run := a.next()
		if run["outcome"] != want {
			t.Errorf("%s: %v", reply, run)
		}
		a.says("left alone")
		a.cmd.Process.Signal(syscall.SIGTERM)
		a.end()
		peak := a.cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss // KiB on Linux
		if limit := int64(100 << 10); peak > limit && !raceEnabled() {
			t.Errorf("%s: %d KiB at the peak", reply, peak)
		}
		if n := len(a.stderr()); n > 3<<20 {
			t.Errorf("%s: %d bytes passed on", reply, n)
		}
		t.Logf("%s: 200 MB in %v, %d KiB at the peak, %d bytes passed on", reply, time.Since(begun), peak, len(a.stderr()))
	}
	if got := s.bodies("r"); len(got) != 1 {
		t.Errorf("posted: %d entries", len(got))
	}
}

// TestAttendDeafChild has a command that reads nothing of a long offer.
func TestAttendDeafChild(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	body := filepath.Join(s.dir, "long")
	if err := os.WriteFile(body, bytes.Repeat([]byte("a line of a long text\n"), 100000), 0o666); err != nil {
		t.Fatal(err)
	}
	s.do("post", "r", "--as", "dan", "-f", body)
	a := s.start("attend", "ann", "--exec", "echo short", "--reply", "stdout")
	if run := a.next(); run["outcome"] != "posted" || run["status"] != 0.0 {
		t.Errorf("%v: %s", run, a.stderr())
	}
	if got := s.bodies("r"); len(got) != 2 || got[1] != "ann: short" {
		t.Errorf("%d entries", len(got))
	}
}

// TestAttendKilled kills an attendee with no warning in the middle of a turn and starts it again.
func TestAttendKilled(t *testing.T) {
	for what, command := range map[string]string{
		"plain": `exec sh agent.sh`,
		// The shell stays between the attendee and the agent.
		"between": `sh agent.sh; true`,
	} {
		t.Run(what, func(t *testing.T) {
			s := newStage(t)
			s.open("ann", "r")
			// An agent that works for a while, says when, and posts at the end.
			agent := `for p in $(cat pids 2>/dev/null); do
					grep -q '^State:.[^Z]' /proc/$p/status 2>/dev/null && echo "$p still works" >>overlaps
				done
				echo $$ >>pids; n=$(wc -l <pids)
				sleep 1
				echo "by $n" | substrate-post`
			if err := os.WriteFile(filepath.Join(s.dir, "agent.sh"), []byte(agent), 0o666); err != nil {
				t.Fatal(err)
			}
			s.do("post", "r", "--as", "dan", "-m", "1")
			first := s.start("attend", "ann", "--exec", command, "--pause", "100ms")
			pid := s.shown("pids")
			first.cmd.Process.Kill()
			<-first.ended
			// Whoever starts it again may have to wait for what is left of the first.
			second := s.start("attend", "ann", "--exec", command, "--pause", "100ms")
			var runs []map[string]any
			for end := time.Now().Add(soon); len(s.bodies("r")) < 2 || alive(pid) && !zombie(pid); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("no entry: %s", second.stderr())
				}
				select {
				case <-second.ended:
					if status := second.cmd.ProcessState.ExitCode(); status != 111 {
						t.Fatalf("ended with %d: %s", status, second.stderr())
					}
					second = s.start("attend", "ann", "--exec", command, "--pause", "100ms")
				default:
				}
			}
			time.Sleep(200 * time.Millisecond) // for a second entry, if one were to come
			for len(second.lines) > 0 {
				runs = append(runs, <-second.lines)
			}
			if data, err := os.ReadFile(filepath.Join(s.dir, "overlaps")); err == nil {
				t.Errorf("two agents at work at once: %s", data)
			}
			if got := s.bodies("r"); len(got) != 2 || !strings.HasPrefix(got[1], "ann: by ") {
				t.Errorf("%q", got)
			}
			t.Logf("%v; %q", runs, s.bodies("r"))
		})
	}
}

// TestAttendTwo starts two attendees of one name.
func TestAttendTwo(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	s.do("post", "r", "--as", "dan", "-m", "1")
	a := s.start("attend", "ann", "--exec", `cat >/dev/null; echo "reply"`, "--reply", "stdout")
	a.next()
	begun := time.Now()
	_, errs, status := s.try("attend", "ann", "--exec", "echo other", "--reply", "stdout")
	if status != 111 || !strings.HasPrefix(errs, "substrate-attend: attended already on this machine: \"ann\"\n") {
		t.Errorf("the second: %d %s", status, errs)
	}
	if took := time.Since(begun); took > 5*time.Second {
		t.Errorf("the second took %v to say so", took)
	}
	s.do("post", "r", "--as", "dan", "-m", "2")
	a.next()
	if got, want := s.bodies("r"), []string{"dan: 1", "ann: reply", "dan: 2", "ann: reply"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// Another name is another matter.
	b := s.start("attend", "bob", "--exec", "echo other", "--reply", "stdout")
	s.open("bob", "r2")
	s.do("post", "r2", "--as", "dan", "-m", "1")
	b.next()
}

// TestAttendFair has eight rooms wait, one of which never brings an entry: the others are not held up by its
// pauses, and each comes once before one comes twice.
func TestAttendFair(t *testing.T) {
	s := newStage(t)
	rooms := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
	s.open("ann", rooms...)
	for _, room := range rooms {
		s.do("post", room, "--as", "dan", "-m", "1")
	}
	command := `[ "$SUBSTRATE_THREAD" = c ] || echo "here"`
	a := s.start("attend", "ann", "--exec", command, "--reply", "stdout", "--pause", "300ms", "--attempts", "2")
	count := map[string]int{}
	for i := range rooms {
		run := a.next()
		room := run["thread"].(string)
		if count[room]++; count[room] > 1 {
			t.Fatalf("turn %d: %q comes again before others came: %v", i, room, count)
		}
		if i == 0 { // the first asks again at once; the others wait longer
			s.do("post", room, "--as", "dan", "-m", "2")
		}
	}
	for range 2 {
		run := a.next()
		count[run["thread"].(string)]++
	}
	a.says(`left alone after 2 attempts: "ann" in "c"`)
	if count["c"] != 2 || count["a"]+count["b"] < 2 {
		t.Errorf("%v", count)
	}
}

// TestAttendRereads edits agents.yaml while the attendee runs.
func TestAttendRereads(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	s.agents("agents:\n  ann:\n    run: echo first\n    reply: stdout\n")
	a := s.start("attend", "ann")
	turn := func(say string) map[string]any {
		t.Helper()
		s.do("post", "r", "--as", "dan", "-m", say)
		run := a.next()
		if run["outcome"] != "posted" {
			t.Fatalf("%v: %s", run, a.stderr())
		}
		return run
	}
	turn("1")
	s.agents("# changed\nagents:\n  ann: {run: 'echo \"second, $SUBSTRATE_CONTEXT_MODE, $(grep -cx 1)\"', reply: stdout, context: incremental}\n")
	turn("2")
	s.agents("agents:\n  ann:\n    run: substrate-post -m third\n")
	turn("3")
	if got, want := s.bodies("r"), []string{
		"dan: 1", "ann: first", "dan: 2", "ann: second, incremental, 0", "dan: 3", "ann: third",
	}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	// A file that does not parse is named and costs the turn, not the attendee.
	s.agents("agents:\n  ann: {run: [\n")
	s.do("post", "r", "--as", "dan", "-m", "4")
	a.says("agents.yaml")
	s.agents("agents:\n  ann: {run: echo repaired, reply: stdout, pause: 50ms}\n")
	// It would look at the file again by itself, in a while; a floor that comes anew has it look at once.
	s.do("moderate", "next", "r", "dan", "--as", "dan")
	time.Sleep(200 * time.Millisecond)
	s.do("moderate", "next", "r", "ann", "--as", "dan")
	if run := a.next(); run["outcome"] != "posted" {
		t.Errorf("%v", run)
	}
	if got := s.bodies("r"); got[len(got)-1] != "ann: repaired" {
		t.Errorf("%q", got)
	}
}

// TestAttendPipe has the three programs of a pipe do what one attendee does.
func TestAttendPipe(t *testing.T) {
	results := map[string][]string{}
	for _, how := range []string{"attend", "pipe"} {
		s := newStage(t)
		s.open("ann", "r", "r2")
		command := `echo "$SUBSTRATE_THREAD $SUBSTRATE_THREAD_VERSION $SUBSTRATE_CONTEXT_MODE $SUBSTRATE_FROM_LINE"; grep -v '^$' | tail -n 1 | sed 's/^/> /'`
		var p *player
		if how == "attend" {
			p = s.start("attend", "ann", "--context", "incremental", "--exec", command, "--reply", "stdout")
		} else {
			cmd := s.cmd("watch")
			cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", `substrate-watch --for ann | substrate-offer - --for ann --policy incremental |
				substrate-attend ann --room - --reply stdout --exec "$0"`, command}
			cmd.Env = append(cmd.Env, "PATH="+bin+":"+os.Getenv("PATH"))
			cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			p = s.play(cmd)
			t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) })
		}
		for i := range 3 {
			for _, room := range []string{"r", "r2"} {
				s.do("post", room, "--as", "dan", "-m", fmt.Sprint("question ", i))
				run := p.next()
				results[how] = append(results[how], fmt.Sprint(run["thread"], run["version"], run["outcome"], run["status"]))
			}
		}
		results[how] = append(results[how], s.bodies("r")...)
		results[how] = append(results[how], s.bodies("r2")...)
		// The end of a room goes through as it is.
		s.do("moderate", "end", "r", "--as", "dan")
		if how == "pipe" {
			if f := p.next(); f["type"] != "floor" || f["event"] != "ended" {
				t.Errorf("the end of a room: %v", f)
			}
		}
		if errs := p.stderr(); errs != "" {
			t.Errorf("%s says: %s", how, errs)
		}
	}
	if !slices.Equal(results["attend"], results["pipe"]) {
		t.Errorf("attend: %q\npipe: %q", results["attend"], results["pipe"])
	}
	t.Logf("%q", results["attend"])
}

// TestAttendSecrets has a key in the run line: nothing that is printed or written has it.
func TestAttendSecrets(t *testing.T) {
	s := newStage(t)
	s.open("ann", "r")
	const secret = "sk-8c1d7f"
	s.do("post", "r", "--as", "dan", "-m", "1")
	for what, run := range map[string]string{
		"works": "KEY=" + secret + " true", "fails": "KEY=" + secret + " false", "is not there": "/nosuch/agent --key " + secret + " 2>/dev/null",
		"times out": "KEY=" + secret + " sleep 50", "does not parse": "echo '" + secret + " 2>/dev/null",
	} {
		s.agents("agents:\n  ann:\n    run: \"" + run + "\"\n    attempts: 1\n    timeout: 300ms\n    pause: 10ms\n")
		a := s.start("attend", "ann", "--errors", "json")
		line := a.next()
		a.says("left alone")
		a.cmd.Process.Signal(syscall.SIGTERM)
		_, rest := a.end()
		printed := fmt.Sprint(line, rest)
		if what != "does not parse" { // there it is sh that complains of the line
			printed += a.stderr()
		}
		if strings.Contains(printed, secret) {
			t.Errorf("a command that %s: %s", what, printed)
		}
	}
	s.agents("agents:\n  ann: {run: \"KEY=" + secret + " x\", reply: post}\n")
	_, errs, status := s.try("attend", "ann")
	if status != 100 || strings.Contains(errs, secret) {
		t.Errorf("a bad key: %d %s", status, errs)
	}
	out, _, _ := s.try("doctor")
	if strings.Contains(out, secret) {
		t.Errorf("doctor: %s", out)
	}
}
