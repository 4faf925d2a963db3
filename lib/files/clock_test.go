package files_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/room"
)

func (w *world) names() []string {
	w.Helper()
	found, err := os.ReadDir(w.at.dir)
	if err != nil {
		w.Fatal(err)
	}
	var names []string
	for _, f := range found {
		if len(f.Name()) > 20 {
			names = append(names, f.Name())
		}
	}
	return names
}

func (w *world) increasing(n int) {
	w.Helper()
	names := w.names()
	if len(names) != n {
		w.Errorf("%d entries, want %d", len(names), n)
	}
	for i := 1; i < len(names); i++ {
		if names[i-1][:19] >= names[i][:19] {
			w.Errorf("%s is not later than %s", names[i], names[i-1])
		}
	}
}

func TestFiftyPostsInOneMillisecond(t *testing.T) {
	w := newWorld(t)
	who := []string{"dan", "ann", "bob"}
	last := ""
	for i := range 50 {
		w.now = w.now.Add(10 * time.Microsecond)
		name := w.must(who[i%3], "x")
		if name <= last {
			t.Errorf("%s after %s", name, last)
		}
		last = name
	}
	w.increasing(50)
	if want := "20260706T120000049Z__ann.md"; last != want {
		t.Errorf("the last is %s, want %s", last, want)
	}
}

func TestClockStepsBack(t *testing.T) {
	w := newWorld(t)
	who := []string{"dan", "ann", "bob"}
	last := ""
	for i := range 30 {
		switch {
		case i%10 == 5:
			w.now = w.now.AddDate(0, 0, -1)
		case i%10 == 9:
			w.now = w.now.AddDate(0, 0, 2)
		default:
			w.now = w.now.Add(7 * time.Millisecond)
		}
		name := w.must(who[i%3], "x")
		if name[:19] <= last {
			t.Errorf("%s after %s", name, last)
		}
		last = name[:19]
		if i%10 == 9 && name[:8] != w.now.Format("20060102") {
			t.Errorf("the clock is ahead again, at %v, yet the entry is %s", w.now, name)
		}
	}
	w.increasing(30)
}

func TestClockBeforeTheFormat(t *testing.T) {
	w := newWorld(t)
	w.now = time.Date(1969, 12, 31, 23, 59, 59, 0, time.UTC)
	if _, err := w.post("dan", "x"); !fault.Is(err, fault.Corrupt) {
		t.Errorf("a post in 1969: %v", err)
	}
	w.increasing(0)
}

func TestNoTimeIsLeft(t *testing.T) {
	w := newWorld(t)
	w.now = time.Date(9998, 12, 31, 23, 59, 59, 998e6, time.UTC)
	w.must("dan", "x")
	w.must("ann", "y")
	before := w.all()
	if _, err := w.post("bob", "z"); !fault.Is(err, fault.Corrupt) {
		t.Errorf("a post after the end of time: %v", err)
	}
	w.now = time.Date(2026, 7, 6, 0, 0, 0, 0, time.UTC)
	if _, err := w.post("bob", "z"); !fault.Is(err, fault.Corrupt) {
		t.Errorf("a post after the end of time, the clock right again: %v", err)
	}
	if diff := changed(before, w.all()); len(diff) > 0 {
		t.Errorf("a refusal changed %q", diff)
	}
	w.increasing(2)
	if _, err := w.Moderate(context.Background(), w.key, "dan", room.End); err != nil {
		t.Errorf("moderation needs no time: %v", err)
	}
}

// An entry of the year 9999 is none: it is skipped, and not overwritten either.
func TestYear9999(t *testing.T) {
	w := newWorld(t)
	far := filepath.Join(w.at.dir, "99991231T235959999Z__ann.md")
	w.write(far, "far\n")
	w.must("dan", "x")
	if v, current, bodies := w.seen(); v != 1 || current != "ann" || len(bodies) != 1 {
		t.Errorf("version %d, %s, %q", v, current, bodies)
	}
	if w.read(far) != "far\n" {
		t.Error("it was overwritten")
	}
}

// What has the name that the next entry would get, and is no entry, is neither overwritten nor in the way.
func TestNameTaken(t *testing.T) {
	w := newWorld(t)
	taken := filepath.Join(w.at.dir, "20260706T120000000Z__dan.md")
	if err := os.Symlink("/etc/passwd", taken); err != nil {
		t.Fatal(err)
	}
	if name := w.must("dan", "x"); name != "20260706T120000001Z__dan.md" {
		t.Errorf("the entry is %s", name)
	}
	if to, err := os.Readlink(taken); err != nil || to != "/etc/passwd" {
		t.Errorf("%v, %s", err, to)
	}
}
