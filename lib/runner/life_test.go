package runner

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/mail"
	"github.com/substrate-tools/substrate/lib/notice"
)

func TestStartsAsleepWithAHeartbeat(t *testing.T) { // L-01: the heartbeat is what says that it is ready
	g := newRig(t)
	g.start()
	g.state(Asleep)
	if h := g.b.Heartbeat(); !h.Alive(g.wall, time.Second) {
		t.Errorf("heartbeat %+v", h)
	}
	if s, kind := g.b.Status(); kind != body.Present || s.Runtime.State != Asleep || !s.Runtime.Running || s.Runtime.PID != os.Getpid() {
		t.Errorf("status %+v, %s", s, kind)
	}
	if got := g.lives(); got != "suspended-asleep" {
		t.Errorf("%s", got)
	}
	g.tick(3)
	g.none("nothing to say")
}

func TestL02SecondAgentByAnotherSpelling(t *testing.T) {
	g := newRig(t).start()
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink(g.b.Dir(), link))
	before := g.log()
	for _, spelling := range []string{g.b.Dir(), link, g.b.Dir() + "/../ann"} {
		b, err := body.Open(spelling)
		check(t, err)
		if _, err := Start(t.Context(), b, g.options()); !fault.Is(err, fault.Busy) || !strings.Contains(err.Error(), g.b.Dir()) {
			t.Errorf("%s: %v", spelling, err)
		}
	}
	if g.log() != before || !g.b.Heartbeat().Alive(g.wall, time.Second) {
		t.Error("the refused start has left something behind")
	}
}

func TestFailedStartFreesTheLease(t *testing.T) {
	g := newRig(t)
	g.write(body.InitFile, "{")
	if _, err := Start(t.Context(), g.b, g.options()); !fault.Is(err, fault.Corrupt) {
		t.Error(err)
	}
	held, err := g.b.Held(t.Context())
	if held || err != nil || g.b.Heartbeat().Kind != body.Absent || g.b.Manifest().IsAgent() {
		t.Errorf("held %v, %v; heartbeat %s; .agent.json %v", held, err, g.b.Heartbeat().Kind, g.b.Manifest().IsAgent())
	}
	g.write(body.InitFile, initText)
	g.start()
}

func TestHumanIsNoAgent(t *testing.T) {
	g := newRig(t)
	g.write(body.ManifestFile, `{"agent_name": "dan", "admin": null}`)
	if _, err := Start(t.Context(), g.b, g.options()); !fault.Is(err, fault.Denied) {
		t.Error(err)
	}
	if g.b.Manifest().IsHuman() != true {
		t.Error("made an agent of a human")
	}
}

// L-36: five states, and one that is asleep wakes on a notification, on mail and on an event in the inbox
// of files.
func TestL36WakesOnListeners(t *testing.T) {
	for what, cause := range map[string]func(g *rig){
		"notification": func(g *rig) { g.publish("hello") },
		"prompt":       func(g *rig) { g.put(body.Prompt, "begin") },
		"mcp event": func(g *rig) {
			_, err := notice.Drop(g.b, "substrate", notice.Dropped{From: "room", Subject: "your turn", Body: "b"}, g.wall)
			check(g.T, err)
		},
		"mail": func(g *rig) {
			human := filepath.Join(g.b.Network(), "human")
			check(g.T, os.MkdirAll(human, 0o755))
			check(g.T, os.WriteFile(filepath.Join(human, body.ManifestFile), []byte(`{"admin": null}`), 0o644))
			h, err := body.Open(human)
			check(g.T, err)
			_, _, err = mail.Open(h, body.Env{Threshold: time.Minute}).Send(g.Context(), mail.Draft{To: []string{"ann"}, Message: "m"}, g.wall)
			check(g.T, err)
		},
	} {
		t.Run(what, func(t *testing.T) {
			g := newRig(t).start()
			cause(g)
			g.tick(1)
			got := g.turn()
			g.state(Active)
			if got.State != Active || got.Offer != 1 || got.Attempt != 1 || got.NewConversation || got.Dir != g.b.Dir() {
				t.Errorf("%+v", got.Turn)
			}
			g.end(nil)
			g.state(Idle)
			if lives := g.lives(); lives != "suspended-asleep asleep-idle idle-active active-idle" {
				t.Errorf("%s", lives)
			}
			g.tick(20)
			g.none("it was said once")
		})
	}
}

