package runner

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/alarm"
	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/notice"
)

var errTransient = &Failure{Err: errors.New("overloaded"), Transient: true}

// Class 8: the end of a turn is recorded, or the turn is offered again under its own ID, wherever we die.
func TestClass8TurnIsOfferedAgain(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	first := g.turn()
	g.restart() // in the turn
	g.publish("two")
	g.tick(1)
	again := g.turn()
	if again.ID != first.ID || again.Offer != 2 || again.Attempt != 1 || again.Reason != "notification" || channels(again) != "system!" {
		t.Errorf("%+v, before %+v", again.Turn, first.Turn)
	}
	g.end(nil)
	g.tick(3)
	g.none("it has an end, and the second event was in it")
	g.restart() // after its end
	g.tick(3)
	g.none("it has an end")
	if n := len(g.logged("turn_end")); n != 1 {
		t.Errorf("%d ends", n)
	}
}

// Class 7: noted as delivered after it was put before the mind, never before, at each point where we may die.
func TestClass7CommitAfterInjection(t *testing.T) {
	g := newRig(t).start()
	e := g.publish("one")
	// The journal cannot be written: nothing is delivered, and nothing lost.
	check(t, os.WriteFile(g.b.Path(body.HistoryDir), nil, 0o644))
	g.tick(3)
	g.none("no journal")
	if g.r.store.Delivered().Print != "" {
		t.Error("delivered without a turn")
	}
	if said := g.logged("tick_fault"); len(said) != 1 {
		t.Errorf("said %d times", len(said))
	}
	check(t, os.Remove(g.b.Path(body.HistoryDir)))
	// The journal can be written, the note that it is delivered cannot.
	check(t, os.Mkdir(g.b.Path(body.NoticeDir, ".delivered.json"), 0o755))
	g.tick(30)
	g.none("not noted")
	g.restart()
	g.tick(1)
	g.none("not noted")
	check(t, os.Remove(g.b.Path(body.NoticeDir, ".delivered.json")))
	g.tick(1)
	got := g.turn()
	if got.Offer > 2 || channels(got) != "system!" || !strings.Contains(string(got.Channels[0].Data), e.ID) {
		t.Errorf("%+v: %s", got.Turn, channels(got))
	}
	g.end(nil)
	g.tick(3)
	g.none("once")
}

// What the mind has dismissed does not come back in a turn that is offered again.
func TestDismissedInATurnThatIsOfferedAgain(t *testing.T) {
	g := newRig(t).start()
	one, two := g.publish("one"), g.publish("two")
	g.tick(1)
	g.turn()
	_, err := notice.Open(g.b).DismissEvent(t.Context(), one.ID, g.wall)
	check(t, err)
	g.restart()
	g.tick(1)
	data := string(g.turn().Channels[0].Data)
	if strings.Contains(data, one.ID) || !strings.Contains(data, two.ID) {
		t.Errorf("%s", data)
	}
	_, err = notice.Open(g.b).DismissEvent(t.Context(), two.ID, g.wall)
	check(t, err)
	g.end(nil)
	g.tick(3)
	g.none("all is dismissed")
}

// A turn whose end never comes is not offered for ever.
func TestTurnIsAbandoned(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	for n := 1; n <= maxOffers; n++ {
		g.tick(1)
		if got := g.turn(); got.Offer != n {
			t.Fatalf("offer %d, want %d", got.Offer, n)
		}
		g.restart()
	}
	g.tick(3)
	g.none("abandoned")
	if end := g.logged("turn_end"); len(end) != 1 || end[0]["outcome"] != "abandoned" {
		t.Errorf("%v", end)
	}
}

func TestJournalThatCannotBeRead(t *testing.T) {
	for _, text := range []string{`{"turn": {"id"`, `{"turn":{"id":"t","offer":-5,"attempts":-100,"transient":-100}}`} {
		g := newRig(t)
		g.write(journalFile, text)
		g.start()
		g.restart()
		if g.read(journalFile+".malformed") != text || len(g.logged("turn_lost")) != 1 {
			t.Errorf("%s is not kept, or lost more than once", text)
		}
		g.publish("one")
		g.tick(1)
		g.turn()
		g.crash()
	}
}

