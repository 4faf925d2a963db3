//go:build unix

package runner

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/record"
)

func command(g *rig, line string) *Command {
	return &Command{Line: line, Body: g.b, Say: func(err error) { g.mu.Lock(); defer g.mu.Unlock(); g.said = append(g.said, err.Error()) }}
}

// gone waits until no process has a number any more.
func gone(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) || runtime.GOOS == "linux" && body.ProcessOf(pid) == (body.Process{}) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("process %d runs on", pid)
		}
	}
}

func number(t *testing.T, path string) int {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		data, _ := os.ReadFile(path)
		if n, err := strconv.Atoi(strings.TrimSpace(string(data))); err == nil {
			return n
		}
		if time.Now().After(deadline) {
			t.Fatalf("no number in %s: %q", path, data)
		}
	}
}

func TestCommandIsGivenItsTurn(t *testing.T) {
	g := newRig(t)
	m := command(g, `cat >given; echo "$SUBSTRATE_BODY $SUBSTRATE_TURN_ID $PWD"; echo oops >&2`)
	turn := Turn{
		Turn:     record.Turn{Type: "turn", ID: "t1", Reason: "prompt", Prompt: "line\nbreak", Dir: g.b.Dir()},
		Channels: []record.Notification{{Type: "notification", Channel: "system", Data: json.RawMessage(`{"a":1}`)}, {Type: "notification", Channel: "btw", Data: json.RawMessage("null")}},
		Environ:  []string{"PATH=" + os.Getenv("PATH"), "SUBSTRATE_BODY=" + g.b.Dir(), "SUBSTRATE_TURN_ID=t1"},
	}
	check(t, m.Take(t.Context(), turn))
	lines := strings.Split(strings.TrimSpace(g.read("given")), "\n")
	if len(lines) != 3 || !strings.HasPrefix(lines[0], `{"type":"turn","id":"t1"`) || !strings.HasPrefix(lines[2], `{"type":"notification"`) {
		t.Errorf("%q", lines)
	}
	if want := g.b.Dir() + " t1 " + g.b.Dir() + "\noops\n"; g.read(mindLog) != want {
		t.Errorf("diary %q", g.read(mindLog))
	}
	if m.Sign() != int64(len(g.read(mindLog))) {
		t.Errorf("sign %d", m.Sign())
	}
	// Far more than a pipe holds, and nobody reads it.
	turn.Prompt = strings.Repeat("x", 1<<20)
	check(t, command(g, "exec true").Take(t.Context(), turn))
}

func TestCommandStatus(t *testing.T) {
	g := newRig(t)
	for line, want := range map[string]string{
		"true": "done", "exit 99": "transient", "exit 111": "transient", "exit 1": "failed", "exit 100": "failed",
		"/nosuch/program": "failed", "kill -KILL $$": "failed",
	} {
		err := command(g, line).Take(t.Context(), Turn{})
		var f *Failure
		got := "done"
		if errors.As(err, &f) {
			got = map[bool]string{true: "transient", false: "failed"}[f.Transient]
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", line, got, err, want)
		}
	}
}

// Class 15's rule for minds: a group of their own, which ends with the turn: done, cut off, or deaf to
// being asked.
func TestCommandEndsWithItsGroup(t *testing.T) {
	g := newRig(t)
	check(t, command(g, "sleep 100 & echo $! >background").Take(t.Context(), Turn{}))
	gone(t, number(t, g.b.Path("background")))
	g.write("mind", "trap 'sleep .3; echo late >>late; exit 0' TERM; sleep 100 & echo $! >pid; wait")
	for what, line := range map[string]string{
		"cut off":  "sleep 100 & echo $! >pid; wait",
		"deaf":     "trap '' TERM; sleep 100 & echo $! >pid; wait; wait",
		"graceful": "trap 'echo bye >bye; exit 0' TERM; sleep 100 & echo $! >pid; wait",
		// The shell in front is gone at once.
		"behind a shell": "sh mind; true",
	} {
		os.Remove(g.b.Path("pid"))
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() { done <- command(g, line).Take(ctx, Turn{}) }()
		pid := number(t, g.b.Path("pid"))
		cancel(errCut)
		if err := <-done; !errors.Is(err, errCut) {
			t.Errorf("%s: %v", what, err)
		}
		gone(t, pid)
	}
	if g.read("bye") != "bye\n" || g.read("late") != "late\n" {
		t.Errorf("it was not asked: %q, %q", g.read("bye"), g.read("late"))
	}
}

