package index

import (
	"bytes"
	"crypto/sha256"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// longest is the longest name that an entry can have.
func longest() string {
	return transcript.Name(time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC), strings.Repeat("a/", 31)+"bb", true)
}

func TestTheLongestNameFitsIntoARow(t *testing.T) {
	e, ok := transcript.ParseName(longest())
	if !ok || len(e.Author) != name.Max || len(e.Name) > nameRoom {
		t.Errorf("%d bytes of an author's %d into %d", len(e.Name), len(e.Author), nameRoom)
	}
}

func TestRowsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := row{
			name:  rapid.StringN(0, -1, nameRoom).Draw(t, "name"),
			pass:  rapid.Bool().Draw(t, "pass"),
			place: rapid.IntRange(1, math.MaxInt32).Draw(t, "place"),
			start: rapid.IntRange(0, math.MaxInt).Draw(t, "start"),
			lines: rapid.IntRange(0, math.MaxUint32).Draw(t, "lines"),
			print: disk.Print{
				Inode: rapid.Int64().Draw(t, "inode"), Size: rapid.Int64().Draw(t, "size"),
				Modified: rapid.Int64().Draw(t, "modified"), Changed: rapid.Int64().Draw(t, "changed"),
			},
			id: rapid.Uint64().Draw(t, "id"),
		}
		want.sum = sha256.Sum256([]byte(want.name))
		b := want.encode()
		if len(b) != size {
			t.Fatalf("%d bytes", len(b))
		}
		if got, err := decode(b, want.place); err != nil || got != want {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

func TestHeadersComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, math.MaxInt)
		want := header{
			rows: n.Draw(t, "rows"), visible: n.Draw(t, "visible"), lines: n.Draw(t, "lines"),
			dir: disk.Print{
				Inode: rapid.Int64().Draw(t, "inode"), Size: rapid.Int64().Draw(t, "size"),
				Modified: rapid.Int64().Draw(t, "modified"), Changed: rapid.Int64().Draw(t, "changed"),
			},
			settled: rapid.Bool().Draw(t, "settled"),
		}
		b := want.encode()
		if len(b) != size {
			t.Fatalf("%d bytes", len(b))
		}
		if got, err := decodeHeader(b); err != nil || got != want {
			t.Fatalf("got %+v, %v\nwant %+v", got, err, want)
		}
	})
}

// Any bit that is another one makes a row or a header of no use, as do zeros, which a crash may leave.
func TestAChangedBitIsNoticed(t *testing.T) {
	r := row{name: longest(), place: 1, start: 1, lines: 3, print: disk.Print{Inode: 1, Size: 2, Modified: 3, Changed: 4}, id: 5}
	h := header{rows: 3, visible: 2, lines: 9, dir: r.print, settled: true}
	for i := range 8 * size {
		b := r.encode()
		b[i/8] ^= 1 << (i % 8)
		if _, err := decode(b, 1); err == nil {
			t.Errorf("row: bit %d", i)
		}
		b = h.encode()
		b[i/8] ^= 1 << (i % 8)
		if _, err := decodeHeader(b); err == nil {
			t.Errorf("header: bit %d", i)
		}
	}
	for _, b := range [][]byte{make([]byte, size), bytes.Repeat([]byte{0xff}, size), []byte(strings.Repeat("x", size))} {
		if _, err := decode(b, 1); err == nil {
			t.Errorf("row: % x…", b[:4])
		}
		if _, err := decodeHeader(b); err == nil {
			t.Errorf("header: % x…", b[:4])
		}
	}
	if _, err := decodeHeader(r.encode()); err == nil {
		t.Error("a row passes for a header")
	}
}

func TestNoIDIsNoHash(t *testing.T) {
	if hash("") != 0 {
		t.Error("an entry without an ID has one")
	}
	rapid.Check(t, func(t *rapid.T) {
		if id := rapid.StringN(1, -1, 128).Draw(t, "id"); hash(id) == 0 {
			t.Fatalf("%q has none", id)
		}
	})
}

// TestAClockThatStandsStill: on a file system whose stamps had not moved on when the file was written, a later
// change may have left the directory's print as it was.
func TestAClockThatStandsStill(t *testing.T) {
	top := t.TempDir()
	dir, cache := filepath.Join(top, "room"), filepath.Join(top, "cache", "room.index")
	put := func(second int) {
		t.Helper()
		n := transcript.Name(time.Date(2026, 7, 6, 13, 15, second, 0, time.UTC), "dan", false)
		if err := os.WriteFile(filepath.Join(dir, n), []byte("x\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	put(1)
	x := &Index{dir: dir}
	if err := x.relist(); err != nil {
		t.Fatal(err)
	}
	put(2) // in the same tick
	for _, settled := range []bool{false, true} {
		x.head.dir, x.head.settled = disk.PrintAt(dir), settled
		if err := ready(filepath.Dir(cache)); err != nil {
			t.Fatal(err)
		}
		if err := disk.ReplaceLoose(cache, append(x.head.encode(), x.mem[0].encode()...)); err != nil {
			t.Fatal(err)
		}
		y, err := Open(dir, cache, func() bool { return false })
		if err != nil {
			t.Fatal(err)
		}
		// The second file lies: it shows that nothing but the mark keeps the first from being believed.
		if want := 2 - int(bit(settled)); y.Len() != want || y.Remembered() != settled {
			t.Errorf("settled %v: %d entries, want %d", settled, y.Len(), want)
		}
		y.Close()
	}
}
