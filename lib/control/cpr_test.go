package control

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
)

// dead makes a caller with karma and a target that has no heartbeat and was started with
// a command before.
func dead(t *testing.T) (Caller, body.Body) {
	t.Helper()
	all := network(t, "ann: karma", "bob")
	check(t, all["bob"].StopBeat())
	self, err := os.Executable()
	check(t, err)
	check(t, Launch{Program: self, Mind: "think"}.Write(all["bob"]))
	c := caller(t, all["ann"])
	c.Host.Now = time.Now
	return c, all["bob"]
}

// child is a process that was not started.
func child(l launch, does func(p *process)) (*process, error) {
	p := &process{pid: 4242, ended: make(chan struct{}), log: l.log}
	if info, err := os.Stat(l.log); err == nil {
		p.from = info.Size()
	}
	go does(p)
	return p, nil
}

func (p *process) end(status int) {
	p.status = status
	close(p.ended)
}

func TestL43CPRRevivesTheDead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, bob := dead(t)
		for _, s := range []body.Signal{body.Suspend, body.Sleep, body.Interrupt} {
			check(t, bob.Put(s, ""))
		}
		var got launch
		c.Environ = []string{"SUBSTRATE_BODY=" + c.Body.Dir(), "SUBSTRATE_AS=ann", "SUBSTRATE_HOME=/h", "KEY=ann's", "PATH=/bin"}
		check(t, os.WriteFile(bob.Path("env"), []byte("KEY=bob's\nSUBSTRATE_AS=bob\n"), 0o644))
		check(t, os.WriteFile(bob.Path(body.InitFile), []byte(strings.Replace(ready, "{", `{"env_file": "env", `, 1)), 0o644))
		c.start = func(l launch) (*process, error) {
			got = l
			return child(l, func(*process) {
				time.Sleep(3 * time.Second)
				if err := bob.Beat(time.Now()); err != nil {
					t.Error(err)
				}
			})
		}
		out, err := c.Act(t.Context(), CPR, "bob", "")
		if err != nil || out.Outcome != "resuscitated" || out.PID != 4242 {
			t.Fatalf("%+v, %v", out, err)
		}
		if want := []string{got.args[0], bob.Dir(), "--mind=think"}; !slices.Equal(got.args, want) || got.dir != bob.Dir() {
			t.Errorf("started %q in %q", got.args, got.dir)
		}
		// Its own keys, and no flag of the caller's.
		if want := []string{"SUBSTRATE_HOME=/h", "KEY=bob's", "PATH=/bin", "SUBSTRATE_AS=bob"}; !slices.Equal(got.env, want) {
			t.Errorf("environment %q, want %q", got.env, want)
		}
		for _, s := range []body.Signal{body.Suspend, body.Sleep, body.Interrupt} {
			if bob.Pending(s) {
				t.Errorf("%s is still there", s)
			}
		}
	})
}

// Class 3: one that runs and says nothing yet has not failed.
func TestClass3UnconfirmedIsNotFailed(t *testing.T) {
	for threshold, want := range map[time.Duration]time.Duration{10 * time.Second: 20 * time.Second, time.Second: 10 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			c, _ := dead(t)
			c.Threshold = threshold
			c.start = func(l launch) (*process, error) { return child(l, func(*process) {}) }
			begun := time.Now()
			out, err := c.Act(t.Context(), CPR, "bob", "")
			if err != nil || out.Outcome != "unconfirmed" || time.Since(begun) != want {
				t.Errorf("%+v, %v after %v, want unconfirmed after %v", out, err, time.Since(begun), want)
			}
		})
	}
}

// An end that is seen is a failure, however good its status, and its log's tail is said.
func TestCPREarlyExit(t *testing.T) {
	for _, status := range []int{0, 100} {
		synctest.Test(t, func(t *testing.T) {
			c, bob := dead(t)
			check(t, os.MkdirAll(bob.Path(body.LogsDir), 0o755))
			check(t, os.WriteFile(bob.Path(cprLog), []byte("of the time before\n"), 0o644))
			c.start = func(l launch) (*process, error) {
				return child(l, func(p *process) {
					f, err := os.OpenFile(l.log, os.O_APPEND|os.O_WRONLY, 0)
					if err == nil {
						fmt.Fprintf(f, "%s\nno such model\n", strings.Repeat("x", 5000))
						f.Close()
					}
					p.end(status)
				})
			}
			_, err := c.Act(t.Context(), CPR, "bob", "")
			if !fault.Is(err, fault.BadInput) || !strings.Contains(err.Error(), fmt.Sprintf("with status %d", status)) ||
				!strings.HasSuffix(err.Error(), "no such model") || strings.Contains(err.Error(), "before") {
				t.Errorf("%v", err)
			}
			if _, tail, _ := strings.Cut(err.Error(), `"bob": `); len(tail) != maxTail {
				t.Errorf("a tail of %d characters", len(tail))
			}
		})
	}
}