// A log directory that cannot be written costs a word, once, and never the turn.
func TestCommandWithoutADiary(t *testing.T) {
	g := newRig(t)
	check(t, os.WriteFile(g.b.Path(body.LogsDir), nil, 0o644))
	m := command(g, "cat >given; echo lost")
	for range 3 {
		check(t, m.Take(t.Context(), Turn{}))
	}
	if len(g.said) != 1 || g.read("given") == "" {
		t.Errorf("said %q", g.said)
	}
	g.start()
	g.publish("one")
	g.tick(2)
	g.turn()
	g.end(nil)
	g.state(Idle)
	if len(g.said) != 2 { // the events are not logged
		t.Errorf("said %q", g.said)
	}
}

func TestDiaryIsBegunAnew(t *testing.T) {
	g := newRig(t)
	m := command(g, "echo new")
	for range 2 {
		g.write(mindLog, strings.Repeat("x", maxLog+1))
		check(t, m.Take(t.Context(), Turn{}))
		if g.read(mindLog) != "new\n" || len(g.read(mindLog+".1")) != maxLog+1 {
			t.Errorf("%d bytes, %d before", len(g.read(mindLog)), len(g.read(mindLog+".1")))
		}
	}
}

// What a mind left behind when its agent was killed is ended before the turn is offered again, what it
// detached is not,
// and nobody else is touched.
func TestLeftoversAreReaped(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("there is no telling here")
		return
	}
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	id := g.turn().ID
	begin := func(line string, environ ...string) int {
		cmd := exec.Command("/bin/sh", "-c", line)
		cmd.Env = append(environ, "PATH="+os.Getenv("PATH"))
		check(t, cmd.Start())
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		t.Cleanup(func() { syscall.Kill(cmd.Process.Pid, syscall.SIGKILL); <-done })
		return cmd.Process.Pid
	}
	left := begin("exec sleep 100", "SUBSTRATE_TURN_ID="+id)
	other := begin("exec sleep 100", "SUBSTRATE_TURN_ID="+id+"x")
	begin("exec setsid sh -c 'echo $$ >"+g.b.Path("detached")+"; exec sleep 100'", "SUBSTRATE_TURN_ID="+id)
	detached := number(t, g.b.Path("detached"))
	defer syscall.Kill(detached, syscall.SIGKILL)
	g.restart()
	gone(t, left)
	for _, pid := range []int{other, detached} {
		if body.ProcessOf(pid) == (body.Process{}) {
			t.Error("somebody else was ended")
		}
	}
	if e := g.logged("mind_reaped"); len(e) != 1 || e[0]["processes"] != 1.0 {
		t.Errorf("%v", e)
	}
}

// The environment of a mind: its own agent's, its env_file where nothing is set, its virtual environment,
// our programs.
func TestEnvironmentOfTheMind(t *testing.T) {
	g := newRig(t)
	g.write("env", "KEY=file\nSET=file\nSUBSTRATE_AS=ann\n")
	g.write("venv/bin/python", "#!/bin/sh\n")
	check(t, os.Chmod(g.b.Path("venv/bin/python"), 0o755))
	g.write(body.InitFile, strings.Replace(initText, `"covenant"`, `"env_file": "env", "venv_path": "venv", "covenant"`, 1))
	o := g.options()
	o.Environ = []string{"SET=before", "PATH=/bin", "SUBSTRATE_TEXT=1", "SUBSTRATE_MIND=x", "SUBSTRATE_BODY=/other", "SUBSTRATE_HOME=/h"}
	r, err := Start(t.Context(), g.b, o)
	check(t, err)
	g.r = r
	got := "\n" + strings.Join(r.mindEnviron("t1"), "\n") + "\n"
	for _, want := range []string{
		"SET=before", "KEY=file", "SUBSTRATE_AS=ann", "SUBSTRATE_HOME=/h", "SUBSTRATE_BODY=" + g.b.Dir(), "SUBSTRATE_TURN_ID=t1",
		"VIRTUAL_ENV=" + g.b.Path("venv"),
		"PATH=" + g.b.Path("venv/bin") + ":/bin:" + filepath.Dir(o.Launch.Program),
	} {
		if strings.Count(got, "\n"+want+"\n") != 1 {
			t.Errorf("no %s in %s", want, got)
		}
	}
	for _, not := range []string{"SUBSTRATE_TEXT", "SUBSTRATE_MIND", "/other"} {
		if strings.Contains(got, not) {
			t.Errorf("%s in %s", not, got)
		}
	}
	// L-11: one that cannot be used is said, and written back nowhere.
	g.crash()
	check(t, os.Remove(g.b.Path("venv/bin/python")))
	init := g.read(body.InitFile)
	g.start()
	if len(g.said) != 1 || !strings.Contains(g.said[0], "Configured venv_path is not usable") || g.read(body.InitFile) != init {
		t.Errorf("said %q", g.said)
	}
}
