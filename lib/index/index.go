// Package index lists and measures the entries of a room's directory, and
// remembers what it found in a file that may be lost, stale or damaged at any
// time: that costs speed, never a wrong answer.
//
// The file is believed only while the print of the directory (inode, size, and
// the times of its last change) is the one it had when the file was right, and
// only if that print had settled, so that a later change is sure to show. Then
// any part is reached without listing anything. Otherwise the directory is
// listed, every entry's own print is compared, and only new or changed entries
// are read. An entry edited in place leaves its directory's print alone; it is
// noticed when that entry is fetched, and everything is then measured again.
//
// Only the holder of the room's lock writes the file, and appends to it what it
// has published. Between his looks at the directory just before and just after
// that, a few dozen microseconds, a change by somebody who does not take the
// lock could pass for his own.
package index

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
)

// Index is what is known of a room's entries. It is one snapshot; it is not for
// use by more than one goroutine.
type Index struct {
	Print disk.Print // of the directory, at the time of the snapshot

	dir  string
	head header

	file  *os.File // rows are there, or
	block []byte   // some rows of file, from row number first on
	first int
	mem   []row // here when file is nil
}

// Open takes a snapshot of the entries in dir. cache names the file in which
// they may be remembered; it is read, not written. inFlight tells whether a writer
// is at work.
func Open(dir, cache string, inFlight func() bool) (*Index, error) {
	x := &Index{dir: dir}
	// A writer publishes first and remembers then, some microseconds later: who
	// comes between is better off waiting for that than listing everything.
	for range 100 {
		if fresh, err := x.look(cache); fresh || err != nil {
			return x, err
		}
		if x.file == nil || x.Print.Quiet(0) && !inFlight() {
			break // nobody is just about to
		}
		time.Sleep(200 * time.Microsecond)
	}
	// A directory that changed within this tick of the clock may change again
	// without showing it, while it is being listed.
	x.Print.Quiet(20 * time.Millisecond)
	if fresh, err := x.look(cache); fresh || err != nil {
		return x, err
	}
	return x, x.relist()
}

// Again takes the snapshot anew, soon after. What was listed a moment ago is not
// compared again, so that this takes no longer than a listing of names.
func (x *Index) Again(cache string, inFlight func() bool) error {
	if x.file != nil {
		y, err := Open(x.dir, cache, inFlight)
		if err == nil {
			x.Close()
			*x = *y
		}
		return err
	}
	y := &Index{dir: x.dir}
	if fresh, err := y.look(cache); fresh || err != nil {
		*x = *y
		return err
	}
	y.Close()
	x.Print = y.Print
	return x.list(x.mem, true)
}

// look notes how the directory is and opens the file. It is fresh when the file
// is right about the directory.
func (x *Index) look(cache string) (fresh bool, err error) {
	x.Close()
	info, err := os.Lstat(x.dir)
	if err != nil {
		return false, err
	}
	x.Print = disk.PrintOf(info)
	x.file, x.head = load(cache)
	return x.file != nil && x.head.settled && x.head.dir == x.Print && x.Print != (disk.Print{}), nil
}

// load opens the file and reads its header; a nil file means that it is of no use.
func load(cache string) (*os.File, header) {
	f, info, err := disk.Open(cache)
	if err != nil {
		return nil, header{}
	}
	b := make([]byte, size)
	if _, err := f.ReadAt(b, 0); err == nil {
		h, err := decodeHeader(b)
		if err == nil && h.rows >= 0 && int64(h.rows) <= info.Size()/size-1 {
			return f, h
		}
	}
	f.Close()
	return nil, header{}
}

// known returns every row there is, in order.
func (x *Index) known() []row {
	if x.file == nil {
		return x.mem
	}
	known := make([]row, 0, x.head.rows)
	const most = 4 << 10 // rows at a time
	for len(known) < x.head.rows {
		b := make([]byte, size*min(most, x.head.rows-len(known)))
		if _, err := x.file.ReadAt(b, int64(size*(1+len(known)))); err != nil {
			break
		}
		for ; len(b) > 0; b = b[size:] {
			r, err := decode(b[:size], len(known)+1)
			if err != nil {
				return known // damaged from here on
			}
			known = append(known, r)
		}
	}
	return known
}

// Close lets go of the file.
func (x *Index) Close() {
	if x.file != nil {
		x.file.Close()
		x.file, x.block = nil, nil
	}
}

// relist lists the directory, while the rows of before are read, and compares them.
func (x *Index) relist() error {
	var known []row
	var reading sync.WaitGroup
	reading.Go(func() { known = x.known() })
	dir, names, err := candidates(x.dir)
	reading.Wait()
	x.Close()
	if err != nil {
		return err
	}
	defer dir.Close()
	return x.measureAll(dir, names, known, false)
}

// list does it for rows that are here.
func (x *Index) list(known []row, trust bool) error {
	dir, names, err := candidates(x.dir)
	if err != nil {
		return err
	}
	defer dir.Close()
	return x.measureAll(dir, names, known, trust)
}

