package files

import (
	"iter"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/index"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// locate returns the places of the entries a part names: from the first up to but
// not including the second.
func locate(x *index.Index, p store.Part) (from, to int, err error) {
	to = x.Len()
	if p.From != "" {
		from, err = find(x, p.From, p.Passes)
	}
	if p.Through != "" && err == nil {
		to, err = find(x, p.Through, p.Passes)
		to++
	}
	if err == nil && from >= to && p.From != "" && p.Through != "" {
		err = fault.New(fault.BadInput, "reversed range: %q comes after %q", p.From, p.Through)
	}
	if p.After != "" && err == nil {
		var exact bool
		if from, exact, err = x.Seek(p.After); exact {
			from++
		}
	}
	line := p.FromLine
	if p.LastLines > 0 {
		line = max(line, x.Lines()-p.LastLines+1)
	}
	if line > 1 && err == nil {
		var i int
		i, err = x.SeekLine(line)
		from = max(from, i)
	}
	if p.Last > 0 && err == nil {
		from, err = back(x, from, to, p)
	}
	return from, to, err
}

// find returns the place of an entry that a reader is shown.
func find(x *index.Index, name string, passes bool) (int, error) {
	i, exact, err := x.Seek(name)
	if err != nil {
		return 0, err
	}
	if e, ok := transcript.ParseName(name); !exact || ok && e.Pass && !passes {
		return 0, fault.New(fault.UnknownEntry, "no such entry: %q", name)
	}
	return i, nil
}

// back returns where the last p.Last entries before place to begin.
func back(x *index.Index, from, to int, p store.Part) (int, error) {
	left := p.Last
	for i := to; i > from; i-- {
		e, err := x.At(i - 1)
		if err != nil {
			return i, err
		}
		if e.Pass && !p.Passes {
			continue
		}
		if left--; left == 0 {
			return i - 1, nil
		}
	}
	return from, nil
}

// visible leaves passes out.
func visible(all iter.Seq2[transcript.Entry, error]) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		for e, err := range all {
			if (err != nil || !e.Pass) && !yield(e, err) {
				return
			}
		}
	}
}