// A quiet event does not wake one that sleeps, and is there when it is awake.
func TestQuietEvent(t *testing.T) {
	g := newRig(t).start()
	_, err := notice.Drop(g.b, "s", notice.Dropped{From: "f", Subject: "s", Body: "b", Quiet: true}, g.wall)
	check(t, err)
	g.tick(3)
	g.none("quiet")
	g.state(Asleep)
	g.put(body.Prompt, "wake up")
	g.tick(1)
	if got := channels(g.turn()); got != "mcp.s!" {
		t.Errorf("%s", got)
	}
	g.end(nil)
	g.tick(3)
	g.none("it came with the prompt")
}

// L-85, its half without soul: an idle agent listens and takes no turns; after a day it sleeps.
func TestL85IdleTakesNoTurns(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	g.turn()
	g.end(nil)
	g.state(Idle)
	for range 23 {
		g.pass(time.Hour)
		g.tick(5)
		g.none("idle")
	}
	g.state(Idle)
	g.publish("two")
	g.tick(1)
	g.turn()
	g.end(nil)
	g.pass(24*time.Hour - 2*time.Second)
	g.tick(1)
	g.state(Idle)
	g.tick(1)
	g.state(Asleep)
	g.none("asleep")
}

// Class 7: mail that comes as the agent dozes off wakes it, once.
func TestClass7SleepAndWake(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	g.turn()
	g.put(body.Sleep, "ann") // by its own mind, in its turn
	g.tick(1)
	g.state(Active)
	if g.b.Pending(body.Sleep) {
		t.Error(".sleep is not taken")
	}
	g.publish("two") // while it is still in the turn
	g.tick(1)
	g.end(nil)
	// It slept, and woke for what it had not seen.
	if got := channels(g.turn()); got != "system!" {
		t.Errorf("%s", got)
	}
	if got := g.lives(); !strings.HasSuffix(got, "active-idle idle-asleep asleep-idle idle-active") {
		t.Errorf("%s", got)
	}
	g.end(nil)
	g.state(Idle)
	g.put(body.Sleep, "")
	g.tick(1)
	g.state(Asleep)
	g.tick(30) // no loop of waking
	g.none("asleep")
	g.put(body.Sleep, "") // again, which changes nothing
	g.tick(1)
	if n := len(g.logged("sleep_received")); n != 3 {
		t.Errorf("%d sleeps taken", n)
	}
	g.state(Asleep)
}

// L-62: what comes in a turn is deferred to its end, is not noted as delivered before, and is logged once.
func TestL62DeferredWhileActive(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	g.turn()
	delivered := g.r.store.Delivered().Print
	g.publish("two")
	g.tick(5)
	check(t, os.WriteFile(g.b.Path(body.NoticeDir, "btw.json"), []byte(`{"header":"h","data":{}}`), 0o644))
	g.tick(5)
	if now := g.r.store.Delivered().Print; now != delivered {
		t.Error("noted as delivered before it was")
	}
	if n := len(g.logged("notifications_deferred")); n != 2 {
		t.Errorf("logged %d times, for two states", n)
	}
	if s, _ := g.b.Status(); !slices.Equal(s.Deferred, []string{"btw", "system"}) || s.ActiveTurn == nil || s.ActiveTurn.Cause != "notification" {
		t.Errorf("status %+v", s)
	}
	g.end(nil)
	got := g.turn()
	if channels(got) != "btw! system!" {
		t.Errorf("%s", channels(got))
	}
	if s, _ := g.b.Status(); len(s.Deferred) > 0 {
		t.Errorf("status %+v", s)
	}
	g.end(nil)
	g.none("nothing new")
}

