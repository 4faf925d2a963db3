package stamp_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/stamp"
)

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestEntryTime(t *testing.T) {
	for in, want := range map[string]string{
		"2026-07-06T13:15:02.084Z":       "20260706T131502084Z",
		"2026-07-06T13:15:02.0849999Z":   "20260706T131502084Z", // cut, not rounded
		"2026-07-06T13:15:02Z":           "20260706T131502000Z",
		"2026-07-06T15:15:02.084+02:00":  "20260706T131502084Z",
		"1970-01-01T00:00:00Z":           "19700101T000000000Z",
		"9998-12-31T23:59:59.999999999Z": "99981231T235959999Z",
	} {
		if got := stamp.Entry(at(in)); got != want || len(got) != stamp.Len {
			t.Errorf("%s: got %q, want %q", in, got, want)
		}
	}
}

func TestParseEntryIsTheInverse(t *testing.T) {
	for _, s := range []string{
		"20260706T131502084Z", "19700101T000000000Z", "99981231T235959999Z", "20240229T235959999Z", "20000229T000000001Z",
	} {
		got, ok := stamp.ParseEntry(s)
		if !ok || stamp.Entry(got) != s || got.Location() != time.UTC {
			t.Errorf("%s: got %v, %v", s, got, ok)
		}
	}
}

func TestParseEntryRefuses(t *testing.T) {
	for _, s := range []string{
		"", "Z", "20260706T131502084", "20260706T131502084ZZ", "20260706T131502084z", "20260706t131502084Z",
		"20260706 131502084Z", "20260706T131502.84Z", "20260706T131502,84Z", "2026-07-06T13:15:02Z",
		"20260706T1315020840Z", "2026070T1315020084Z", "+0260706T131502084Z", "-0260706T131502084Z",
		"20260706T13150208 Z", "20260706T131502+12Z", "20260706T131502-12Z", "20260706T1315+2084Z", "20260706T13150208\u0664Z",
		"20261301T000000000Z", "20260001T000000000Z", "20260732T000000000Z", "20260700T000000000Z",
		"20250229T000000000Z", "21000229T000000000Z", "20260706T240000000Z", "20260706T236000000Z",
		"20260706T235960000Z",
		"19691231T235959999Z", "00010101T000000000Z", "00000101T000000000Z", "99990101T000000000Z", "99991231T235959999Z",
	} {
		if got, ok := stamp.ParseEntry(s); ok {
			t.Errorf("%q is read as %v", s, got)
		}
	}
}

func TestNext(t *testing.T) {
	const last = "2026-07-06T13:15:02.084Z"
	for _, c := range []struct{ what, now, last, want string }{
		{"first entry", "2026-07-06T13:15:02.0849Z", "", "2026-07-06T13:15:02.084Z"},
		{"later", "2026-07-06T13:15:03.5Z", last, "2026-07-06T13:15:03.5Z"},
		{"next millisecond", "2026-07-06T13:15:02.085Z", last, "2026-07-06T13:15:02.085Z"},
		{"same millisecond", "2026-07-06T13:15:02.084Z", last, "2026-07-06T13:15:02.085Z"},
		{"later within the millisecond", "2026-07-06T13:15:02.0849Z", last, "2026-07-06T13:15:02.085Z"},
		{"clock a second back", "2026-07-06T13:15:01.084Z", last, "2026-07-06T13:15:02.085Z"},
		{"clock years back", "1971-01-01T00:00:00Z", last, "2026-07-06T13:15:02.085Z"},
		{"clock before 1970, entries after", "1960-01-01T00:00:00Z", last, "2026-07-06T13:15:02.085Z"},
		{"over midnight", "2026-01-01T00:00:00Z", "2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00Z"},
		{"another time zone", "2026-07-06T15:15:03+02:00", last, "2026-07-06T13:15:03Z"},
		{"last of all times", "2026-01-01T00:00:00Z", "9998-12-31T23:59:59.998Z", "9998-12-31T23:59:59.999Z"},
		{"first of all times", "1970-01-01T00:00:00Z", "", "1970-01-01T00:00:00Z"},
	} {
		var before time.Time
		if c.last != "" {
			before = at(c.last)
		}
		got, err := stamp.Next(at(c.now), before)
		if err != nil || !got.Equal(at(c.want)) || got.Location() != time.UTC {
			t.Errorf("%s: got %v, %v; want %s", c.what, got, err, c.want)
		}
		if back, ok := stamp.ParseEntry(stamp.Entry(got)); !ok || !back.Equal(got) {
			t.Errorf("%s: %v cannot be written in a name", c.what, got)
		}
	}
}