// Recovery: three retries of a transient failure for free, at 1, 2 and 4 s, then three attempts, then sleep.
func TestClass9RecoveryEnds(t *testing.T) {
	g := newRig(t).start()
	init := g.read(body.InitFile)
	g.publish("one")
	g.tick(1)
	id := g.turn().ID
	for n, pause := range []int{1, 2, 4, 8, 16, 32} {
		g.end(errTransient)
		g.state(Stuck)
		g.tick(pause - 1)
		g.state(Stuck)
		g.tick(1)
		g.state(Active)
		if got := g.turn(); got.ID != id || got.Attempt != n+2 {
			t.Errorf("%+v", got.Turn)
		}
	}
	g.publish("two") // in the last attempt
	g.end(errTransient)
	// Given up, asleep, and awake again only for what was not in it.
	if got := g.lives(); !strings.HasSuffix(got, "active-idle idle-asleep asleep-idle idle-active") {
		t.Errorf("%s", got)
	}
	if got := g.turn(); got.ID == id || channels(got) != "system!" {
		t.Errorf("%+v", got.Turn)
	}
	free := 0
	for _, e := range g.logged("turn_failed") {
		if e["transient"] == true {
			free++
		}
	}
	if n := len(g.logged("turn_failed")); n != 7 || free != 3 || len(g.logged("recovery_spent")) != 1 {
		t.Errorf("%d failures, %d of them free", n, free)
	}
	if g.read(body.InitFile) != init { // L-12
		t.Error("init.json was written")
	}
}

// L-12, class 9: a failure that is not transient has no free retries, and what recovery does is no business
// of init.json's.
func TestL12RecoveryLeavesThePresetAlone(t *testing.T) {
	g := newRig(t)
	g.write("a.json", `{"name":"a","description":{"summary":"s"},"manifest":{"llm":{"provider":"p","model":"a"},"capabilities":{}}}`)
	g.write("b.json", `{"name":"b","description":{"summary":"s"},"manifest":{"llm":{"provider":"p","model":"b"},"capabilities":{}}}`)
	init := `{"manifest": {"llm": {"provider": "p", "model": "m"}, "max_aed_attempts": 2,
		"preset": {"active": "a.json", "default": "b.json", "allowed": ["a.json", "b.json"]}}, "covenant": "c", "pad": ""}`
	g.write(body.InitFile, init)
	stat, err := os.Stat(g.b.Path(body.InitFile))
	check(t, err)
	g.start()
	g.publish("one")
	g.tick(1)
	g.turn()
	for range 2 {
		g.end(errors.New("context overflow"))
		g.state(Stuck)
		g.tick(2)
		g.turn()
	}
	g.end(errors.New("context overflow"))
	g.state(Asleep)
	g.tick(30)
	g.none("given up")
	after, err := os.Stat(g.b.Path(body.InitFile))
	if g.read(body.InitFile) != init || err != nil || !after.ModTime().Equal(stat.ModTime()) {
		t.Error("init.json was written")
	}
}

func TestRecoveryTimesOut(t *testing.T) {
	g := newRig(t)
	g.write(body.InitFile, strings.Replace(initText, `"language"`, `"aed_timeout": 20, "max_aed_attempts": 99, "language"`, 1))
	g.start()
	g.publish("one")
	g.tick(1)
	g.turn()
	g.end(errors.New("bad"))
	g.step(8 * time.Hour) // which is no reason
	g.tick(1)
	g.turn()
	g.end(errors.New("bad"))
	g.pass(17 * time.Second)
	g.state(Stuck)
	g.tick(1)
	g.turn()
	g.end(errors.New("bad"))
	g.tick(1)
	g.state(Asleep)
	if e := g.logged("recovery_spent"); len(e) != 1 || e[0]["why"] != "aed_timeout" {
		t.Errorf("%v", e)
	}
}

