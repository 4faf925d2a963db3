package attend

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/home"
)

func TestPausesGrowUpToTenMinutes(t *testing.T) {
	agent := home.Agent{Pause: 5 * time.Second}
	for i, want := range []time.Duration{
		5 * time.Second, 15 * time.Second, 45 * time.Second, 135 * time.Second, 405 * time.Second, 10 * time.Minute, 10 * time.Minute,
	} {
		if got := pause(agent, i+1); got != want {
			t.Errorf("after attempt %d: %v, want %v", i+1, got, want)
		}
	}
	agent.Pause = time.Hour
	if got := pause(agent, 1); got != 10*time.Minute {
		t.Errorf("a long pause: %v", got)
	}
	if got := pause(agent, 1<<30); got != 10*time.Minute {
		t.Errorf("many attempts: %v", got)
	}
}

type broken struct{ n int }

func (b *broken) Write(p []byte) (int, error) {
	b.n++
	return 0, errors.New("broken")
}

// A child must never be stopped by what becomes of its output: each write succeeds.
func TestLimitedTakesAllAndKeepsSome(t *testing.T) {
	var kept bytes.Buffer
	l := &limited{to: &kept, left: 5}
	for _, s := range []string{"abc", "", "def", "ghi"} {
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%q: %d, %v", s, n, err)
		}
	}
	if kept.String() != "abcde" || !l.over {
		t.Errorf("kept %q, over %v", kept.String(), l.over)
	}
	exact := &limited{to: &kept, left: 3}
	if exact.Write([]byte("xyz")); exact.over {
		t.Error("what fits is taken for too much")
	}
	out := &broken{}
	l = &limited{to: out, left: 100}
	for range 3 {
		if n, err := l.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("broken output: %d, %v", n, err)
		}
	}
	if out.n != 1 {
		t.Errorf("a broken output was tried %d times", out.n)
	}
}