// L-45: in the gap between a run and its heartbeat cpr is refused, and nothing is harmed.
func TestL45CPRInTheGap(t *testing.T) {
	c, bob := dead(t)
	lease, err := bob.Acquire(t.Context(), 0)
	check(t, err)
	check(t, bob.Put(body.Suspend, ""))
	before := tree(t, bob.Network())
	_, err = c.Act(t.Context(), CPR, "bob", "")
	refused(t, bob.Network(), before, err, fault.Busy, "is held")
	lease.Release()

	// A run by its command line, which has not come as far as the lease.
	if runtime.GOOS != "linux" {
		return // there is no process table to look into
	}
	run := exec.Command("sh", "-c", "exec sleep 100")
	run.Path, run.Args = "/bin/sh", []string{"substrate-agent", "-c", "read _; : " + bob.Dir(), bob.Dir()}
	in, err := run.StdinPipe()
	check(t, err)
	check(t, run.Start())
	defer run.Wait()
	defer in.Close()
	// Until it has become what it is to be.
	for deadline := time.Now().Add(time.Minute); len(bob.Duplicates()) == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the run is not seen")
		}
	}
	_, err = c.Act(t.Context(), CPR, "bob", "")
	refused(t, bob.Network(), before, err, fault.Busy, fmt.Sprintf("process %d", run.Process.Pid))
}

// Class 3: cpr is never stacked, neither on another nor on a refresh that is about to start the agent.
func TestClass3CPRIsNeverStacked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, bob := dead(t)
		started := make(chan struct{}, 2)
		c.start = func(l launch) (*process, error) {
			started <- struct{}{}
			return child(l, func(*process) { time.Sleep(5 * time.Second); _ = bob.Beat(time.Now()) })
		}
		first := make(chan error)
		go func() {
			_, err := c.Act(context.Background(), CPR, "bob", "")
			first <- err
		}()
		<-started
		if _, err := c.Act(t.Context(), CPR, "bob", ""); !fault.Is(err, fault.Busy) {
			t.Errorf("a second at the same time: %v", err)
		}
		if err := <-first; err != nil || len(started) > 0 {
			t.Errorf("the first: %v", err)
		}
		if _, err := c.Act(t.Context(), CPR, "bob", ""); !fault.Is(err, fault.Exists) {
			t.Errorf("once it is alive: %v", err)
		}
	})
}

func TestCPRRefusals(t *testing.T) {
	c, bob := dead(t)
	c.start = func(launch) (*process, error) { t.Error("started"); return nil, os.ErrInvalid }
	refuse := func(what string, code fault.Code, text string) {
		t.Helper()
		before := tree(t, bob.Network())
		_, err := c.Act(t.Context(), CPR, "bob", "")
		refused(t, bob.Network(), before, err, code, text)
	}
	check(t, os.WriteFile(bob.Path(launchFile), []byte(`{"schema": "other"}`), 0o644))
	refuse("another's launch command", fault.Corrupt, "not the launch command")
	check(t, Launch{Program: "/nosuch/substrate-agent", Mind: "think"}.Write(bob))
	refuse("no program", fault.BadInput, "is gone")
	check(t, os.Remove(bob.Path(launchFile)))
	refuse("never started by us", fault.BadInput, "no launch command is known")
	check(t, os.WriteFile(bob.Path(body.InitFile), []byte("{"), 0o644))
	refuse("broken init.json", fault.Corrupt, "JSON_PARSE")
	check(t, os.Remove(bob.Path(body.InitFile)))
	refuse("no init.json", fault.Corrupt, "FILE_READ")
}

// venv makes a virtual environment of a layout, and init.json that names it.
func venv(t *testing.T, b body.Body, python string) string {
	t.Helper()
	path := b.Path("venv", python)
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755))
	check(t, os.WriteFile(b.Path(body.InitFile), []byte(strings.Replace(ready, "{", `{"venv_path": "venv", `, 1)), 0o644))
	return path
}

// L-43: an agent that only the prior runtime has run is started by the interpreter of its own venv_path.
func TestL43VenvOfTheTarget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, bob := dead(t)
		check(t, os.Remove(bob.Path(launchFile)))
		python := venv(t, bob, map[bool]string{false: "bin/python", true: "Scripts/python.exe"}[runtime.GOOS == "windows"])
		init, err := os.ReadFile(bob.Path(body.InitFile))
		check(t, err)
		var got launch
		c.start = func(l launch) (*process, error) {
			got = l
			return child(l, func(*process) { _ = bob.Beat(time.Now().Add(time.Second)) })
		}
		if _, err := c.Act(t.Context(), CPR, "bob", ""); err != nil {
			t.Fatal(err)
		}
		if want := []string{python, "-m", "lingtai", "run", bob.Dir()}; !slices.Equal(got.args, want) {
			t.Errorf("started %q, want %q", got.args, want)
		}
		if after, err := os.ReadFile(bob.Path(body.InitFile)); err != nil || string(after) != string(init) {
			t.Errorf("init.json was written: %q, %v", after, err)
		}
	})
}

// L-44: the layout is that of the platform we run on; another one's is not usable.
func TestL44VenvOfAnotherPlatform(t *testing.T) {
	c, bob := dead(t)
	venv(t, bob, map[bool]string{true: "bin/python", false: "Scripts/python.exe"}[runtime.GOOS == "windows"])
	before := tree(t, bob.Network())
	_, err := c.Act(t.Context(), CPR, "bob", "")
	refused(t, bob.Network(), before, err, fault.BadInput, "Configured venv_path is not usable")
	// Nor is one that cannot be run.
	if runtime.GOOS == "windows" {
		return
	}
	check(t, os.Chmod(venv(t, bob, "bin/python"), 0o644))
	before = tree(t, bob.Network())
	_, err = c.Act(t.Context(), CPR, "bob", "")
	refused(t, bob.Network(), before, err, fault.BadInput, "Configured venv_path is not usable")
}

// L-42: nirvana is for good, takes both rights and a reason, and removes one directory.
func TestL42Nirvana(t *testing.T) {
	all := network(t, "ann: karma nirvana", "bob", "eve: karma", "zoe: nirvana")
	ann, bob := all["ann"], all["bob"]
	check(t, bob.StopBeat())
	top := ann.Network()
	outside := network(t, "far")["far"]
	check(t, outside.StopBeat())
	check(t, os.Symlink(bob.Dir(), filepath.Join(top, "link")))
	check(t, os.Symlink(outside.Dir(), filepath.Join(top, "away")))
	nested := bob.Path("nested")
	check(t, os.Mkdir(nested, 0o755))
	check(t, os.WriteFile(filepath.Join(nested, body.ManifestFile), []byte(`{"admin":{}}`), 0o644))
	before, there := tree(t, top), tree(t, outside.Dir())
	for _, n := range []struct {
		by, address, reason string
		code                fault.Code
		text                string
	}{
		{"eve", "bob", "why", fault.Denied, "has no admin.nirvana"},
		{"zoe", "bob", "why", fault.Denied, "has no admin.karma"},
		{"bob", "eve", "why", fault.Denied, "has no admin.karma"},
		{"ann", "bob", "", fault.BadInput, "reason missing"},
		{"ann", "bob", " \n", fault.BadInput, "reason missing"},
		{"ann", "ann", "why", fault.Denied, "not to oneself"},
		{"ann", "link", "why", fault.Denied, "a link"},
		{"ann", "away", "why", fault.Denied, "a link"},
		{"ann", outside.Dir(), "why", fault.Denied, "not a child of"},
		{"ann", nested, "why", fault.Denied, "not a child of"},
		{"ann", top, "why", fault.UnknownParticipant, "no agent at"},
	} {
		_, err := caller(t, all[n.by]).Act(t.Context(), Nirvana, n.address, n.reason)
		refused(t, top, before, err, n.code, n.text)
	}
	// A link out of the directory is removed, not what it leads to.
	check(t, os.Symlink(outside.Dir(), bob.Path("elsewhere")))
	out, err := caller(t, ann).Act(t.Context(), Nirvana, "bob", "it is done")
	if err != nil || out.Outcome != "nirvana" || exists(bob.Dir()) {
		t.Errorf("%+v, %v", out, err)
	}
	if tree(t, outside.Dir()) != there {
		t.Error("something outside was touched")
	}
	left, err := os.ReadDir(top)
	check(t, err)
	if len(left) != 5 { // ann, eve, zoe and the two links
		t.Errorf("left: %v", left)
	}
	if log, _ := os.ReadFile(ann.Path(body.EventsFile)); !strings.Contains(string(log), "it is done") {
		t.Errorf("not in the log: %s", log)
	}
}

// One that lives is asked to end first, and what does not end is not destroyed.
func TestNirvanaOfTheLiving(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := network(t, "ann: karma nirvana", "bob", "eve")
		c := caller(t, all["ann"])
		c.Host.Now = time.Now
		for _, name := range []string{"bob", "eve"} {
			b := all[name]
			lease, err := b.Acquire(t.Context(), 0)
			check(t, err)
			if name == "eve" { // it holds on
				defer lease.Release()
				continue
			}
			go func() {
				for !b.Pending(body.Suspend) {
					time.Sleep(time.Second)
				}
				time.Sleep(3 * time.Second)
				lease.Release()
			}()
		}
		if _, err := c.Act(t.Context(), Nirvana, "bob", "why"); err != nil || exists(all["bob"].Dir()) {
			t.Error(err)
		}
		begun := time.Now()
		_, err := c.Act(t.Context(), Nirvana, "eve", "why")
		if took := time.Since(begun); !fault.Is(err, fault.Busy) || !exists(all["eve"].Path(body.InitFile)) || took > 11*time.Second {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// Real processes: detached, and their end is seen.
func TestStartDetached(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Log("no shell to start here")
		return
	}
	_, bob := dead(t)
	check(t, os.MkdirAll(bob.Path(body.LogsDir), 0o755))
	l := launch{args: []string{"/bin/sh", "-c", "echo said; exit 7"}, dir: bob.Dir(), log: bob.Path(cprLog), env: []string{"A=b"}}
	p, err := start(l)
	check(t, err)
	<-p.ended
	if err := p.failed(bob); !strings.HasSuffix(err.Error(), `with status 7: "bob": said`) {
		t.Error(err)
	}
	l.args = []string{"/nosuch"}
	if _, err := start(l); !fault.Is(err, fault.BadInput) {
		t.Error(err)
	}
}

func TestPreflightInOrder(t *testing.T) { // L-47
	_, bob := dead(t)
	names := func(found []string) string { return strings.Join(found, " ") }
	look := func() (checks, levels []string) {
		for _, f := range Preflight(bob, preset.Here()) {
			checks, levels = append(checks, f.Check), append(levels, f.Level)
		}
		return checks, levels
	}
	const order = "authority interpreter config preset context environment stores"
	if checks, levels := look(); names(checks) != order || names(levels) != "ok ok ok ok ok ok ok" {
		t.Errorf("%q, %q", checks, levels)
	}
	check(t, os.WriteFile(bob.Path(body.InitFile), []byte("{"), 0o644))
	if checks, levels := look(); names(checks) != "authority interpreter config" || names(levels) != "ok ok fail" {
		t.Errorf("broken: %q, %q", checks, levels)
	}
	if err := Refused(Preflight(bob, preset.Here())); !fault.Is(err, fault.BadInput) {
		t.Error(err)
	}
	verify := func() (checks, levels []string) {
		for _, f := range Verify(bob, clock, time.Second) {
			checks, levels = append(checks, f.Check), append(levels, f.Level)
		}
		return checks, levels
	}
	if checks, levels := verify(); names(checks) != "state heartbeat config tools" || names(levels) != "fail fail warn warn" {
		t.Errorf("verification: %q, %q", checks, levels)
	}
	check(t, bob.Beat(clock))
	check(t, bob.WriteStatus(body.Status{Runtime: body.Runtime{Process: body.ProcessOf(os.Getpid()), Running: true, State: "idle"}}))
	if _, levels := verify(); runtime.GOOS == "linux" && names(levels) != "ok ok warn warn" {
		t.Errorf("verification: %q", levels)
	}
}
