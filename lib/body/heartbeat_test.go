package body_test

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
)

const ten = 10 * time.Second

func TestL01ReadinessIsAFreshHeartbeat(t *testing.T) {
	b := bodytest.New(t, map[string]string{"init.json": "{}", ".agent.json": `{"admin":{}}`})
	lease, err := b.Acquire(t.Context(), 0) // its process is there
	do(t, err)
	defer lease.Release()
	if b.Alive(noon, ten) {
		t.Error("alive before the first heartbeat")
	}
	do(t, b.Beat(noon))
	if !b.Alive(noon, ten) {
		t.Error("not alive with a fresh heartbeat")
	}
	do(t, b.StopBeat())
	do(t, b.StopBeat())
	if h := b.Heartbeat(); h.Kind != body.Absent || b.Alive(noon, ten) {
		t.Errorf("got %+v", h)
	}
}

func TestAHeartbeatIsDecimalSecondsWithoutANewline(t *testing.T) {
	b := bodytest.New(t, nil)
	do(t, b.Beat(noon.Add(1234567*time.Nanosecond)))
	if got, _ := os.ReadFile(b.Path(body.HeartbeatFile)); string(got) != "1796040000.001234" {
		t.Errorf("got %q", got)
	}
	clean(t, b)
}

func TestABeatTakesThePlaceOfWhateverWasThere(t *testing.T) {
	for _, before := range []string{"", "soon", "1", "1796040000.000000", "1796040000.0000000", "\x00234567890123456"} {
		b := bodytest.New(t, map[string]string{body.HeartbeatFile: before})
		for i := range 3 {
			now := noon.Add(time.Duration(i) * time.Second)
			do(t, b.Beat(now))
			if got, _ := os.ReadFile(b.Path(body.HeartbeatFile)); string(got) != body.WallSeconds(now) {
				t.Errorf("%q: got %q", before, got)
			}
		}
		do(t, b.StopBeat())
		if left, _ := os.ReadDir(b.Dir()); len(left) > 0 {
			t.Errorf("%q: left %v", before, left)
		}
	}
	b, other := bodytest.New(t, nil), bodytest.New(t, map[string]string{"f": "1234567890.123456"})
	do(t, os.Symlink(other.Path("f"), b.Path(body.HeartbeatFile)))
	for range 3 {
		do(t, b.Beat(noon))
	}
	if got, _ := os.ReadFile(other.Path("f")); string(got) != "1234567890.123456" {
		t.Errorf("written through a link: %q", got)
	}
}

func TestClass2HeartbeatsAsTheyAreFound(t *testing.T) {
	at := func(d time.Duration) string { return body.WallSeconds(noon.Add(d)) }
	for _, c := range []struct {
		text        string
		kind        body.Kind
		alive, dead bool // dead: so that one may kill
	}{
		{at(0), body.Present, true, false},
		{at(-9999 * time.Millisecond), body.Present, true, false},
		{at(-ten), body.Present, false, true}, // exactly the threshold is stale
		{at(-ten + time.Microsecond), body.Present, true, false},
		{" " + at(0) + "\n", body.Present, true, false},
		{at(8 * time.Hour), body.Present, true, false}, // ahead of the clock
		{"1796040000", body.Present, true, false},
		{"1.79604e9", body.Present, true, false},
		{"0", body.Present, false, true},
		{"-5", body.Present, false, true},
		{"nan", body.Present, false, false},
		{"NaN", body.Present, false, false},
		{"inf", body.Present, true, false},
		{"1e400", body.Present, true, false},
		{"-inf", body.Present, false, false},
		{"", body.Malformed, false, false},
		{" \n", body.Malformed, false, false},
		{"soon", body.Malformed, false, false},
		{"1796040000 1796040000", body.Malformed, false, false},
		{"\xff\xfe", body.Malformed, false, false},
		{strings.Repeat("1", 2000), body.Malformed, false, false},
	} {
		b := bodytest.New(t, map[string]string{body.HeartbeatFile: c.text})
		h := b.Heartbeat()
		if h.Kind != c.kind || (h.Err != nil) != (c.kind == body.Malformed) {
			t.Errorf("%.30q: got %+v", c.text, h)
		}
		if got := h.Alive(noon, ten); got != c.alive {
			t.Errorf("%.30q: alive %v", c.text, got)
		}
		if got := h.Dead(noon, ten); got != c.dead {
			t.Errorf("%.30q: dead %v", c.text, got)
		}
	}
}

func TestClass2AHeartbeatThatCannotBeReadIsNotDead(t *testing.T) {
	b := bodytest.New(t, nil)
	if h := b.Heartbeat(); h.Kind != body.Absent || !h.Dead(noon, ten) {
		t.Errorf("none: got %+v", h)
	}
	do(t, os.Mkdir(b.Path(body.HeartbeatFile), 0o700))
	if h := b.Heartbeat(); h.Kind != body.Malformed || h.Alive(noon, ten) || h.Dead(noon, ten) {
		t.Errorf("a directory: got %+v", h)
	}
	if err := b.Beat(noon); err == nil {
		t.Error("a directory was written over")
	}
	clean(t, b)
}

func TestClass2TheClockStepsEightHours(t *testing.T) {
	b := bodytest.New(t, nil)
	do(t, b.Beat(noon))
	h := b.Heartbeat()
	if !h.Alive(noon.Add(-8*time.Hour), ten) || h.Dead(noon.Add(-8*time.Hour), ten) {
		t.Error("dead after the clock was set back")
	}
	// Set forward, one beat is stale until the next: one second, not for ever.
	forward := noon.Add(8 * time.Hour)
	if h.Alive(forward, ten) {
		t.Error("alive after the clock was set forward")
	}
	do(t, b.Beat(forward.Add(time.Second)))
	if !b.Heartbeat().Alive(forward.Add(time.Second), ten) {
		t.Error("not alive after the next beat")
	}
}

func TestAgesStayInRange(t *testing.T) {
	for _, seconds := range []float64{math.MaxFloat64, -math.MaxFloat64, 1e18, -1e18} {
		age, ok := body.Heartbeat{Kind: body.Present, Seconds: seconds}.Age(noon)
		if !ok || (age < 0) != (seconds > 0) {
			t.Errorf("%g: got %v, %v", seconds, age, ok)
		}
	}
}

func FuzzHeartbeat(f *testing.F) {
	for _, s := range []string{"1796040000.5", "", "nan", "-inf", "1e400", "0x1p3", "1_0", " 5\n", "\x00"} {
		f.Add([]byte(s))
	}
	b := bodytest.New(f, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		do(t, os.WriteFile(b.Path(body.HeartbeatFile), data, 0o600))
		h := b.Heartbeat()
		if h.Kind != body.Malformed && h.Kind != body.Present {
			t.Fatalf("got %+v", h)
		}
		if h.Kind == body.Malformed && (h.Alive(noon, ten) || h.Dead(noon, ten)) {
			t.Fatalf("malformed says something: %+v", h)
		}
		if h.Alive(noon, ten) && h.Dead(noon, ten) {
			t.Fatalf("both: %+v", h)
		}
	})
}

func TestWallSeconds(t *testing.T) {
	for micros, want := range map[int64]string{
		1796054946414408: "1796054946.414408", 0: "0.000000", 1: "0.000001", -1: "-0.000001",
		999999: "0.999999", 1000000: "1.000000", -12000034: "-12.000034",
	} {
		if got := body.WallSeconds(time.UnixMicro(micros)); got != want {
			t.Errorf("%d: %s, want %s", micros, got, want)
		}
	}
}