// measureAll measures what has these names, reading only what is not known, or has
// changed since; with trust, nothing that is known has.
func (x *Index) measureAll(dir disk.Dir, names []string, known []row, trust bool) error {
	before := make([]*row, len(names)) // both are sorted
	for i, k := 0, 0; i < len(names); i++ {
		for k < len(known) && known[k].name < names[i] {
			k++
		}
		if k < len(known) && known[k].name == names[i] {
			before[i] = &known[k]
		}
	}
	rows := make([]row, len(names))
	errs := make([]error, len(names))
	parallel(len(names), func(i int) {
		if trust && before[i] != nil {
			rows[i] = *before[i]
			return
		}
		rows[i], errs[i] = measure(dir, names[i], before[i])
	})
	x.mem, x.head = rows[:0], header{dir: x.Print} // a row's place is never behind its old one
	for i, r := range rows {
		switch err := errs[i]; {
		case errors.Is(err, errNoEntry), errors.Is(err, fs.ErrNotExist), errors.Is(err, disk.ErrNotRegular):
			continue // none, or gone, or something else since the listing
		case err != nil:
			return err
		}
		x.add(r)
	}
	return nil
}

// add gives the next row its place.
func (x *Index) add(r row) {
	x.head.rows++
	r.place, r.start = x.head.rows, x.head.lines+1
	x.head.lines += r.lines
	if !r.pass {
		x.head.visible++
	}
	x.mem = append(x.mem, r)
}

// candidates returns the names in a directory that may be those of entries, in
// order, and the directory. Only regular files are; readers skip the rest, whatever it
// is called.
func candidates(path string) (dir disk.Dir, names []string, err error) {
	if dir, err = disk.OpenDir(path); err != nil {
		return dir, nil, err
	}
	names, err = dir.Regular()
	if err != nil {
		dir.Close()
		return dir, nil, err
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasSuffix(name, ".md") || name[0] == '.' })
	return dir, sorted(names), nil
}

// sorted sorts names, a half on each of two processors.
func sorted(names []string) []string {
	if len(names) < 4096 {
		slices.Sort(names)
		return names
	}
	a, b := names[:len(names)/2], names[len(names)/2:]
	var half sync.WaitGroup
	half.Go(func() { slices.Sort(a) })
	slices.Sort(b)
	half.Wait()
	all := make([]string, 0, len(names))
	for len(a) > 0 && len(b) > 0 {
		if a[0] <= b[0] {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return append(append(all, a...), b...)
}

// parallel runs fn for 0 to n-1, a few at a time.
func parallel(n int, fn func(i int)) {
	if n < 64 {
		for i := range n {
			fn(i)
		}
		return
	}
	workers := 2 * runtime.GOMAXPROCS(0)
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			for i := w; i < n; i += workers {
				fn(i)
			}
		})
	}
	wait.Wait()
}

// Len returns the number of entries, passes included: the room's version.
func (x *Index) Len() int { return x.head.rows }

// Visible returns the number of entries that are no passes.
func (x *Index) Visible() int { return x.head.visible }

// Lines returns the number of transcript lines.
func (x *Index) Lines() int { return x.head.lines }

// Current reports whether the directory is still as it was at the snapshot.
func (x *Index) Current() bool { return disk.PrintAt(x.dir) == x.Print }

// blockRows is how many rows are read from the file at a time.
const blockRows = 32

// row returns row i. A row of the file that is damaged gives an error.
func (x *Index) row(i int) (row, error) {
	if x.file == nil {
		return x.mem[i], nil
	}
	if n := len(x.block) / size; i < x.first || i >= x.first+n {
		x.first = i - i%blockRows
		rows := min(blockRows, x.head.rows-x.first)
		x.block = make([]byte, rows*size)
		if _, err := x.file.ReadAt(x.block, int64(size*(1+x.first))); err != nil {
			x.block = nil
			return row{}, err
		}
	}
	at := (i - x.first) * size
	return decode(x.block[at:at+size], i+1)
}

// sound returns row i, measuring everything again if the file turns out damaged.
func (x *Index) sound(i int) (row, error) {
	r, err := x.row(i)
	if err == nil || x.file == nil {
		return r, err
	}
	if err := x.again(); err != nil || i >= len(x.mem) {
		return r, cmp.Or(err, errBad)
	}
	return x.mem[i], nil
}

// again replaces the rows by what the directory holds now, but for entries that
// came after the snapshot.
func (x *Index) again() error {
	n := x.head.rows
	if err := x.relist(); err != nil {
		return err
	}
	kept := x.mem[:min(n, len(x.mem))]
	x.mem, x.head = nil, header{dir: x.Print}
	for _, r := range kept {
		x.add(r)
	}
	return nil
}

// search returns the first i for which the row satisfies ok, Len if none does.
func (x *Index) search(ok func(row) bool) (int, error) {
	var failed error
	i := sort.Search(x.head.rows, func(i int) bool {
		r, err := x.sound(i)
		failed = cmp.Or(failed, err)
		return ok(r)
	})
	return i, failed
}

// Seek returns the place of the first entry whose name is not less than name,
// and whether it is that one.
func (x *Index) Seek(name string) (i int, exact bool, err error) {
	i, err = x.search(func(r row) bool { return r.name >= name })
	if err != nil || i == x.Len() {
		return i, false, err
	}
	r, err := x.sound(i)
	return i, r.name == name, err
}

// SeekLine returns the place of the entry that holds a transcript line, Len when
// the room is shorter.
func (x *Index) SeekLine(line int) (int, error) {
	return x.search(func(r row) bool { return r.start+r.lines > line })
}

// Remembered reports whether the file was right, so that nothing was listed.
func (x *Index) Remembered() bool { return x.file != nil }
