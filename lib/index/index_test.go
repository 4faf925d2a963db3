package index_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/index"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// rowSize is what a row and the header take in the file.
const rowSize = 256

// begin is the time of the first entry of a room.
var begin = time.Date(2026, 7, 6, 13, 0, 0, 0, time.UTC)

func entry(i int) transcript.Entry {
	e, _ := transcript.ParseName(transcript.Name(begin.Add(time.Duration(i)*time.Second), []string{"dan", "ann/x", "bob"}[i%3], i%5 == 4))
	e.Body = strings.TrimSuffix(strings.Repeat(fmt.Sprintf("line %d\n", i), 1+i%4), "\n")
	if i%2 == 0 {
		e.ID = fmt.Sprint("id-", i)
	}
	return e
}

func write(t testing.TB, dir string, e transcript.Entry) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, e.Name), transcript.File(e), 0o666); err != nil {
		t.Fatal(err)
	}
}

// room writes a room of n entries, every fifth a pass, among what readers skip, and an index of it. It returns
// the directory and the index's file.
func room(t testing.TB, n int) (dir, cache string) {
	t.Helper()
	top := t.TempDir()
	dir, cache = filepath.Join(top, "room"), filepath.Join(top, "cache", "room.index")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		write(t, dir, entry(i))
	}
	for _, other := range []string{"config.yaml", "README.md", ".tmp-1", "20260706T131502084Z__Dan.md"} {
		if err := os.WriteFile(filepath.Join(dir, other), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	remember(t, dir, cache)
	return dir, cache
}

// remember has the holder of the lock write the index.
func remember(t testing.TB, dir, cache string) {
	t.Helper()
	x := open(t, dir, cache)
	defer x.Close()
	if err := x.Publish(cache, "", func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	y := open(t, dir, cache)
	defer y.Close()
	if !y.Remembered() {
		t.Fatal("the index is not believed")
	}
}

func open(t testing.TB, dir, cache string) *index.Index {
	t.Helper()
	x, err := index.Open(dir, cache, func() bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// answers is everything that an index says.
type answers struct {
	Len, Visible, Lines int
	Facts, Bodies       []transcript.Entry
	At                  []transcript.Entry
	Seek, Line, Posted  []string
}

func ask(t testing.TB, x *index.Index) answers {
	t.Helper()
	a := answers{Len: x.Len(), Visible: x.Visible(), Lines: x.Lines()}
	try := func(what string, err error) {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	for e, err := range x.Entries(0, x.Len(), index.Facts) {
		try("facts", err)
		a.Facts = append(a.Facts, e)
	}
	for e, err := range x.Entries(0, x.Len(), index.File) {
		try("bodies", err)
		a.Bodies = append(a.Bodies, e)
	}
	for i := range x.Len() {
		e, err := x.At(i)
		try("at", err)
		a.At = append(a.At, e)
	}
	for _, name := range []string{"", entry(0).Name, entry(3).Name, entry(3).Name + "x", entry(40).Name, "9"} {
		i, exact, err := x.Seek(name)
		try("seek", err)
		a.Seek = append(a.Seek, fmt.Sprint(i, exact))
	}
	for line := range x.Lines() + 2 {
		i, err := x.SeekLine(line)
		try("line", err)
		a.Line = append(a.Line, fmt.Sprint(i))
	}
	for i := range 10 {
		j, ok, err := x.Posted("dan", fmt.Sprint("id-", i), 64)
		try("posted", err)
		a.Posted = append(a.Posted, fmt.Sprint(j, ok))
	}
	return a
}

// fresh is what an index says of a directory that it knows nothing about.
func fresh(t testing.TB, dir string) answers {
	t.Helper()
	x := open(t, dir, filepath.Join(dir, "nowhere", "index"))
	defer x.Close()
	if x.Remembered() {
		t.Fatal("remembered from nowhere")
	}
	return ask(t, x)
}

// same checks that the index answers as a fresh one does, from the very first question on: each kind of
// question may be the first to meet what is damaged.
func same(t testing.TB, dir, cache string) {
	t.Helper()
	want := fresh(t, dir)
	x := open(t, dir, cache)
	defer x.Close()
	if got := ask(t, x); !reflect.DeepEqual(got, want) {
		t.Fatalf("got  %+v\nwant %+v", got, want)
	}
	y := open(t, dir, cache)
	defer y.Close()
	for i := y.Len() - 1; i >= 0; i-- {
		if e, err := y.At(i); err != nil || !reflect.DeepEqual(e, want.At[i]) {
			t.Fatalf("at %d: got %+v, %v\nwant %+v", i, e, err, want.At[i])
		}
	}
	z := open(t, dir, cache)
	defer z.Close()
	if i, ok, err := z.Posted("dan", "id-0", 64); err != nil || fmt.Sprint(i, ok) != want.Posted[0] {
		t.Fatalf("posted: got %d, %v, %v; want %s", i, ok, err, want.Posted[0])
	}
}

func TestTheFileSaysWhatTheDirectoryDoes(t *testing.T) {
	for _, n := range []int{0, 1, 5, 31, 32, 33, 200} {
		dir, cache := room(t, n)
		same(t, dir, cache)
		if info, err := os.Stat(cache); err != nil || info.Size() != int64(rowSize*(1+n)) {
			t.Errorf("%d entries: %v, %v", n, info, err)
		}
	}
}

func TestAFileThatIsNotRightChangesNoAnswer(t *testing.T) {
	dir, cache := room(t, 70)
	good, err := os.ReadFile(cache)
	if err != nil {
		t.Fatal(err)
	}
	// damage returns the file with some bytes at a place.
	damage := func(at int, bytes ...byte) []byte {
		b := append([]byte(nil), good...)
		copy(b[at:], bytes)
		return b
	}
	older := damage(4, []byte("substrate index 0\n")...)
	binary.LittleEndian.PutUint32(older, crc32.Checksum(older[4:rowSize], crc32.MakeTable(crc32.Castagnoli)))
	for what, b := range map[string][]byte{
		"as it was":               good,
		"empty":                   {},
		"one byte":                {0},
		"another format":          older,
		"no format":               []byte("entries: 70\n"),
		"half a header":           good[:rowSize/2],
		"header alone":            good[:rowSize],
		"cut in a row":            good[:10*rowSize+7],
		"cut after a row":         good[:40*rowSize],
		"last byte missing":       good[:len(good)-1],
		"rows too many":           append(damage(0), good[rowSize:]...),
		"zeros":                   make([]byte, len(good)),
		"zeros at the end":        append(append([]byte(nil), good[:40*rowSize]...), make([]byte, 31*rowSize)...),
		"header changed":          damage(30, 0xff),
		"first row changed":       damage(rowSize+20, 0xff, 0xfe),
		"a row changed":           damage(30*rowSize+100, 'x'),
		"last row changed":        damage(len(good)-rowSize, 1, 2, 3, 4),
		"two rows changed":        append(damage(3*rowSize+70, 'x')[:50*rowSize], damage(50*rowSize+5, 'y')[50*rowSize:]...),
		"every row changed":       append(damage(0)[:rowSize], bytes.Repeat([]byte("x"), 70*rowSize)...),
		"the file twice":          append(damage(0), good...),
		"shifted by a byte":       append([]byte{0}, good...),
		"conflict-marked":         append([]byte("<<<<<<< ours\n"), good...),
		"line ends made CRLF":     bytes.ReplaceAll(good, []byte("\n"), []byte("\r\n")),
		"read as text and cut":    good[:bytes.IndexByte(good, '\n')],
		"header of another room":  other(t, 70)[:rowSize],
		"of another room":         other(t, 70),
		"of another, larger room": other(t, 90),
		"of another, lesser room": other(t, 9),
	} {
		t.Run(what, func(t *testing.T) {
			if err := os.WriteFile(cache, b, 0o666); err != nil {
				t.Fatal(err)
			}
			same(t, dir, cache)
			// The next writer makes it right, whatever it was.
			e := entry(100)
			x := open(t, dir, cache)
			err := x.Publish(cache, e.Name, func() error { write(t, dir, e); return nil })
			x.Close()
			if err != nil {
				t.Fatal(err)
			}
			same(t, dir, cache)
			if err := os.Remove(filepath.Join(dir, e.Name)); err != nil {
				t.Fatal(err)
			}
			same(t, dir, cache)
		})
	}
}

// other returns the file of another room that has the same entries.
func other(t *testing.T, n int) []byte {
	_, cache := room(t, n)
	b, err := os.ReadFile(cache)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestFileInOddPlaces(t *testing.T) {
	dir, cache := room(t, 40)
	place := filepath.Dir(cache)
	for _, c := range []struct {
		what string
		make func() error
	}{
		{"deleted", func() error { return nil }},
		{"no cache directory", func() error { return os.Remove(place) }},
		{"directory", func() error { return os.MkdirAll(filepath.Join(cache, "d"), 0o777) }},
		{"dangling link", func() error { return os.Symlink("nowhere", cache) }},
		{"link to itself", func() error { return os.Symlink(filepath.Base(cache), cache) }},
		{"fifo", func() error { return syscall.Mkfifo(cache, 0o666) }},
		{"cache is a file", func() error { return os.WriteFile(place, []byte("x"), 0o666) }},
		{"cache is a dangling link", func() error { return os.Symlink("nowhere", place) }},
		{"read-only cache directory", func() error { return os.Chmod(place, 0o555) }},
	} {
		ok := t.Run(c.what, func(t *testing.T) {
			os.RemoveAll(place)
			switch {
			case strings.HasPrefix(c.what, "cache is"):
			default:
				if err := os.Mkdir(place, 0o777); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.make(); err != nil {
				t.Fatal(err)
			}
			defer os.Chmod(place, 0o777)
			done := make(chan struct{})
			go func() {
				defer close(done)
				same(t, dir, cache)
				x := open(t, dir, cache)
				defer x.Close()
				if err := x.Publish(cache, "", func() error { return nil }); err != nil {
					t.Error(err)
				}
				same(t, dir, cache)
			}()
			select {
			case <-done:
			case <-time.After(time.Minute):
				t.Fatal("still waiting")
			}
		})
		if !ok && c.what == "fifo" {
			os.WriteFile(cache, nil, 0o666) // nobody may wait for ever
		}
	}
}

// A copy of a space brings an index along whose prints are those of other files.
func TestACopyIsMeasuredAnew(t *testing.T) {
	for _, flags := range []string{"-r", "-a"} {
		dir, cache := room(t, 40)
		to := t.TempDir()
		if out, err := exec.Command("cp", flags, dir, filepath.Dir(cache), to).CombinedOutput(); err != nil {
			t.Skip(err, string(out))
		}
		dir, cache = filepath.Join(to, "room"), filepath.Join(to, "cache", "room.index")
		x := open(t, dir, cache)
		if x.Remembered() {
			t.Error("the index of another directory is believed")
		}
		x.Close()
		same(t, dir, cache)
		// Entries of the copy that are others, with the sizes and times of the first.
		e := entry(7)
		info, err := os.Stat(filepath.Join(dir, e.Name))
		if err != nil {
			t.Fatal(err)
		}
		e.Body = strings.ReplaceAll(e.Body, "l", "L")
		write(t, dir, e)
		if err := os.Chtimes(filepath.Join(dir, e.Name), info.ModTime(), info.ModTime()); err != nil {
			t.Fatal(err)
		}
		same(t, dir, cache)
		remember(t, dir, cache)
		same(t, dir, cache)
	}
}

// What others do to a room, after which the file is behind it or beside it.
func TestChangesByOthersAreNoticed(t *testing.T) {
	for _, c := range []struct {
		what string
		make func(dir string) error
	}{
		{"added at the end", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, entry(900).Name), []byte("x\ny"), 0o666)
		}},
		{"added before all", func(dir string) error {
			return os.WriteFile(filepath.Join(dir, "19990706T130000000Z__dan.md"), []byte("x"), 0o666)
		}},
		{"removed", func(dir string) error { return os.Remove(filepath.Join(dir, entry(20).Name)) }},
		{"renamed", func(dir string) error {
			return os.Rename(filepath.Join(dir, entry(20).Name), filepath.Join(dir, entry(950).Name))
		}},
		{"made a directory", func(dir string) error {
			p := filepath.Join(dir, entry(20).Name)
			return cmpErr(os.Remove(p), os.Mkdir(p, 0o777))
		}},
		{"made a link", func(dir string) error {
			p := filepath.Join(dir, entry(20).Name)
			return cmpErr(os.Remove(p), os.Symlink(entry(21).Name, p))
		}},
		{"replaced", func(dir string) error {
			p := filepath.Join(dir, "t")
			return cmpErr(os.WriteFile(p, []byte("a\nb\nc"), 0o666), os.Rename(p, filepath.Join(dir, entry(20).Name)))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			dir, cache := room(t, 70)
			if err := c.make(dir); err != nil {
				t.Fatal(err)
			}
			same(t, dir, cache)
			remember(t, dir, cache)
			same(t, dir, cache)
		})
	}
	t.Run("edited in place", func(t *testing.T) {
		dir, cache := room(t, 70)
		for _, i := range []int{50, 20, 0, 69} {
			e := entry(i)
			e.Body = "edited\nby\nhand"
			write(t, dir, e)
			x := open(t, dir, cache)
			n := 0
			for e, err := range x.Entries(i, i+1, index.Body) {
				if n++; err != nil || !e.Pass && e.Lines != 5 || e.Body != "edited\nby\nhand" {
					t.Errorf("entry %d: got %+v, %v", i, e, err)
				}
			}
			if n != 1 {
				t.Errorf("entry %d: %d entries", i, n)
			}
			x.Close()
		}
		var got, want answers
		x, y := open(t, dir, cache), open(t, dir, "")
		defer x.Close()
		defer y.Close()
		for e := range x.Entries(0, x.Len(), index.Body) {
			got.Bodies = append(got.Bodies, e)
		}
		for e := range y.Entries(0, y.Len(), index.Body) {
			want.Bodies = append(want.Bodies, e)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}

// A writer that died in the midst of it seems to be at work for ever: nobody waits for ever.
func TestNobodyWaitsLongForAWriter(t *testing.T) {
	dir, cache := room(t, 40)
	if err := os.Remove(filepath.Join(dir, entry(20).Name)); err != nil {
		t.Fatal(err)
	}
	asked := 0
	x, err := index.Open(dir, cache, func() bool { asked++; return true })
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if asked == 0 || asked > 1000 {
		t.Errorf("asked %d times", asked)
	}
	if got, want := ask(t, x), fresh(t, dir); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func cmpErr(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// Whatever the file holds, the answers are those of the directory.
func FuzzIndexFile(f *testing.F) {
	dir, cache := room(f, 40)
	good, err := os.ReadFile(cache)
	if err != nil {
		f.Fatal(err)
	}
	want := fresh(f, dir)
	f.Add(true, 0, []byte(nil))
	f.Add(true, 0, []byte("substrate index 1\n"))
	f.Add(true, 0, make([]byte, 3*rowSize))
	f.Add(true, 0, good[:rowSize])
	f.Add(true, 0, good[:5*rowSize+9])
	f.Add(false, 0, []byte(nil))
	f.Add(false, len(good)-1, []byte(nil))
	f.Add(false, 20*rowSize, []byte(nil))
	for _, at := range []int{0, 4, 24, 32, 40, 48, 56, rowSize, rowSize + 4, rowSize + 8, 33*rowSize + 92, len(good) - 1} {
		f.Add(false, at, []byte{0xff})
		f.Add(false, at, make([]byte, rowSize))
	}
	f.Fuzz(func(t *testing.T, whole bool, at int, data []byte) {
		// All of the file, or something written over a part of a good one, or that cut off there.
		b := data
		if !whole {
			at = int(uint(at) % uint(len(good)))
			b = append([]byte(nil), good...)
			if len(data) == 0 {
				b = b[:at]
			}
			b = append(b[:at], append(append([]byte(nil), data...), b[min(len(b), at+len(data)):]...)...)
		}
		file := filepath.Join(t.TempDir(), "index")
		if err := os.WriteFile(file, b, 0o666); err != nil {
			t.Fatal(err)
		}
		x := open(t, dir, file)
		defer x.Close()
		if got := ask(t, x); !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	})
}
