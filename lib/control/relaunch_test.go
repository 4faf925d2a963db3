package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/preset"
)

// relauncher returns the watcher of bob, who makes way.
func relauncher(t *testing.T) (Relauncher, body.Body, *atomic.Int32) {
	t.Helper()
	c, bob := dead(t)
	ready := &atomic.Int32{}
	return Relauncher{
		Body: bob, Host: c.Host, Say: func(error) {},
		Ready: func() error { ready.Add(1); return nil },
	}, bob, ready
}

// The watcher waits for the lease, then starts the agent once.
func TestRelaunchWaitsForTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, bob, ready := relauncher(t)
		lease, err := bob.Acquire(t.Context(), 0)
		check(t, err)
		begun, starts := time.Now(), 0
		go func() {
			time.Sleep(20 * time.Second)
			lease.Release()
		}()
		r.start = func(l launch) (*process, error) {
			starts++
			if held, err := bob.Held(t.Context()); held || err != nil {
				t.Errorf("started under the lease: %v, %v", held, err)
			}
			return child(l, func(*process) { time.Sleep(25 * time.Second); _ = bob.Beat(time.Now()) })
		}
		if err := r.Run(t.Context()); err != nil || starts != 1 || ready.Load() != 1 || time.Since(begun) < 45*time.Second {
			t.Errorf("%v, %d starts after %v", err, starts, time.Since(begun))
		}
	})
}

// Class 1: one watcher; the second one, and a cpr meanwhile, go away and start nothing.
func TestClass1OneWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, bob, ready := relauncher(t)
		var starts atomic.Int32
		r.start = func(l launch) (*process, error) {
			starts.Add(1)
			return child(l, func(*process) { time.Sleep(5 * time.Second); _ = bob.Beat(time.Now()) })
		}
		ends := make(chan error, 10)
		for range 10 {
			go func() { ends <- r.Run(t.Context()) }()
		}
		time.Sleep(time.Second)
		ann, err := body.Open(bob.Network() + "/ann")
		check(t, err)
		c := caller(t, ann)
		c.Host.Now = time.Now
		if _, err := c.Act(t.Context(), CPR, "bob", ""); !fault.Is(err, fault.Busy) {
			t.Errorf("cpr meanwhile: %v", err)
		}
		well := 0
		for range 10 {
			if err := <-ends; err == nil {
				well++
			} else if !fault.Is(err, fault.Busy) {
				t.Error(err)
			}
		}
		if well != 1 || starts.Load() != 1 || ready.Load() != 1 {
			t.Errorf("%d watchers, %d ready, %d starts", well, ready.Load(), starts.Load())
		}
	})
}

// A dozen attempts, then a file and one notification say that it failed for good.
func TestRelaunchExhausted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, bob, _ := relauncher(t)
		starts := 0
		r.start = func(l launch) (*process, error) {
			starts++
			return child(l, func(p *process) { time.Sleep(time.Second); p.end(100) })
		}
		err := r.Run(t.Context())
		if !fault.Is(err, fault.BadInput) || starts != 12 {
			t.Errorf("%v after %d starts", err, starts)
		}
		data, err := os.ReadFile(bob.Path(permanentFile))
		check(t, err)
		var said struct {
			Attempts int
			Error    string
		}
		if json.Unmarshal(data, &said) != nil || said.Attempts != 12 || !strings.Contains(said.Error, "status 100") {
			t.Errorf("%s", data)
		}
		c, err := notice.Open(bob).Read(notice.System)
		check(t, err)
		if events := notice.Events(c); len(events) != 1 || events[0].Priority != notice.High {
			t.Errorf("%+v", events)
		}
	})
}

// One that cannot be started at first, and one that is silent for a minute, is tried again.
func TestRelaunchTriesAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, bob, _ := relauncher(t)
		starts := 0
		r.start = func(l launch) (*process, error) {
			switch starts++; starts {
			case 1:
				return nil, errors.New("no memory")
			case 2: // no process has this number
				p, err := child(l, func(*process) {})
				p.pid = 1 << 30
				return p, err
			}
			return child(l, func(*process) { _ = bob.Beat(time.Now().Add(time.Second)) })
		}
		if err := r.Run(t.Context()); err != nil || starts != 3 || exists(bob.Path(permanentFile)) {
			t.Errorf("%v after %d starts", err, starts)
		}
	})
}

// Somebody else has started the agent meanwhile: that is as good.
func TestRelaunchFindsItAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, bob, _ := relauncher(t)
		starts := 0
		r.start = func(l launch) (*process, error) {
			starts++
			return child(l, func(p *process) {
				lease, err := bob.Acquire(t.Context(), 0)
				if err != nil {
					t.Error(err)
				}
				_ = bob.Beat(time.Now())
				p.end(111) // the lease was not for this one
				time.Sleep(20 * time.Second)
				lease.Release()
			})
		}
		if err := r.Run(t.Context()); err != nil || starts != 1 {
			t.Errorf("%v after %d starts", err, starts)
		}
		time.Sleep(time.Minute) // for that one to end
	})
}

// Class 2: only a run whose heartbeat is a minute old, or missing, is ended; one that cannot be read shows
// nothing, and
// we and our parent are never among them.
func TestClass2WhoIsEvicted(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("no process table to look into here")
		return
	}
	r, bob, _ := relauncher(t)
	run := exec.Command("/bin/sh")
	run.Args = []string{"substrate-agent", "-c", "trap 'echo; exit' TERM; echo; while :; do sleep 0.01; done", bob.Dir()}
	out, err := run.StdoutPipe()
	check(t, err)
	check(t, run.Start())
	byte1 := make([]byte, 1)
	_, err = out.Read(byte1) // its trap is set
	check(t, err)
	for name, spoil := range map[string]func() error{
		"text":      func() error { return os.WriteFile(bob.Path(body.HeartbeatFile), []byte("soon"), 0o644) },
		"empty":     func() error { return os.WriteFile(bob.Path(body.HeartbeatFile), nil, 0o644) },
		"directory": func() error { return os.Mkdir(bob.Path(body.HeartbeatFile), 0o755) },
		"59 s old":  func() error { return bob.Beat(time.Now().Add(-59 * time.Second)) },
		"ahead":     func() error { return bob.Beat(time.Now().Add(8 * time.Hour)) },
	} {
		check(t, os.RemoveAll(bob.Path(body.HeartbeatFile)))
		check(t, spoil())
		if r.evict(t.Context()) {
			t.Errorf("a heartbeat that is %s: ended", name)
		}
	}
	if p := body.ProcessOf(run.Process.Pid); !p.Is() {
		t.Fatal("the run has ended")
	}
	check(t, os.RemoveAll(bob.Path(body.HeartbeatFile)))
	check(t, bob.Beat(time.Now().Add(-time.Minute)))
	done := make(chan error, 1)
	go func() { done <- run.Wait() }()
	if !r.evict(t.Context()) {
		t.Error("not ended")
	}
	select {
	case err := <-done:
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled() {
			t.Errorf("killed, not asked: %v", err)
		}
	case <-time.After(time.Minute):
		_ = run.Process.Kill()
		t.Error("it runs on")
	}
	if r.evict(t.Context()) {
		t.Error("nobody is left, but somebody was ended: the watcher, or its parent")
	}
}

// The watcher that cannot begin is no watcher: the agent hears so and stays.
func TestWatcherThatDoesNotBegin(t *testing.T) {
	_, bob, _ := relauncher(t)
	for _, program := range []string{"substrate-agent", "/nosuch/substrate-agent", "/"} {
		if _, err := NewWatcher(bob, program); !fault.Is(err, fault.BadInput) {
			t.Errorf("%q: %v", program, err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	script := bob.Path("substrate-agent")
	for text, well := range map[string]bool{"exit 0": false, "exit 1": false, `[ "$*" = --relaunch ] && [ "$PWD" = ` + bob.Dir() + ` ] && echo ready`: true} {
		check(t, os.WriteFile(script, []byte("#!/bin/sh\n"+text+"\n"), 0o755))
		w, err := NewWatcher(bob, script)
		check(t, err)
		if err := w.Start(); (err == nil) != well {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestMain is also the watcher of TestClass3WatcherSparesItsOwn.
func TestMain(m *testing.M) {
	dir := os.Getenv("EVICT_IN")
	if dir == "" {
		os.Exit(m.Run())
	}
	b, err := body.Open(dir)
	h := preset.Here()
	fmt.Println("evicts:", Relauncher{Body: b, Host: h}.evict(context.Background()), err)
}

// Class 3: a watcher whose own command line, and whose parent's, are those of runs on the directory ends
// neither.
func TestClass3WatcherSparesItsOwn(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Log("no process table to look into here")
		return
	}
	_, bob, _ := relauncher(t)
	self, err := os.Executable()
	check(t, err)
	program := bob.Network() + "/substrate-agent"
	check(t, os.Symlink(self, program))
	parent := exec.Command("/bin/sh")
	parent.Args = []string{"substrate-agent", "-c", program + ` "$0"; echo "parent lives"`, bob.Dir()}
	parent.Env = append(os.Environ(), "EVICT_IN="+bob.Dir())
	out, err := parent.CombinedOutput()
	if err != nil || string(out) != "evicts: false <nil>\nparent lives\n" {
		t.Errorf("%v: %s", err, out)
	}
}