// In recovery: news is in the next attempt, an interrupt ends it, a sleep comes after it, a panic of the
// mind is a failure.
func TestWhileStuck(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	g.turn()
	g.end(errors.New("bad"))
	check(t, os.WriteFile(g.b.Path(body.NoticeDir, "btw.json"), []byte(`{"header":"h","data":{}}`), 0o644))
	g.tick(1)
	if got := channels(g.turn()); got != "btw! system!" {
		t.Errorf("%s", got)
	}
	g.end(panicked("oh"))
	g.put(body.Sleep, "")
	g.tick(1)
	g.state(Stuck)
	g.put(body.Interrupt, "")
	g.tick(1)
	g.state(Asleep)
	if end := g.logged("turn_end"); len(end) != 1 || end[0]["outcome"] != "interrupted" {
		t.Errorf("%v", end)
	}
	g.tick(5)
	g.none("interrupted")
}

// A turn that gives no sign of life is logged, once, and left alone.
func TestWatchdog(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	g.turn()
	g.pass(10*time.Minute - 2*time.Second)
	g.mind.sign.Add(1)
	g.tick(1)
	g.pass(10*time.Minute - 2*time.Second)
	g.step(8 * time.Hour)
	g.tick(1)
	if n := len(g.logged("turn_no_progress")); n != 0 {
		t.Errorf("logged %d times too early", n)
	}
	g.tick(5)
	if s, _ := g.b.Status(); s.Runtime.NoProgress < 600 {
		t.Errorf("status %+v", s.Runtime)
	}
	if n := len(g.logged("turn_no_progress")); n != 1 {
		t.Errorf("logged %d times", n)
	}
	g.state(Active)
	look := func(value string) body.Lookup {
		return func(name string) (string, bool) { return value, name == "LINGTAI_ACTIVE_STUCK_THRESHOLD_S" }
	}
	for value, want := range map[string]time.Duration{"": StuckDefault, "60": time.Minute, "5": StuckLeast, "x": StuckDefault} {
		if got := ReadStuck(look(value)); got != want {
			t.Errorf("%q: %v", value, got)
		}
	}
}

func arm(g *rig, delay string) {
	g.Helper()
	d, _, err := alarm.ParseDelay([]byte(delay))
	check(g.T, err)
	_, err = alarm.Arm(g.Context(), g.b, d, g.wall)
	check(g.T, err)
}

// L-52, L-53: due, the alarm becomes one ordinary notification, and that wakes the agent.
func TestL52L53AlarmWakes(t *testing.T) {
	g := newRig(t).start()
	arm(g, "10")
	g.tick(9)
	g.none("not due")
	g.state(Asleep)
	g.tick(1)
	got := g.turn()
	if channels(got) != "system!" || got.Reason != "notification" || strings.Count(string(got.Channels[0].Data), "system.sleep_alarm") != 1 {
		t.Errorf("%+v: %s", got.Turn, channels(got))
	}
	if len(g.logged("sleep_alarm_fired")) != 1 || g.read(body.AlarmFile) != "" {
		t.Error("not fired once")
	}
	if lives := g.lives(); lives != "suspended-asleep asleep-idle idle-active" {
		t.Errorf("%s", lives)
	}
	g.end(nil)
	g.tick(30)
	g.none("once")
}

// L-54: an early wake leaves it armed. L-56: it survives a restart, and one that is overdue fires on the
// first tick, once.
func TestL54L56AlarmStaysArmed(t *testing.T) {
	g := newRig(t).start()
	arm(g, "100")
	g.publish("early")
	g.tick(1)
	g.turn()
	g.end(nil)
	if g.read(body.AlarmFile) == "" {
		t.Error("gone with an early wake")
	}
	g.crash()
	g.pass(time.Hour)
	g.start()
	g.state(Asleep)
	g.r.Tick(t.Context())
	g.turn()
	g.restart() // in the turn that it made
	g.tick(1)
	g.turn()
	g.end(nil)
	g.tick(5)
	g.none("once")
	if n := len(g.logged("sleep_alarm_fired")); n != 1 {
		t.Errorf("fired %d times", n)
	}
}