// L-39: interrupt cancels the turn and leaves the process alive; the turn does not come back.
func TestL39Interrupt(t *testing.T) {
	g := newRig(t).start()
	g.put(body.Interrupt, "") // nothing to interrupt: it is taken all the same
	g.tick(1)
	if g.b.Pending(body.Interrupt) || len(g.logged("interrupt_received")) != 1 {
		t.Error("not taken")
	}
	g.publish("one")
	g.tick(1)
	id := g.turn().ID
	g.put(body.Interrupt, "")
	g.tick(1)
	g.settle()
	g.state(Idle)
	if end := g.logged("turn_end"); len(end) != 1 || end[0]["outcome"] != "interrupted" || end[0]["id"] != id {
		t.Errorf("%v", end)
	}
	g.tick(3)
	g.none("interrupted")
	g.restart()
	g.tick(3)
	g.none("nor after a start")
	if n := len(g.logged("interrupt_received")); n != 2 {
		t.Errorf("taken %d times", n)
	}
}

// An interrupt whose turn was marked as over when we died, and the signal still there.
func TestInterruptAndCrash(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	g.turn()
	check(t, g.r.over(interrupted)) // its effect, and no more
	g.put(body.Interrupt, "")
	g.restart()
	g.tick(2)
	g.none("it was interrupted")
	if g.b.Pending(body.Interrupt) || len(g.logged("interrupt_received")) != 1 || len(g.logged("turn_end")) != 1 {
		t.Errorf("%s", g.log())
	}
}

// L-40: suspend ends the process; the turn it cut off is offered again by the next.
func TestL40Suspend(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	first := g.turn()
	g.put(body.Suspend, "")
	g.tick(1)
	if g.r.ending != "suspend" {
		t.Fatal("does not end")
	}
	check(t, g.r.stop())
	g.r = nil
	if g.b.Manifest().State() != Suspended || g.b.Heartbeat().Kind != body.Absent || g.b.Pending(body.Suspend) {
		t.Errorf("state %s, heartbeat %s", g.b.Manifest().State(), g.b.Heartbeat().Kind)
	}
	if s, _ := g.b.Status(); s.Runtime.Running || s.Runtime.State != Suspended {
		t.Errorf("%+v", s)
	}
	if held, err := g.b.Held(t.Context()); held || err != nil {
		t.Errorf("the lease is held: %v", err)
	}
	g.start()
	g.tick(1)
	again := g.turn()
	if again.ID != first.ID || again.Offer != 2 || channels(again) != "system!" || again.StartedAt != first.StartedAt {
		t.Errorf("%+v, before %+v", again.Turn, first.Turn)
	}
}

