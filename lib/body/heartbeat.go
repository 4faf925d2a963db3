package body

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
)

// HeartbeatPeriod is how often an agent writes its heartbeat.
const HeartbeatPeriod = time.Second

// Kind says what was found where a file of an agent's should be.
type Kind string

// The kinds. What cannot be read is malformed, never absent.
const (
	Absent    Kind = "absent"
	Malformed Kind = "malformed"
	Present   Kind = "present"
)

// Heartbeat is when an agent last said that it is alive.
type Heartbeat struct {
	Kind    Kind
	Seconds float64 // of the wall clock, since 1970; may be NaN or infinite
	Err     error   // why it is malformed
}

// Beat writes the heartbeat, in place: a time has as many digits as the next, for two
// centuries. It is not durable: after a crash of the machine nobody is alive anyhow.
func (b Body) Beat(now time.Time) error {
	return disk.Overwrite(b.Path(HeartbeatFile), []byte(WallSeconds(now)))
}

// StopBeat removes the heartbeat, as the last thing before the lease is released.
func (b Body) StopBeat() error { return disk.Remove(b.Path(HeartbeatFile)) }

// WallSeconds returns a time as the files of an agent have it: decimal seconds
// since 1970, to the microsecond.
func WallSeconds(t time.Time) string {
	micros := t.UnixMicro()
	text := fmt.Appendf(nil, "%07d", max(micros, -micros))
	point := len(text) - 6
	text = slices.Insert(text, point, '.')
	if micros < 0 {
		text = slices.Insert(text, 0, '-')
	}
	return string(text)
}

// Heartbeat reads the heartbeat.
func (b Body) Heartbeat() Heartbeat {
	data, err := disk.ReadFile(b.Path(HeartbeatFile), 1<<10)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Heartbeat{Kind: Absent}
	case err != nil:
		return Heartbeat{Kind: Malformed, Err: err}
	}
	seconds, err := parseSeconds(string(data))
	if err != nil {
		return Heartbeat{Kind: Malformed, Err: err}
	}
	return Heartbeat{Kind: Present, Seconds: seconds}
}

func parseSeconds(text string) (float64, error) {
	text = strings.TrimSpace(text)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) { // out of range is infinite
		return 0, fmt.Errorf("not a number of seconds: %.40q", text)
	}
	return n, nil
}

// Age returns how old the heartbeat is, below 0 for one that is ahead of the
// clock. ok is false where there is no finite one.
func (h Heartbeat) Age(now time.Time) (age time.Duration, ok bool) {
	if h.Kind != Present || math.IsNaN(h.Seconds) || math.IsInf(h.Seconds, 0) {
		return 0, false
	}
	seconds := float64(now.UnixMicro())/1e6 - h.Seconds
	if math.Abs(seconds) > math.MaxInt64/2/1e9 {
		seconds = math.Copysign(math.MaxInt64/2/1e9, seconds)
	}
	return time.Duration(seconds * 1e9).Round(time.Microsecond), true
}

// Alive reports whether the heartbeat is younger than the threshold. One ahead of
// the clock is alive, one that is no number is not.
func (h Heartbeat) Alive(now time.Time, threshold time.Duration) bool {
	age, ok := h.Age(now)
	return ok && age < threshold || h.Kind == Present && math.IsInf(h.Seconds, 1)
}

// Dead reports whether the heartbeat shows that nobody is there: it is missing or
// at least limit old. One that cannot be read shows nothing, so whoever is about to
// kill asks this and not whether it is alive.
func (h Heartbeat) Dead(now time.Time, limit time.Duration) bool {
	age, ok := h.Age(now)
	return h.Kind == Absent || ok && age >= limit
}

// Alive reports whether the agent is: a human always is, and any other whose
// heartbeat says so.
func (b Body) Alive(now time.Time, threshold time.Duration) bool {
	return b.Manifest().IsHuman() || b.Heartbeat().Alive(now, threshold)
}
