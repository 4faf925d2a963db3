package disk_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
)

// What is derived from a directory is kept for as long as its print stays. So a
// change after Settled has said yes must always show.
func TestAChangeAfterSettledAlwaysShows(t *testing.T) {
	rounds, dir := 2000, t.TempDir()
	if testing.Short() {
		rounds = 100
	}
	settled := 0
	for i := range rounds {
		put(t, filepath.Join(dir, "a"+strconv.Itoa(i)), "")
		p := disk.PrintAt(dir)
		if !p.Settled(dir) {
			continue
		}
		settled++
		if err := os.Rename(filepath.Join(dir, "a"+strconv.Itoa(i)), filepath.Join(dir, "b"+strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
		if disk.PrintAt(dir) == p {
			t.Fatalf("round %d: a change does not show in %+v", i, p)
		}
	}
	if _, network := disk.FileSystem(dir); settled == 0 && !network {
		t.Errorf("never settled in %d rounds", rounds)
	}
}

func TestPrintTellsFilesApart(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	put(t, a, "x")
	put(t, b, "x")
	if disk.PrintAt(a) == disk.PrintAt(b) {
		t.Error("two files, one print")
	}
	before := disk.PrintAt(a)
	put(t, a, "xy")
	if disk.PrintAt(a) == before {
		t.Error("another size, the same print")
	}
	if first, second := disk.PrintAt(a), disk.PrintAt(a); first != second {
		t.Error("one file, two prints")
	}
	info, err := os.Lstat(a)
	if err != nil || disk.PrintOf(info) != disk.PrintAt(a) {
		t.Errorf("PrintOf differs from PrintAt: %v", err)
	}
}

func TestPrintOfNothingIsZeroAndNeverSettled(t *testing.T) {
	p := disk.PrintAt(filepath.Join(t.TempDir(), "none"))
	if p != (disk.Print{}) {
		t.Errorf("got %+v", p)
	}
	if p.Settled(os.TempDir()) {
		t.Error("nothing is settled")
	}
}

func TestAStampWithoutFineDigitsProvesNothing(t *testing.T) {
	p := disk.Print{Changed: time.Now().Add(-time.Hour).Truncate(time.Millisecond).UnixNano()}
	if p.Settled(t.TempDir()) {
		t.Error("settled")
	}
	if p.Changed++; !p.Settled(t.TempDir()) {
		t.Error("an hour ago and not settled")
	}
}

func TestQuietGivesUpAtItsLimit(t *testing.T) {
	future := disk.Print{Changed: time.Now().Add(time.Hour).UnixNano()}
	if future.Quiet(2 * time.Millisecond) {
		t.Error("an hour has passed")
	}
	if past := (disk.Print{Changed: time.Now().Add(-time.Hour).UnixNano()}); !past.Quiet(0) {
		t.Error("a tick has not passed in an hour")
	}
}

func TestTickIsNeverAheadOfALaterStamp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for range 500 {
		tick := disk.Tick()
		put(t, path, "x")
		if p := disk.PrintAt(path); p.Changed < tick {
			t.Fatalf("stamp %d before tick %d", p.Changed, tick)
		}
	}
	if ago := time.Now().UnixNano() - disk.Tick(); ago < 0 || ago > int64(time.Second) {
		t.Errorf("the tick was %d ns ago", ago)
	}
}
