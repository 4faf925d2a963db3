package index

import (
	"crypto/sha256"
	"errors"
	"io/fs"
	"iter"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// MaxFile is the largest entry file that is read, in bytes. Larger ones were
// written by nobody who keeps a limit, and are an error.
const MaxFile = 1 << 30

// errNoEntry says that a name is none of an entry.
var errNoEntry = errors.New("not the name of an entry")

// measure returns the row of an entry: the one from before if its print agrees,
// else from its file.
func measure(dir disk.Dir, name string, before *row) (row, error) {
	if before != nil && dir.Print(name) == before.print {
		return *before, nil
	}
	e, ok := transcript.ParseName(name)
	if !ok {
		return row{}, errNoEntry
	}
	data, print, err := dir.Read(name, MaxFile)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, disk.ErrTooLarge):
		// It counts, and stops only who comes to read it.
		return row{name: name, pass: e.Pass, print: dir.Print(name), unread: err}, nil
	case err != nil:
		return row{}, err
	}
	body, id := transcript.ParseFile(data)
	r := row{name: name, pass: e.Pass, print: print, id: hash(id), sum: sha256.Sum256(data)}
	if !e.Pass {
		r.lines = transcript.LinesOf(body)
	}
	return r, nil
}

// With says how much of an entry is wanted besides what the index knows.
type With int

// What may be wanted.
const (
	Facts With = iota // nothing
	Body              // its body
	File              // its body, and the content of its file
)

// Entries yields the entries from place i up to but not including j. Each is
// compared with its file first, so that one edited by hand since it was measured
// shows as it is now, lines counted anew; one that is gone is left out.
func (x *Index) Entries(i, j int, with With) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		if i >= j {
			return
		}
		end, err := x.sound(j - 1)
		for i < j && err == nil {
			next, more := x.deliver(i, j, with, yield)
			if !more {
				return
			}
			if i = next; i < j {
				i, j, err = x.afresh(i, end.name)
			}
		}
		if err != nil {
			yield(transcript.Entry{}, err)
		}
	}
}

// A batch is some rows in a row, which one worker compares with their files.
type batch struct {
	rows    []row
	entries []transcript.Entry // of those that are as the index says, up to the first that is not
	unread  error              // why the next one cannot be had at all
	done    chan struct{}
}

// A batch has so many rows at most, or files of so many bytes, or one larger file;
// that bounds the bodies in memory.
const (
	batchRows  = 16
	batchBytes = 256 << 10
)

// batch returns the rows from place i on.
func (x *Index) batch(i, j int) (*batch, error) {
	b := &batch{done: make(chan struct{})}
	for bytes := int64(0); i < j && len(b.rows) < batchRows && bytes < batchBytes; i++ {
		r, err := x.sound(i)
		if err != nil {
			return nil, err
		}
		b.rows = append(b.rows, r)
		bytes += r.print.Size
	}
	return b, nil
}

// deliver yields entries from place i on until one turns out not to be what the
// index says, and returns its place, or j. more is false once yield is done.
func (x *Index) deliver(i, j int, with With, yield func(transcript.Entry, error) bool) (next int, more bool) {
	dir, err := disk.OpenDir(x.dir)
	if err != nil {
		yield(transcript.Entry{}, err)
		return i, false
	}
	workers := min(runtime.GOMAXPROCS(0), 1+(j-i)/batchRows)
	jobs := make(chan *batch, 2*workers)
	var wait sync.WaitGroup
	for range workers {
		wait.Go(func() {
			for b := range jobs {
				b.check(dir, with)
			}
		})
	}
	defer func() {
		close(jobs)
		wait.Wait()
		dir.Close()
	}()
	var queue []*batch
	for ahead := i; i < j; queue = queue[1:] {
		for ; len(queue) < 2*workers && ahead < j; ahead += len(queue[len(queue)-1].rows) {
			b, err := x.batch(ahead, j)
			if err != nil {
				yield(transcript.Entry{}, err)
				return i, false
			}
			queue = append(queue, b)
			jobs <- b
		}
		b := queue[0]
		<-b.done
		for _, e := range b.entries {
			if !yield(e, nil) {
				return i, false
			}
			i++
		}
		if b.unread != nil {
			yield(transcript.Entry{}, b.unread)
			return i, false
		}
		if len(b.entries) < len(b.rows) {
			return i, true
		}
	}
	return j, true
}

// check compares rows with their files, and makes entries with what is wanted.
func (b *batch) check(dir disk.Dir, with With) {
	defer close(b.done)
	for i := range b.rows {
		r := &b.rows[i]
		if r.unread != nil {
			code := fault.Corrupt
			if fault.Is(r.unread, fault.Denied) {
				code = fault.Denied
			}
			b.unread = fault.New(code, "entry cannot be read: %w", r.unread)
			return
		}
		e := r.entry()
		if with == Facts {
			if dir.Print(r.name) != r.print {
				return
			}
			b.entries = append(b.entries, e)
			continue
		}
		data, print, err := dir.Read(r.name, MaxFile)
		if err != nil || print != r.print {
			return
		}
		if e.Body, e.ID = transcript.ParseFile(data); with == File {
			e.File = data
		}
		b.entries = append(b.entries, e)
	}
}

// afresh measures everything again, and returns where the entry at place i and
// what follows the one named last are now.
func (x *Index) afresh(i int, last string) (from, to int, err error) {
	r, err := x.sound(i)
	if err == nil {
		err = x.again()
	}
	if err != nil {
		return 0, 0, err
	}
	if from, _, err = x.Seek(r.name); err != nil {
		return 0, 0, err
	}
	to, exact, err := x.Seek(last)
	if exact {
		to++
	}
	return from, to, err
}

// Posted looks an ID up among the last window entries of an author, and returns
// the place of the entry that has it.
func (x *Index) Posted(author, id string, window int) (i int, ok bool, err error) {
	want := hash(id)
	for i = x.Len() - 1; i >= 0 && window > 0; i-- {
		r, err := x.sound(i)
		if err != nil {
			return 0, false, err
		}
		if e, _ := transcript.ParseName(r.name); e.Author != author {
			continue
		}
		if window--; r.id != want {
			continue
		}
		data, err := disk.ReadFile(filepath.Join(x.dir, r.name), MaxFile)
		if err != nil {
			return 0, false, err
		}
		if _, now := transcript.ParseFile(data); now == id {
			return i, true, nil
		}
	}
	return 0, false, nil
}

// At returns the entry at place i without its body.
func (x *Index) At(i int) (transcript.Entry, error) {
	r, err := x.sound(i)
	return r.entry(), err
}