// L-57: a malformed alarm is left as it is and logged once; the agent goes on.
func TestL57MalformedAlarm(t *testing.T) {
	g := newRig(t).start()
	g.write(body.AlarmFile, "tomorrow")
	g.tick(10)
	if n := len(g.logged("sleep_alarm_malformed")); n != 1 || g.read(body.AlarmFile) != "tomorrow" {
		t.Errorf("logged %d times; it says %q", n, g.read(body.AlarmFile))
	}
	g.publish("one")
	g.tick(1)
	g.turn()
}

// The wall clock is stepped by 8 h, both ways: the heartbeat follows, an alarm that is due by it fires
// once, and nothing
// that is a matter of time passed happens.
func TestClockStepped(t *testing.T) {
	for _, by := range []time.Duration{8 * time.Hour, -8 * time.Hour} {
		g := newRig(t).start()
		g.publish("one")
		g.tick(1)
		g.turn()
		g.end(nil)
		arm(g, "3600")
		for range 3 { // idle for 24 h by the wall clock, and back
			g.step(by)
			g.tick(2)
			check(t, g.b.Beat(g.wall))
			if !g.b.Alive(g.wall, time.Second) {
				t.Errorf("%v: not alive", by)
			}
		}
		if by > 0 {
			g.turn()
			g.end(nil)
		}
		g.none("stepped")
		g.state(Idle)
		g.step(-3 * by)
		g.tick(5)
		g.none("and back")
		g.state(Idle)
		g.pass(time.Hour)
		g.tick(1)
		if by < 0 { // the time has come by now
			g.turn()
			g.end(nil)
		}
		g.tick(5)
		g.none("once")
		if n := len(g.logged("sleep_alarm_fired")); n != 1 {
			t.Errorf("%v: fired %d times", by, n)
		}
		g.publish("two")
		g.tick(1)
		g.turn()
		g.end(errTransient)
		g.step(by)
		g.tick(1)
		g.state(Active) // a second later, whatever the clock says
		g.turn()
	}
}

// A heartbeat that somebody spoilt is written again.
func TestSpoiltHeartbeat(t *testing.T) {
	g := newRig(t).start()
	for _, spoil := range []string{"soon", ""} {
		g.write(body.HeartbeatFile, spoil)
		check(t, g.b.Beat(g.wall))
		if !g.b.Alive(g.wall, time.Second) {
			t.Errorf("%q stays", spoil)
		}
	}
	check(t, os.Remove(g.b.Path(body.HeartbeatFile)))
	check(t, os.Mkdir(g.b.Path(body.HeartbeatFile), 0o755))
	if err := g.b.Beat(g.wall); err == nil {
		t.Log("a directory in its place was replaced")
	}
	g.tick(3) // is no reason to end
	g.state(Asleep)
}

// A broken channel does not keep back the others, and is logged once.
func TestBrokenChannel(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	check(t, os.WriteFile(g.b.Path(body.NoticeDir, "cron.json"), []byte("{"), 0o644))
	g.tick(1)
	if got := channels(g.turn()); got != "system!" {
		t.Errorf("%s", got)
	}
	g.end(nil)
	g.tick(40)
	if n := len(g.logged("notifications_broken")); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

// PID reuse: what a status file says of a process that is gone, or is another one now, does not keep an
// agent from
// starting, and nobody is taken for it.
func TestPIDReuse(t *testing.T) {
	g := newRig(t)
	other := body.ProcessOf(os.Getppid())
	other.Started-- // a process that had this number before
	check(t, g.b.WriteStatus(body.Status{Runtime: body.Runtime{Process: other, Running: true, State: Active}}))
	if other.Is() {
		t.Error("taken for the one that has its number now")
	}
	g.start()
	if s, _ := g.b.Status(); s.Runtime.PID != os.Getpid() {
		t.Errorf("%+v", s.Runtime)
	}
}

// Channels of a turn that are seen already are there, and marked so.
func TestSeenChannelsAreMarked(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	g.turn()
	g.end(nil)
	g.put(body.Prompt, "go on")
	g.tick(1)
	got := g.turn()
	if channels(got) != "system" || got.Notifications != 1 || !slices.Contains(got.Environ, "SUBSTRATE_TURN_ID="+got.ID) {
		t.Errorf("%+v: %s", got.Turn, channels(got))
	}
}
