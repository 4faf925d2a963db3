// Package stamp holds the two written forms of a time: the one in entry file
// names (spec/rooms-format.md, section 3) and the one in records, of fixed
// width so that both sort as text.
package stamp

import (
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
)

const (
	entry  = "20060102T150405.000"
	record = "2006-01-02T15:04:05.000Z"

	// Len is the length of an entry time, in bytes.
	Len = len("20060102T150405000Z")
)

var (
	first = time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	end   = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
)

// Entry returns t as it stands in an entry's file name: UTC, milliseconds.
func Entry(t time.Time) string {
	s := t.UTC().Format(entry)
	return s[:15] + s[16:] + "Z"
}

// ParseEntry reads an entry time. ok is false unless s is 19 bytes of the form
// YYYYMMDDTHHMMSSmmmZ, a real date, in a year from 1970 to 9998.
func ParseEntry(s string) (t time.Time, ok bool) {
	if len(s) != Len || s[Len-1] != 'Z' {
		return t, false
	}
	// time.Parse takes fewer digits in places and a comma for the point, so the
	// digits are looked at first.
	for i := range Len - 1 {
		if i != 8 && (s[i] < '0' || s[i] > '9') {
			return t, false
		}
	}
	t, err := time.Parse(entry, s[:15]+"."+s[15:Len-1])
	return t, err == nil && inRange(t)
}

func inRange(t time.Time) bool { return !t.Before(first) && t.Before(end) }

// Next returns the time of the entry that follows one at last (zero: the first
// entry): the later of now, cut to the millisecond, and last plus a millisecond,
// so that names stay in write order when the clock steps back. It refuses, with
// the code corrupt, a time that would leave the valid range.
func Next(now, last time.Time) (time.Time, error) {
	t := now.UTC().Truncate(time.Millisecond)
	if !last.IsZero() && !t.After(last) {
		t = last.Add(time.Millisecond)
	}
	if !inRange(t) && last.IsZero() {
		return t, fault.New(fault.Corrupt, "the clock is outside the years 1970 to 9998: %s", Record(now)).
			WithHint("set the clock")
	}
	if !inRange(t) {
		return t, fault.New(fault.Corrupt, "no entry time is left after %q", Entry(last)).
			WithHint("the last entry is dated too far ahead; substrate-doctor names it")
	}
	return t, nil
}

// Record returns t as records show it: RFC 3339, UTC, three fraction digits.
func Record(t time.Time) string { return t.UTC().Format(record) }

// Seconds returns t as transcripts show it: RFC 3339, UTC, whole seconds.
func Seconds(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }
