// Package alarm is an agent's one alarm: .alarm holds one absolute time of the wall
// clock, as decimal seconds, and nothing else. There is no list, no history and no
// cancelling: a later one takes its place, and one that is due becomes one event.
//
// Times are added and compared as exact decimals, so that a very late one does not
// collapse to another.
package alarm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

const (
	maxText  = 1024 // the longest number that is read, in bytes
	lockWait = 10 * time.Second
)

// Delay is how long until an alarm, as an exact number of seconds.
type Delay struct{ seconds *big.Rat }

// ParseDelay reads a delay: a JSON number that is finite and above 0, however large.
// null and nothing at all are no delay: set is false, and there is nothing to arm.
func ParseDelay(raw json.RawMessage) (d Delay, set bool, err error) {
	text := strings.TrimSpace(string(raw))
	if text == "" || text == "null" {
		return Delay{}, false, nil
	}
	refuse := func(why string) (Delay, bool, error) {
		return Delay{}, false, fault.New(fault.BadInput, "delay %s: %.80q", why, text).
			WithHint("a delay is a number of seconds above 0")
	}
	if !json.Valid([]byte(text)) || text[0] != '-' && (text[0] < '0' || text[0] > '9') {
		return refuse("is not a number")
	}
	seconds, err := parse(text)
	switch {
	case err != nil:
		return refuse(err.Error())
	case seconds.Sign() <= 0:
		return refuse("is not above 0")
	}
	return Delay{seconds}, true, nil
}

var number = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)

// parse reads a decimal number that is finite for those who read it as a float, and
// not 0 for them unless it is 0. That also bounds its digits.
func parse(text string) (*big.Rat, error) {
	if len(text) > maxText || !number.MatchString(text) {
		return nil, errors.New("is not one decimal number")
	}
	f, err := strconv.ParseFloat(text, 64)
	digits, _, _ := strings.Cut(strings.ToLower(text), "e")
	switch {
	case err != nil || math.IsInf(f, 0):
		return nil, errors.New("is not finite")
	case f == 0 && strings.Trim(digits, "+-.0") == "":
		return new(big.Rat), nil
	case f == 0:
		return nil, errors.New("is too close to 0")
	}
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		return nil, errors.New("is not one decimal number")
	}
	return r, nil
}

// Arm sets the alarm to a delay from now, in place of the one that is there, and
// returns its deadline as the file has it. When it fails, the old one is as it was.
func Arm(ctx context.Context, b body.Body, d Delay, now time.Time) (deadline string, err error) {
	if d.seconds == nil {
		return "", fault.New(fault.BadInput, "no delay")
	}
	sum := new(big.Rat).Add(d.seconds, wall(now))
	digits, _ := sum.FloatPrec() // it is exact: only tens divide it
	deadline = sum.FloatString(digits)
	if len(deadline) > maxText {
		return "", fault.New(fault.BadInput, "delay has too many digits: %d", len(deadline))
	}
	if _, err := parse(deadline); err != nil {
		return "", fault.New(fault.BadInput, "delay: the deadline %w", err)
	}
	unlock, err := lock(ctx, b, lockWait)
	if err != nil {
		return "", err
	}
	defer unlock()
	return deadline, disk.Replace(b.Path(body.AlarmFile), []byte(deadline))
}

// lock keeps arming and firing apart.
func lock(ctx context.Context, b body.Body, wait time.Duration) (func(), error) {
	return disk.Lock(ctx, b.Path(body.AlarmFile+".lock"), wait)
}

// wall returns a time as exact seconds.
func wall(t time.Time) *big.Rat {
	seconds := new(big.Rat).SetInt64(t.Unix())
	return seconds.Add(seconds, big.NewRat(int64(t.Nanosecond()), 1e9))
}

// Alarm is what .alarm holds.
type Alarm struct {
	Kind     body.Kind
	Deadline string // as the file has it
	Err      error  // why it is malformed
	seconds  *big.Rat
	problem  string // names what is malformed: the same for as long as it stays as it is
}

// Read returns the alarm.
func Read(b body.Body) Alarm {
	data, err := disk.ReadFile(b.Path(body.AlarmFile), maxText)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Alarm{Kind: body.Absent}
	case err != nil:
		return Alarm{Kind: body.Malformed, Err: err, problem: kindOf(err)}
	}
	text := strings.TrimSpace(string(data))
	seconds, err := parse(text)
	if err != nil {
		return Alarm{Kind: body.Malformed, Err: fmt.Errorf("%.40q %w", text, err), problem: digest(string(data))}
	}
	return Alarm{Kind: body.Present, Deadline: text, seconds: seconds}
}

// Due reports whether the alarm's time has come.
func (a Alarm) Due(now time.Time) bool {
	return a.Kind == body.Present && wall(now).Cmp(a.seconds) >= 0
}

func digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s))) }

// kindOf returns what kind of error it is, without what differs from time to time.
func kindOf(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return "error: " + err.Error()
}
