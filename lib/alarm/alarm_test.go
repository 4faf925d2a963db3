package alarm_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/alarm"
	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
)

// noon is when most tests take place: 1796040000 s.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

func TestMain(m *testing.M) {
	if dir := os.Getenv("ALARM_DIR"); dir != "" {
		tick(dir)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// tick is what this test program does when it is started as a child: an agent's ticks
// an hour after noon, until its alarm is gone.
func tick(dir string) {
	b, err := body.Open(dir)
	for w := alarm.NewWatch(b); err == nil && disk.Exists(b.Path(body.AlarmFile)); {
		_, err = w.Tick(context.Background(), noon.Add(time.Hour))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

var do = bodytest.Do

func arm(t *testing.T, b body.Body, delay string) string {
	t.Helper()
	d, set, err := alarm.ParseDelay(json.RawMessage(delay))
	if err != nil || !set {
		t.Fatalf("%s: got %v, %v", delay, set, err)
	}
	deadline, err := alarm.Arm(t.Context(), b, d, noon)
	do(t, err)
	return deadline
}

func content(b body.Body) string {
	text, err := os.ReadFile(b.Path(body.AlarmFile))
	if err != nil {
		return "none"
	}
	return string(text)
}

func put(t testing.TB, b body.Body, text string) {
	t.Helper()
	bodytest.Write(t, b.Path(body.AlarmFile), text)
}

func events(t *testing.T, b body.Body) []notice.Event {
	t.Helper()
	c, err := notice.Open(b).Read(notice.System)
	do(t, err)
	return notice.Events(c)
}

func TestL48DelayIsAFinitePositiveNumber(t *testing.T) {
	for _, bad := range []string{
		"0", "-1", "-0", "0.0", "0e5", "-1e400", "1e400", "1e309", "1e-400", "true", "false", `"5"`, `""`, "[]", "[5]", "{}",
		"NaN", "Infinity", "-Infinity", "inf", "5s", "5 6", "05", "+5", ".5", "5.", "0x5", "1_0", "1e", strings.Repeat("9", 2000),
	} {
		d, set, err := alarm.ParseDelay(json.RawMessage(bad))
		if set || !fault.Is(err, fault.BadInput) {
			t.Errorf("%.40s: got %v, %v", bad, set, err)
		}
		if _, err := alarm.Arm(t.Context(), bodytest.New(t, nil), d, noon); !fault.Is(err, fault.BadInput) {
			t.Errorf("%.40s: armed, %v", bad, err)
		}
	}
	for delay, want := range map[string]string{
		"5": "1796040005", "0.5": "1796040000.5", " 1e3\n": "1796041000", "1E+3": "1796041000", "0.10": "1796040000.1",
		"1e-12": "1796040000.000000000001", "31556952000": "33352992000",
		"1e22":                "10000000000001796040000", // a float would lose the clock
		"9007199254740993.25": "9007201050780993.25",
		"1e300":               "1" + strings.Repeat("0", 290) + "1796040000",
	} {
		if got := arm(t, bodytest.New(t, nil), delay); got != want {
			t.Errorf("%s: got %s, want %s", delay, got, want)
		}
	}
}

func TestTheClockCountsToTheNanosecond(t *testing.T) {
	b := bodytest.New(t, nil)
	d, _, err := alarm.ParseDelay(json.RawMessage("0.000000001"))
	do(t, err)
	now := noon.Add(999_999_999)
	if got, err := alarm.Arm(t.Context(), b, d, now); err != nil || got != "1796040001" {
		t.Errorf("got %s, %v", got, err)
	}
	if alarm.Read(b).Due(now) || !alarm.Read(b).Due(now.Add(1)) {
		t.Error("not due at its very time")
	}
}

func TestL49NoDelayLeavesTheAlarmAlone(t *testing.T) {
	for _, none := range []json.RawMessage{nil, json.RawMessage(""), json.RawMessage("null"), json.RawMessage(" null ")} {
		if _, set, err := alarm.ParseDelay(none); set || err != nil {
			t.Errorf("%q: got %v, %v", none, set, err)
		}
	}
}

func TestL50ThereIsOneAlarmAndOneDeadlineInIt(t *testing.T) {
	b := bodytest.New(t, nil)
	for _, delay := range []string{"5", "7"} {
		if got := arm(t, b, delay); content(b) != got {
			t.Errorf("got %q, want %q", content(b), got)
		}
	}
	files, err := filepath.Glob(b.Path(".alarm*"))
	if err != nil || len(files) != 2 { // and its lock
		t.Errorf("got %v, %v", files, err)
	}
}

func TestL51ArmingReplacesAtomically(t *testing.T) {
	b := bodytest.New(t, nil)
	arm(t, b, "5")
	first, err := os.Stat(b.Path(body.AlarmFile))
	do(t, err)
	arm(t, b, "6")
	if second, _ := os.Stat(b.Path(body.AlarmFile)); os.SameFile(first, second) {
		t.Error("written in place")
	}
	// While somebody holds the lock, nothing changes.
	before := content(b)
	unlock, err := disk.Lock(t.Context(), b.Path(".alarm.lock"), 0)
	do(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d, _, _ := alarm.ParseDelay(json.RawMessage("9"))
	if _, err := alarm.Arm(ctx, b, d, noon); err == nil || content(b) != before {
		t.Errorf("got %v, %s", err, content(b))
	}
	unlock()
	// And when it cannot be replaced, it is as it was.
	do(t, os.Remove(b.Path(body.AlarmFile)))
	do(t, os.Mkdir(b.Path(body.AlarmFile), 0o700))
	if _, err := alarm.Arm(t.Context(), b, d, noon); err == nil {
		t.Error("armed over a directory")
	}
	if left, _ := filepath.Glob(b.Path(".tmp-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestL52ADueAlarmBecomesOneEvent(t *testing.T) {
	b := bodytest.New(t, nil)
	deadline := arm(t, b, "5")
	w := alarm.NewWatch(b)
	if out, err := w.Tick(t.Context(), noon.Add(5*time.Second-1)); err != nil || out.Fired || out.Event != "" || len(events(t, b)) != 0 {
		t.Errorf("early: got %+v, %v", out, err)
	}
	out, err := w.Tick(t.Context(), noon.Add(5*time.Second))
	if err != nil || !out.Fired || out.Event != "sleep_alarm_fired" || out.Fields["deadline"] != deadline || content(b) != "none" {
		t.Errorf("got %+v, %v, %s", out, err, content(b))
	}
	for range 3 {
		if out, err := w.Tick(t.Context(), noon.Add(time.Hour)); err != nil || out.Fired || out.Event != "" {
			t.Errorf("again: got %+v, %v", out, err)
		}
	}
	all, key := events(t, b), fmt.Sprintf("sleep_alarm:%x", sha256.Sum256([]byte(deadline)))
	if len(all) != 1 || all[0].Source != "system.sleep_alarm" || all[0].Ref != key || all[0].Key != key {
		t.Errorf("got %+v", all)
	}
}

func TestL53TheAlarmChangesNothingButTheNotification(t *testing.T) {
	b := bodytest.New(t, nil)
	do(t, os.WriteFile(b.Path(body.ManifestFile), []byte(`{"state":"asleep"}`), 0o600))
	arm(t, b, "5")
	_, err := alarm.NewWatch(b).Tick(t.Context(), noon.Add(time.Hour))
	do(t, err)
	var files []string
	do(t, filepath.WalkDir(b.Dir(), func(p string, d fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(b.Dir(), p); rel != "." {
			files = append(files, rel)
		}
		return err
	}))
	if got := strings.Join(files, " "); got != ".agent.json .alarm.lock .notification .notification/.store.lock .notification/system.json" {
		t.Errorf("got %s", got)
	}
	if b.Manifest().State() != "asleep" {
		t.Error("the state changed")
	}
}

func TestL54AnAlarmThatIsNotDueStaysArmed(t *testing.T) {
	b := bodytest.New(t, nil)
	deadline := arm(t, b, "3600")
	w := alarm.NewWatch(b)
	_, _, err := notice.Open(b).Publish(t.Context(), notice.Event{Source: "x"}, noon) // woken early
	do(t, err)
	for i := range 10 {
		if out, err := w.Tick(t.Context(), noon.Add(time.Duration(i)*time.Minute)); err != nil || out.Fired {
			t.Errorf("got %+v, %v", out, err)
		}
	}
	if content(b) != deadline {
		t.Errorf("got %s", content(b))
	}
}

func TestL55ALaterDelayReplacesTheAlarm(t *testing.T) {
	b := bodytest.New(t, nil)
	arm(t, b, "5")
	arm(t, b, "3600")
	w := alarm.NewWatch(b)
	if out, err := w.Tick(t.Context(), noon.Add(time.Minute)); err != nil || out.Fired {
		t.Errorf("the first fired: %+v, %v", out, err)
	}
	if out, err := w.Tick(t.Context(), noon.Add(time.Hour)); err != nil || !out.Fired || len(events(t, b)) != 1 {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestL56TheAlarmSurvivesUntilItsEventIsThere(t *testing.T) {
	b := bodytest.New(t, nil)
	deadline := arm(t, b, "5")
	due := noon.Add(time.Hour)
	// It cannot be published: the alarm stays, over any number of restarts.
	do(t, os.WriteFile(b.Path(body.NoticeDir), nil, 0o600))
	for range 3 {
		if out, err := alarm.NewWatch(b).Tick(t.Context(), due); err == nil || out.Fired || content(b) != deadline {
			t.Fatalf("got %+v, %v, %s", out, err, content(b))
		}
	}
	do(t, os.Remove(b.Path(body.NoticeDir)))
	if out, err := alarm.NewWatch(b).Tick(t.Context(), due); err != nil || !out.Fired || content(b) != "none" {
		t.Fatalf("got %+v, %v", out, err)
	}
	// As if we had died before the file was removed: the event is there once.
	put(t, b, deadline)
	if out, err := alarm.NewWatch(b).Tick(t.Context(), due); err != nil || !out.Fired || content(b) != "none" || len(events(t, b)) != 1 {
		t.Errorf("got %+v, %v, %d events", out, err, len(events(t, b)))
	}
	// Also when it was dismissed meanwhile.
	put(t, b, deadline)
	_, err := notice.Open(b).DismissEvent(t.Context(), events(t, b)[0].ID, due)
	do(t, err)
	if _, err := alarm.NewWatch(b).Tick(t.Context(), due); err != nil || content(b) != "none" || len(events(t, b)) != 0 {
		t.Errorf("it came back: %v, %d events", err, len(events(t, b)))
	}
}

func TestL57AMalformedAlarmIsLeftAloneAndSaidOnce(t *testing.T) {
	b := bodytest.New(t, nil)
	w := alarm.NewWatch(b)
	late := noon.AddDate(100, 0, 0)
	said := func() string {
		t.Helper()
		out, err := w.Tick(t.Context(), late)
		if err != nil || out.Fired {
			t.Fatalf("got %+v, %v", out, err)
		}
		if out.Event != "" && (out.Fields["signature"] == "" || len(fmt.Sprint(out.Fields)) > 400) {
			t.Errorf("got %v", out.Fields)
		}
		return out.Event
	}
	for _, bad := range []string{
		"", " \n", "soon", "5 6", "5\n6", "1e400", "-1e400", "NaN", "nan", "inf", "Infinity", "0x10", "1_0", "5s", "5,0", "\xff\xfe", "\x00",
		"1e-999999999", "1e999999999", "{}", "null", strings.Repeat("1", 1000), strings.Repeat("1", 5000), "1796040000.5.5",
	} {
		put(t, b, bad)
		if got := said(); got != "sleep_alarm_malformed" {
			t.Errorf("%.30q: said %q", bad, got)
		}
		for range 3 {
			if got := said(); got != "" {
				t.Errorf("%.30q: said again: %q", bad, got)
			}
		}
		if content(b) != bad || len(events(t, b)) > 0 {
			t.Errorf("%.30q: touched, or fired", bad)
		}
	}
	do(t, os.Remove(b.Path(body.AlarmFile)))
	do(t, os.Mkdir(b.Path(body.AlarmFile), 0o700))
	if first, second := said(), said(); first != "sleep_alarm_malformed" || second != "" || !disk.Exists(b.Path(body.AlarmFile)) {
		t.Errorf("a directory: said %q, %q", first, second)
	}
	do(t, os.Remove(b.Path(body.AlarmFile)))
	// A good read makes the next problem a new one; so does a new process.
	put(t, b, "bad")
	said()
	put(t, b, "99999999999999")
	said()
	put(t, b, "bad")
	if got := said(); got != "sleep_alarm_malformed" {
		t.Errorf("after a good read: said %q", got)
	}
	w = alarm.NewWatch(b)
	if got := said(); got != "sleep_alarm_malformed" {
		t.Errorf("a new process: said %q", got)
	}
}

func TestDeadlinesThatCanBeRead(t *testing.T) {
	b := bodytest.New(t, nil)
	for text, due := range map[string]bool{
		"1796040000": true, " 1796040000.000 \n": true, "1.79604e9": true, "1796040000.000000001": false, "0": true, "-5": true,
		"+5": true, "5.": true, ".5": true, "1e300": false, "99999999999": false, "0e0": true, "000": true,
	} {
		put(t, b, text)
		a := alarm.Read(b)
		if a.Kind != body.Present || a.Due(noon) != due {
			t.Errorf("%q: got %+v, due %v", text, a, a.Due(noon))
		}
	}
	do(t, os.Remove(b.Path(body.AlarmFile)))
	if a := alarm.Read(b); a.Kind != body.Absent || a.Due(noon) {
		t.Errorf("got %+v", a)
	}
}

func TestL58ThereIsNoListNoHistoryAndNoCancelling(t *testing.T) {
	b := bodytest.New(t, nil)
	for _, delay := range []string{"1", "2", "3"} {
		arm(t, b, delay)
	}
	_, err := alarm.NewWatch(b).Tick(t.Context(), noon.Add(time.Hour))
	do(t, err)
	if left, _ := filepath.Glob(b.Path(".alarm*")); len(left) != 1 || !strings.HasSuffix(left[0], ".alarm.lock") {
		t.Errorf("left: %v", left)
	}
	if len(events(t, b)) != 1 {
		t.Errorf("got %v", events(t, b))
	}
}

func TestTheClockStepsEightHours(t *testing.T) {
	b := bodytest.New(t, nil)
	deadline := arm(t, b, "3600")
	w := alarm.NewWatch(b)
	if out, err := w.Tick(t.Context(), noon.Add(-8*time.Hour)); err != nil || out.Fired || content(b) != deadline {
		t.Errorf("set back: got %+v, %v", out, err)
	}
	if out, err := w.Tick(t.Context(), noon.Add(8*time.Hour)); err != nil || !out.Fired {
		t.Errorf("set forward: got %+v, %v", out, err)
	}
	if out, err := w.Tick(t.Context(), noon.Add(-8*time.Hour)); err != nil || out.Fired || len(events(t, b)) != 1 {
		t.Errorf("and back: got %+v, %v", out, err)
	}
}

func TestATickDoesNotWaitForWhoArms(t *testing.T) {
	b := bodytest.New(t, nil)
	deadline := arm(t, b, "5")
	unlock, err := disk.Lock(t.Context(), b.Path(".alarm.lock"), 0)
	do(t, err)
	w := alarm.NewWatch(b)
	if out, err := w.Tick(t.Context(), noon.Add(time.Hour)); err != nil || out.Fired || content(b) != deadline {
		t.Errorf("got %+v, %v", out, err)
	}
	unlock()
	if out, err := w.Tick(t.Context(), noon.Add(time.Hour)); err != nil || !out.Fired {
		t.Errorf("got %+v, %v", out, err)
	}
}

func TestAnAlarmIsReplacedWhileAnotherIsPublished(t *testing.T) {
	b := bodytest.New(t, nil)
	arm(t, b, "5")
	// Publishing waits for the store's lock; meanwhile one who does not know the
	// alarm's lock replaces the file.
	s := notice.Open(b)
	_, err := s.Put(t.Context(), "cron", notice.Any, notice.Envelope{Header: "h"}, noon)
	do(t, err)
	unlock, err := disk.Lock(t.Context(), b.Path(body.NoticeDir, ".store.lock"), 0)
	do(t, err)
	fired := make(chan error, 1)
	go func() {
		for w := alarm.NewWatch(b); ; { // until we do not hold the lock ourselves, below
			out, err := w.Tick(t.Context(), noon.Add(time.Hour))
			if out.Fired || err != nil || !alarm.Read(b).Due(noon.Add(time.Hour)) {
				fired <- err
				return
			}
		}
	}()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) { // until it waits there
		if held, err := disk.Held(b.Path(".alarm.lock")); err != nil || held {
			break
		} else if time.Now().After(end) {
			t.Fatal("it did not begin")
		}
	}
	do(t, disk.Replace(b.Path(body.AlarmFile), []byte("99999999999")))
	unlock()
	do(t, <-fired)
	if content(b) != "99999999999" {
		t.Errorf("the replacement was consumed: %s", content(b))
	}
}

func TestProcessesThatTickFireOnce(t *testing.T) {
	b := bodytest.New(t, nil)
	arm(t, b, "5")
	var cmds []*exec.Cmd
	for i := range 6 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ALARM_DIR="+b.Dir(), "GORACE=atexit_sleep_ms=0")
		cmd.Stderr = os.Stderr
		do(t, cmd.Start())
		cmds = append(cmds, cmd)
		if i < 3 {
			time.Sleep(time.Duration(i) * 4 * time.Millisecond)
			do(t, cmd.Process.Kill()) // at any point; the others go on
		}
	}
	for _, cmd := range cmds {
		cmd.Wait()
	}
	if got := events(t, b); len(got) != 1 || content(b) != "none" {
		t.Errorf("got %v, %s", got, content(b))
	}
}

func FuzzAlarm(f *testing.F) {
	for _, s := range []string{"1796040000.5", "", "nan", "1e400", "1e-400", "5 6", "-0", "1e308", "\xff", ".e1", "1e+"} {
		f.Add(s)
	}
	b := bodytest.New(f, nil)
	f.Fuzz(func(t *testing.T, text string) {
		put(t, b, text)
		if a := alarm.Read(b); a.Kind == body.Malformed && a.Due(noon) || a.Kind == body.Malformed && a.Err == nil || a.Kind == body.Absent {
			t.Fatalf("got %+v", a)
		}
		d, set, err := alarm.ParseDelay(json.RawMessage(text))
		if !set || err != nil {
			return
		}
		// What can be armed can be read, and is not due before its time.
		deadline, err := alarm.Arm(t.Context(), b, d, noon)
		if fault.Is(err, fault.BadInput) {
			return
		}
		do(t, err)
		a := alarm.Read(b)
		if a.Kind != body.Present || a.Deadline != deadline || a.Due(noon) {
			t.Fatalf("%q: armed %q, got %+v", text, deadline, a)
		}
	})
}