func TestNextRefusesToLeaveTheRange(t *testing.T) {
	for _, c := range []struct{ what, now, last string }{
		{"after the last of all times", "2026-01-01T00:00:00Z", "9998-12-31T23:59:59.999Z"},
		{"clock past the end", "9999-01-01T00:00:00Z", "2026-01-01T00:00:00Z"},
		{"clock before 1970 in an empty room", "1969-12-31T23:59:59.999Z", ""},
	} {
		var before time.Time
		if c.last != "" {
			before = at(c.last)
		}
		if got, err := stamp.Next(at(c.now), before); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%s: got %v, %v", c.what, got, err)
		}
	}
	if _, err := stamp.Next(at("1969-12-31T23:59:59Z"), time.Time{}); strings.Contains(fmt.Sprint(err), "0001") {
		t.Errorf("names a last entry that an empty room has not: %v", err)
	}
}

func TestRecordTimesSortAsText(t *testing.T) {
	times := []string{
		"1970-01-01T00:00:00Z", "2026-07-06T13:15:02Z", "2026-07-06T13:15:02.08Z", "2026-07-06T13:15:02.084Z",
		"2026-07-06T13:15:02.1Z", "2026-07-06T15:15:03+02:00", "9998-12-31T23:59:59.999Z",
	}
	var records []string
	for _, s := range times {
		r := stamp.Record(at(s))
		if len(r) != len("2026-07-06T13:15:02.084Z") || !strings.HasSuffix(r, "Z") {
			t.Errorf("%s: got %q, of another width", s, r)
		}
		if back := at(r); !back.Equal(at(s)) {
			t.Errorf("%s: got %q", s, r)
		}
		records = append(records, r)
	}
	if !slices.IsSorted(records) {
		t.Errorf("not in order: %q", records)
	}
}

func TestSecondsAreCut(t *testing.T) {
	if got := stamp.Seconds(at("2026-07-06T15:15:02.999+02:00")); got != "2026-07-06T13:15:02Z" {
		t.Errorf("got %q", got)
	}
}

func Example() {
	t := time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)
	fmt.Println(stamp.Entry(t))
	fmt.Println(stamp.Record(t))
	fmt.Println(stamp.Seconds(t))
	// Output:
	// 20260706T131502084Z
	// 2026-07-06T13:15:02.084Z
	// 2026-07-06T13:15:02Z
}

func FuzzParseStamp(f *testing.F) {
	for _, s := range []string{
		"20260706T131502084Z", "19700101T000000000Z", "99981231T235959999Z", "99990101T000000000Z", "20260706T131502,84Z", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		when, ok := stamp.ParseEntry(s)
		if !ok {
			return
		}
		if stamp.Entry(when) != s || when.Year() < 1970 || when.Year() > 9998 {
			t.Fatalf("%q is read as %v, written as %q", s, when, stamp.Entry(when))
		}
		next, err := stamp.Next(time.Unix(0, 0), when)
		if err == nil && stamp.Entry(next) <= s {
			t.Fatalf("%q comes after %q", stamp.Entry(next), s)
		}
		if err != nil && s != "99981231T235959999Z" {
			t.Fatalf("nothing comes after %q: %v", s, err)
		}
	})
}