func TestStaleSignalsAreRemovedAtBoot(t *testing.T) {
	g := newRig(t)
	for _, s := range []body.Signal{body.Suspend, body.Sleep, body.Refresh, body.Interrupt, body.Prompt} {
		g.put(s, "")
	}
	g.start()
	for s, want := range map[body.Signal]bool{
		body.Suspend: false, body.Sleep: false, body.Refresh: false, body.Interrupt: true, body.Prompt: true,
	} {
		if got := g.b.Pending(s); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

// What writers that died have left is removed once it is old.
func TestTemporariesAreSwept(t *testing.T) {
	g := newRig(t)
	old, fresh := ".tmp-0123456789abcdef", ".tmp-fedcba9876543210"
	for _, dir := range []string{".", "history", "system", "logs", ".notification"} {
		for name, at := range map[string]time.Time{old: g.wall.Add(-2 * time.Hour), fresh: g.wall.Add(-time.Minute), "other": g.wall.Add(-2 * time.Hour)} {
			g.write(dir+"/"+name, "x")
			check(t, os.Chtimes(g.b.Path(dir, name), at, at))
		}
	}
	g.start()
	for _, dir := range []string{".", "history", "system", "logs", ".notification"} {
		if g.read(dir+"/"+old) != "" || g.read(dir+"/"+fresh) != "x" || g.read(dir+"/other") != "x" {
			t.Errorf("%s: old %q, fresh %q, other %q", dir, g.read(dir+"/"+old), g.read(dir+"/"+fresh), g.read(dir+"/other"))
		}
	}
}

// What is under the name of a signal and is no file is none.
func TestSignalThatIsADirectory(t *testing.T) {
	g := newRig(t)
	for _, s := range body.Signals {
		check(t, os.Mkdir(g.b.Path(string(s)), 0o755))
	}
	g.start()
	g.tick(5)
	g.state(Asleep)
	if len(g.said) > 0 || g.r.ending != "" {
		t.Errorf("said %q, ending %q", g.said, g.r.ending)
	}
}

// A prompt is a turn of its own, once, whenever we die, and waits for the turn before it.
func TestPromptOnce(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	g.turn()
	g.put(body.Prompt, "first")
	g.tick(3)
	if !g.b.Pending(body.Prompt) {
		t.Error("taken while there is a turn")
	}
	g.end(nil)
	first := g.turn()
	if first.Reason != "prompt" || first.Prompt != "first" {
		t.Errorf("%+v", first.Turn)
	}
	g.put(body.Prompt, "second")
	g.restart()
	g.tick(1)
	if again := g.turn(); again.ID != first.ID || again.Prompt != "first" {
		t.Errorf("%+v", again.Turn)
	}
	g.end(nil)
	second := g.turn()
	if second.Prompt != "second" || second.ID == first.ID {
		t.Errorf("%+v", second.Turn)
	}
	g.end(nil)
	g.tick(3)
	g.none("no prompt")
	// Died after it was moved, before the journal had it.
	g.write(promptTaken, "third")
	g.restart()
	g.tick(1)
	if got := g.turn(); got.Prompt != "third" {
		t.Errorf("%+v", got.Turn)
	}
	// Died after the journal had it, before it was removed.
	id := g.r.journal.Turn.PromptID
	g.crash()
	check(t, os.WriteFile(g.b.Path(promptTaken), []byte("third"), 0o644))
	g.start()
	g.r.journal.Turn.PromptID = taken(g.b, promptTaken)
	if g.r.journal.Turn.PromptID == id {
		t.Error("another file has the same name")
	}
	g.tick(1)
	if got := g.turn(); got.Prompt != "third" {
		t.Errorf("%+v", got.Turn)
	}
	g.end(nil)
	g.tick(3)
	g.none("it was taken")
}

// A prompt that cannot be read stands in no other's way, and is kept.
func TestPromptTooLong(t *testing.T) {
	g := newRig(t).start()
	long := strings.Repeat("x", maxText+1)
	g.write(string(body.Prompt), long)
	g.tick(2)
	g.none("it is too long")
	aside, _ := filepath.Glob(g.b.Path(".prompt.refused-*"))
	if len(aside) != 1 || disk.Exists(g.b.Path(promptTaken)) || len(g.logged("signal_refused")) != 1 || len(g.said) != 1 {
		t.Fatalf("aside %q, said %q", aside, g.said)
	}
	if data, err := os.ReadFile(aside[0]); err != nil || string(data) != long {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	g.put(body.Prompt, "next")
	g.tick(1)
	if got := g.turn(); got.Prompt != "next" {
		t.Errorf("%+v", got.Turn)
	}
	g.end(nil)
	// A clear is one without its reason.
	g.write(string(body.Clear), long)
	g.tick(2)
	if e := g.logged("conversation_cleared"); len(e) != 1 || e[0]["reason"] != "" {
		t.Errorf("%v", e)
	}
}

// A clear that cannot be done ends the turn that it was meant for and no other, and is done when it can be.
func TestClearThatCannotBeDone(t *testing.T) {
	for what, spoil := range map[string]func(path string) error{
		"a directory": func(path string) error { return os.MkdirAll(path, 0o755) },
		"a FIFO": func(path string) error {
			return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), syscall.Mkfifo(path, 0o600))
		},
	} {
		g := newRig(t).start()
		check(t, spoil(g.b.Path(historyFile)))
		g.publish("one")
		g.tick(1)
		g.turn()
		g.put(body.Clear, "why")
		g.tick(1)
		g.settle()
		g.publish("two")
		g.tick(1)
		second := g.turn()
		g.tick(5)
		g.restart()
		g.tick(3)
		if again := g.turn(); again.ID != second.ID {
			t.Errorf("%s: another turn after the restart: %+v", what, again.Turn)
		}
		g.end(nil)
		if ends := g.logged("turn_end"); len(ends) != 2 || ends[0]["outcome"] != cleared || ends[1]["outcome"] != done {
			t.Errorf("%s: %v", what, ends)
		}
		g.put(body.Prompt, "x")
		g.tick(1)
		if got := g.turn(); got.Prompt != "x" {
			t.Errorf("%s: the prompt waits", what)
		}
		check(t, os.Remove(g.b.Path(historyFile)))
		g.tick(1)
		if n := len(g.logged("conversation_cleared")); n != 0 {
			t.Errorf("%s: cleared in a turn", what)
		}
		g.end(nil)
		g.tick(1)
		if n := len(g.logged("conversation_cleared")); n != 1 || disk.Exists(g.b.Path(clearTaken)) {
			t.Errorf("%s: cleared %d times", what, n)
		}
		g.crash()
	}
}

// One file under the same name again is another signal: cron may keep one and link it.
func TestClearByALinkThatStays(t *testing.T) {
	g := newRig(t).start()
	g.write("kept", "why")
	for i := range 3 {
		check(t, os.Link(g.b.Path("kept"), g.b.Path(string(body.Clear))))
		g.tick(1)
		if n := len(g.logged("conversation_cleared")); n != i+1 {
			t.Errorf("cleared %d times, told %d times", n, i+1)
		}
	}
}

func TestRules(t *testing.T) {
	g := newRig(t).start()
	g.put(body.Rules, "never lie")
	g.tick(1)
	if g.b.Pending(body.Rules) || g.read("system/rules.md") != "never lie" || !strings.Contains(g.read("system/system.md"), "never lie") {
		t.Errorf("rules %q, prompt %q", g.read("system/rules.md"), g.read("system/system.md"))
	}
}

// Each step is guarded: what goes wrong in one, a panic too, does not keep the others from their work, is
// said once,
// and ends when it ends.
func TestGuardedSteps(t *testing.T) {
	was := steps
	defer func() { steps = was }()
	for i := range was {
		steps = slices.Clone(was)
		broken := true
		steps[i].do = func(r *Runner, ctx context.Context) error {
			if !broken {
				return was[i].do(r, ctx)
			}
			if i%2 == 0 {
				panic("out of order")
			}
			return errors.New("out of order")
		}
		g := newRig(t).start()
		name := was[i].name
		g.tick(4)
		g.publish("one")
		g.tick(1)
		if name != "notifications" {
			g.turn()
			if name != "sleep" {
				g.put(body.Sleep, "")
				g.tick(1)
				if !g.r.dozing {
					t.Errorf("%s: no sleep", name)
				}
			}
		}
		if said := g.logged("tick_fault"); len(said) != 1 || said[0]["step"] != name || len(g.said) != 1 {
			t.Errorf("%s: logged %v, said %q", name, said, g.said)
		}
		broken = false
		g.tick(1)
		broken = true
		g.tick(1)
		if said := g.logged("tick_fault"); len(said) != 2 {
			t.Errorf("%s: a new fault is not new", name)
		}
	}
}

// The teardown keeps its order and goes on whatever happens in a step.
func TestTeardownOrder(t *testing.T) {
	was := teardown
	defer func() { teardown = was }()
	const order = "journal suspend manifest status heartbeat lease"
	for i := range was {
		g := newRig(t).start()
		var done []string
		teardown = slices.Clone(was)
		for j := range teardown {
			teardown[j].do = func(r *Runner, ctx context.Context) error {
				done = append(done, was[j].name)
				beats := r.body.Heartbeat().Kind == body.Present
				if held, _ := r.body.Held(ctx); !held || beats != (j <= 4) && i != 4 {
					t.Errorf("before %s: held %v, heartbeat %v", was[j].name, held, beats)
				}
				if i == j {
					panic("out of order")
				}
				return was[j].do(r, ctx)
			}
		}
		g.r.ending = "suspend"
		err := g.r.stop()
		if got := strings.Join(done, " "); got != order || err == nil || !strings.Contains(err.Error(), "out of order") {
			t.Errorf("%s, %v", got, err)
		}
		if held, _ := g.b.Held(t.Context()); held != (was[i].name == "lease") {
			t.Errorf("a panic in %s: the lease is held: %v", was[i].name, held)
		}
		g.r.lease.Release()
		g.r = nil
	}
}

// A .suspend that waits is taken in the teardown, once; other signals are left.
func TestTeardownTakesNoSignals(t *testing.T) {
	g := newRig(t).start()
	g.r.ending = "signal"
	for _, s := range []body.Signal{body.Suspend, body.Interrupt, body.Clear} {
		g.put(s, "")
	}
	g.tick(3)
	check(t, g.r.stop())
	g.r = nil
	if g.b.Pending(body.Suspend) || !g.b.Pending(body.Interrupt) || !g.b.Pending(body.Clear) {
		t.Error("signals were taken, or .suspend was not")
	}
}

// A mind that does not end: nothing is released, and the answer says so.
func TestTeardownTimesOut(t *testing.T) {
	g := newRig(t)
	g.mind.deaf = true
	g.start()
	g.publish("one")
	g.tick(1)
	g.turn()
	g.r.ending = "suspend"
	if err := g.r.stop(); !fault.Is(err, fault.Timeout) {
		t.Errorf("%v", err)
	}
	if held, _ := g.b.Held(t.Context()); !held || g.b.Heartbeat().Kind != body.Present || g.b.Manifest().State() != Active {
		t.Error("something was released")
	}
	g.mind.ends <- nil
	<-g.r.results
	g.r.turn = nil
}

// The heartbeat is a thread of its own: a step that hangs does not stop it.
func TestClass2HeartbeatOutlivesASlowStep(t *testing.T) {
	was := steps
	defer func() { steps = was }()
	steps = slices.Clone(was)
	hang := make(chan struct{})
	steps[len(steps)-1].do = func(*Runner, context.Context) error { <-hang; return nil }
	g := newRig(t)
	o := g.options()
	o.Period = time.Millisecond
	var err error
	r, err := Start(t.Context(), g.b, o)
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.Run(ctx) }()
	for range 3 {
		g.pass(time.Hour)
		for deadline := time.Now().Add(time.Minute); !g.b.Heartbeat().Alive(g.wall, time.Second); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("no heartbeat")
			}
		}
	}
	close(hang)
	cancel()
	if err := <-done; err != nil || g.b.Heartbeat().Kind != body.Absent || g.b.Pending(body.Suspend) {
		t.Errorf("%v, heartbeat %s", err, g.b.Heartbeat().Kind)
	}
	if held, _ := g.b.Held(t.Context()); held {
		t.Error("the lease is held")
	}
}

// An agent whose lease's file, or whose whole directory, is taken away or is another's now, ends, its mind
// too, and leaves
// what is there alone.
func TestOusted(t *testing.T) {
	for what, oust := range map[string]func(g *rig){
		"lease removed": func(g *rig) { check(t, os.Remove(g.b.Path(body.LeaseFile))) },
		"directory removed": func(g *rig) {
			for os.RemoveAll(g.b.Dir()) != nil { // it is writing there
			}
		},
		"directory replaced": func(g *rig) {
			check(t, os.Rename(g.b.Dir(), g.b.Dir()+".old"))
			check(t, os.Mkdir(g.b.Dir(), 0o755))
			g.write(body.LeaseFile, "")
			g.write(body.ManifestFile, "another's")
		},
	} {
		g := newRig(t)
		o := g.options()
		o.Period = time.Millisecond
		g.publish("one")
		r, err := Start(t.Context(), g.b, o)
		check(t, err)
		done := make(chan error)
		go func() { done <- r.Run(t.Context()) }()
		<-g.mind.turns
		oust(g)
		if err := <-done; !fault.Is(err, fault.Stale) {
			t.Errorf("%s: %v", what, err)
		}
		if what == "directory replaced" {
			if g.read(body.ManifestFile) != "another's" {
				t.Errorf("%s: %q", what, g.read(body.ManifestFile))
			}
		}
	}
}
