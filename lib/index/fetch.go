package index

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"iter"
	"path/filepath"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// MaxFile is the largest entry file that is read, in bytes. Larger ones were
// written by nobody who keeps a limit, and are an error.
const MaxFile = 1 << 30

func path(dir, name string) string { return dir + string(filepath.Separator) + name }

// fetch reads one entry's file, body and all.
func fetch(dir string, e transcript.Entry) (row, error) {
	f, info, err := disk.Open(path(dir, e.Name))
	if err != nil {
		return row{}, err
	}
	defer f.Close()
	if info.Size() > MaxFile {
		return row{}, &fs.PathError{Op: "read", Path: f.Name(), Err: disk.ErrTooLarge}
	}
	data, err := disk.ReadOpen(f, info)
	if err != nil {
		return row{}, err
	}
	sum := sha256.Sum256(data)
	r := row{Entry: e, print: disk.PrintOf(info)}
	r.SHA256 = hex.EncodeToString(sum[:])
	r.Bytes, r.File = int64(len(data)), data
	r.Body, r.ID = transcript.ParseFile(data)
	r.id = hash(r.ID)
	if !e.Pass {
		r.Lines = transcript.LinesOf(r.Body)
	}
	return r, nil
}

// ahead is how many entries are fetched before the one that is waited for, which
// keeps every processor busy in a long read and bounds the bodies in memory.
const ahead = 16

// With says how much of an entry is wanted besides what the index knows.
type With int

// What may be wanted.
const (
	Facts With = iota // nothing
	Body              // its body
	File              // its body, and the content of its file
)

// Entries yields the entries from place i up to but not including j. Each is compared with its file first, so that one edited by
// hand since it was measured shows as it is now, lines counted anew; one that is
// gone is left out.
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
				i, j, err = x.afresh(i, end.Name)
			}
		}
		if err != nil {
			yield(transcript.Entry{}, err)
		}
	}
}

// deliver yields entries from place i on until one turns out not to be what the
// index says, and returns its place, or j. more is false once yield is done.
func (x *Index) deliver(i, j int, with With, yield func(transcript.Entry, error) bool) (next int, more bool) {
	var coming [ahead]chan row
	started := i
	for ; i < j; i++ {
		for ; started < min(j, i+ahead); started++ {
			r, err := x.sound(started)
			if err != nil {
				yield(transcript.Entry{}, err)
				return i, false
			}
			coming[started%ahead] = x.check(r, with)
		}
		r, ok := <-coming[i%ahead]
		if !ok {
			return i, true
		}
		if !yield(r.Entry, nil) {
			return i, false
		}
	}
	return j, true
}

// check compares a row with its file, and sends it on with what is wanted. The
// channel is closed without it when they differ.
func (x *Index) check(r row, with With) chan row {
	out := make(chan row, 1)
	go func() {
		defer close(out)
		now := row{print: disk.PrintAt(path(x.dir, r.Name))}
		if with != Facts {
			now, _ = fetch(x.dir, r.Entry)
		}
		if with != File {
			now.File = nil
		}
		if now.print == r.print {
			r.Body, r.ID, r.File = now.Body, now.ID, now.File
			out <- r
		}
	}()
	return out
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
	if from, _, err = x.Seek(r.Name); err != nil {
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
		if r.Author != author {
			continue
		}
		if window--; r.id != want {
			continue
		}
		if now, err := fetch(x.dir, r.Entry); err != nil || now.ID == id {
			return i, err == nil, err
		}
	}
	return 0, false, nil
}

// At returns the entry at place i without its body.
func (x *Index) At(i int) (transcript.Entry, error) {
	r, err := x.sound(i)
	return r.Entry, err
}
