package control

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/preset"
)

// L-48: a delay is a finite positive JSON number, however large; anything else arms nothing and nobody
// sleeps.
func TestL48DelayOfASleep(t *testing.T) {
	ann := network(t, "ann")["ann"]
	before := tree(t, ann.Network())
	for _, delay := range []string{"0", "-1", "true", `"5"`, "NaN", "Infinity", "-Infinity", "1e400", "[]", "{}", "5 6", "0x5"} {
		_, err := caller(t, ann).Sleep(t.Context(), json.RawMessage(delay), false)
		refused(t, ann.Network(), before, err, fault.BadInput, "delay")
	}
	for delay, deadline := range map[string]string{
		"0.5": "1783343702.584", "90": "1783343792.084", "1e30": "1000000000000000000001783343702.084",
	} {
		out, err := caller(t, ann).Sleep(t.Context(), json.RawMessage(delay), false)
		if err != nil || out.Deadline != deadline || alarmOf(t, ann) != deadline || out.Outcome != "asleep" {
			t.Errorf("%s: %+v, %v", delay, out, err)
		}
		if text, taken, _ := ann.Take(body.Sleep); !taken || text != "ann" {
			t.Errorf("%s: no .sleep", delay)
		}
	}
}

func alarmOf(t *testing.T, b body.Body) string {
	t.Helper()
	data, err := os.ReadFile(b.Path(body.AlarmFile))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

// L-49, L-55: null or nothing is ordinary sleep, which leaves an alarm alone; a later timed sleep replaces
// it.
func TestL49L55OrdinarySleepLeavesTheAlarm(t *testing.T) {
	ann := network(t, "ann")["ann"]
	for _, c := range []struct{ delay, alarm string }{
		{"", ""}, {"null", ""}, {"10", "1783343712.084"}, {"", "1783343712.084"}, {"null", "1783343712.084"}, {"5", "1783343707.084"},
	} {
		if _, err := caller(t, ann).Sleep(t.Context(), json.RawMessage(c.delay), false); err != nil {
			t.Fatal(err)
		}
		if got := alarmOf(t, ann); got != c.alarm || !ann.Pending(body.Sleep) {
			t.Errorf("%q: alarm %q, want %q", c.delay, got, c.alarm)
		}
	}
	// L-50: one, with a deadline in it and nothing else.
	all, err := filepath.Glob(ann.Path(".alarm*"))
	check(t, err)
	if len(all) != 2 || all[1] != ann.Path(".alarm.lock") {
		t.Errorf("%q", all)
	}
}

// Class 7: a sleep over what was not seen is refused, and neither arms nor replaces an alarm.
func TestClass7SleepOverWaitingNotifications(t *testing.T) {
	ann := network(t, "ann")["ann"]
	if _, err := caller(t, ann).Sleep(t.Context(), json.RawMessage("10"), false); err != nil {
		t.Fatal(err)
	}
	_, _, err := ann.Take(body.Sleep)
	check(t, err)
	store := notice.Open(ann)
	_, _, err = store.Publish(t.Context(), notice.Event{Source: "test", Body: "b"}, clock)
	check(t, err)
	for _, delay := range []string{"", "20"} {
		before := tree(t, ann.Network())
		_, err = caller(t, ann).Sleep(t.Context(), json.RawMessage(delay), false)
		refused(t, ann.Network(), before, err, fault.Denied, `notifications are waiting: "system"`)
	}
	if out, err := caller(t, ann).Sleep(t.Context(), json.RawMessage("20"), true); err != nil || out.Deadline != "1783343722.084" {
		t.Errorf("by force: %+v, %v", out, err)
	}
	// Once they were put before the agent they are no reason to stay up.
	all, err := store.Snapshot()
	check(t, err)
	check(t, store.Deliver(t.Context(), all))
	if _, err := caller(t, ann).Sleep(t.Context(), nil, false); err != nil {
		t.Error(err)
	}
}

// L-51: the alarm is there before the agent is told to sleep: when it cannot be set, the old one is as it
// was and
// nobody sleeps.
func TestL51AlarmBeforeSleep(t *testing.T) {
	ann := network(t, "ann")["ann"]
	check(t, os.MkdirAll(ann.Path(body.AlarmFile, "in-the-way"), 0o755))
	if _, err := caller(t, ann).Sleep(t.Context(), json.RawMessage("10"), false); err == nil || ann.Pending(body.Sleep) {
		t.Errorf("armed over a directory: %v; .sleep: %v", err, ann.Pending(body.Sleep))
	}
	check(t, os.RemoveAll(ann.Path(body.AlarmFile)))
	// The other way round: an agent that cannot be told to sleep has its alarm.
	check(t, os.Mkdir(ann.Path(string(body.Sleep)), 0o755))
	if _, err := caller(t, ann).Sleep(t.Context(), json.RawMessage("10"), false); err == nil || alarmOf(t, ann) == "" {
		t.Errorf("%v, alarm %q", err, alarmOf(t, ann))
	}
	log, err := os.ReadFile(ann.Path(body.EventsFile))
	check(t, err)
	if !strings.Contains(string(log), `"type":"self_sleep","address":"ann","agent_name":"ann","ts":1783343702.084000,"alarm_deadline":"1783343712.084"`) {
		t.Errorf("log: %s", log)
	}
}

func TestSleepOfTheDead(t *testing.T) {
	ann := network(t, "ann")["ann"]
	check(t, ann.StopBeat())
	before := tree(t, ann.Network())
	_, err := caller(t, ann).Sleep(t.Context(), json.RawMessage("10"), false)
	refused(t, ann.Network(), before, err, fault.Unreachable, "not running")
}

// L-12 and L-29, L-30 as a refresh has them: nothing is written when it is refused, and a plain one writes
// no init.json.
func TestRefreshOfOneself(t *testing.T) {
	ann := network(t, "ann")["ann"]
	self, err := os.Executable()
	check(t, err)
	before := tree(t, ann.Network())
	_, err = caller(t, ann).Refresh(t.Context(), preset.Request{}, "")
	refused(t, ann.Network(), before, err, fault.BadInput, "no refresh: interpreter: no launch command")
	check(t, Launch{Program: self, Mind: "think"}.Write(ann))
	before = tree(t, ann.Network())
	_, err = caller(t, ann).Refresh(t.Context(), preset.Request{Preset: "p.json", Revert: true}, "")
	refused(t, ann.Network(), before, err, fault.BadInput, "not both")
	init, err := os.ReadFile(ann.Path(body.InitFile))
	check(t, err)
	out, err := caller(t, ann).Refresh(t.Context(), preset.Request{Preset: "  "}, "edited") // L-29: blank is absent
	if err != nil || out.Outcome != "refresh_requested" {
		t.Errorf("%+v, %v", out, err)
	}
	text, taken, err := ann.Take(body.Refresh)
	if by, why := Requested(text); !taken || by != "ann" || why != "edited" || err != nil {
		t.Errorf("%q, %v, %v", text, taken, err)
	}
	if after, err := os.ReadFile(ann.Path(body.InitFile)); err != nil || string(after) != string(init) {
		t.Errorf("init.json: %q, %v", after, err)
	}
	check(t, os.WriteFile(ann.Path(body.InitFile), []byte("{"), 0o644))
	before = tree(t, ann.Network())
	_, err = caller(t, ann).Refresh(t.Context(), preset.Request{}, "")
	refused(t, ann.Network(), before, err, fault.BadInput, "no refresh: config:")
	check(t, ann.Beat(clock.Add(-time.Hour)))
	before = tree(t, ann.Network())
	_, err = caller(t, ann).Refresh(t.Context(), preset.Request{}, "")
	refused(t, ann.Network(), before, err, fault.Unreachable, "not running")
}

// A preset that is gone or broken is no trap: a refresh with another one is the way out, and looks at what comes of that.
func TestARefreshLeavesABrokenPreset(t *testing.T) {
	for what, broken := range map[string]string{"gone": "", "malformed": "{"} {
		for _, q := range []preset.Request{{Preset: "b.json"}, {Revert: true}} {
			ann := network(t, "ann")["ann"]
			self, err := os.Executable()
			check(t, err)
			check(t, Launch{Program: self, Mind: "think"}.Write(ann))
			bodytest.Write(t, ann.Path("b.json"), `{"description":{"summary":"s"},"manifest":{"llm":{"provider":"p","model":"m"},"capabilities":{}}}`)
			if broken != "" {
				bodytest.Write(t, ann.Path("a.json"), broken)
			}
			standard := "a.json"
			if q.Revert {
				standard = "b.json"
			}
			init := `{"manifest":{"preset":{"active":"a.json","default":"%s","allowed":["a.json","b.json"]}},"covenant":"c","pad":""%s}`
			bodytest.Write(t, ann.Path(body.InitFile), fmt.Sprintf(init, standard, `,"venv_path":"nosuch"`))
			before := tree(t, ann.Network())
			_, err = caller(t, ann).Refresh(t.Context(), q, "")
			refused(t, ann.Network(), before, err, fault.BadInput, "no refresh: interpreter: Configured venv_path")
			bodytest.Write(t, ann.Path(body.InitFile), fmt.Sprintf(init, standard, ""))
			// The default stands in for one that is gone, and only then.
			if err := Refused(Preflight(ann, preset.Here())); (err == nil) != (what == "gone" && q.Revert) {
				t.Errorf("%s: a plain one: %v", what, err)
			}
			if _, err := caller(t, ann).Refresh(t.Context(), q, ""); err != nil || !ann.Pending(body.Refresh) {
				t.Errorf("%s, %+v: %v", what, q, err)
			}
			if err := Refused(Preflight(ann, preset.Here())); err != nil {
				t.Errorf("%s: afterwards: %v", what, err)
			}
		}
	}
}
