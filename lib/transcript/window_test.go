package transcript_test

import (
	"bytes"
	"errors"
	"iter"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/transcript"
)

// room returns entries with these bodies, their line numbers set.
func room(bodies ...string) []transcript.Entry {
	var all []transcript.Entry
	line := 1
	for i, body := range bodies {
		when := noon.Add(time.Minute)
		e, _ := transcript.ParseName(transcript.Name(when.AddDate(0, 0, i), "dan", false))
		e.Body, e.StartLine, e.Lines = body, line, transcript.LinesOf(body)
		e.Bytes, e.SHA256 = int64(len(transcript.File(e))), strings.Repeat("0f", 32)
		line += e.Lines
		all = append(all, e)
	}
	return all
}

// seq yields entries, and then err unless it is nil.
func seq(all []transcript.Entry, err error) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
		if err != nil {
			yield(transcript.Entry{}, err)
		}
	}
}

// writes counts writes, and fails from one on (0: never).
type writes struct {
	text    bytes.Buffer
	n, fail int
}

func (w *writes) Write(p []byte) (int, error) {
	if w.n++; w.n == w.fail {
		return 0, os.ErrClosed
	}
	return w.text.Write(p)
}

func TestWriteTextBeginsAtEveryLine(t *testing.T) {
	all := room("one", "two\nlines", "", "after the empty one")
	var whole writes
	if err := transcript.WriteText(&whole, seq(all, nil), 0); err != nil || whole.n != len(all) {
		t.Fatalf("%v, in %d writes", err, whole.n)
	}
	lines := strings.SplitAfter(strings.TrimSuffix(whole.text.String(), "\n"), "\n")
	if last := all[len(all)-1].EndLine(); len(lines) != last {
		t.Fatalf("%d lines, the last entry ends in %d", len(lines), last)
	}
	for first := -1; first <= len(lines)+1; first++ {
		var w writes
		err := transcript.WriteText(&w, seq(all, nil), first)
		want := strings.Join(lines[min(len(lines), max(0, first-1)):], "") + "\n"
		if first > len(lines) {
			want = ""
		}
		if err != nil || w.text.String() != want {
			t.Errorf("from %d: got %q, %v; want %q", first, w.text.String(), err, want)
		}
	}
}

func TestWriteTextOfLaterEntriesKeepsLineNumbers(t *testing.T) {
	all := room("one", "two")
	var w writes
	if err := transcript.WriteText(&w, seq(all[1:], nil), 5); err != nil || w.text.String() != "two\n\n" {
		t.Errorf("got %q, %v", w.text.String(), err)
	}
}

func TestWriteTextStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	var w writes
	if err := transcript.WriteText(&w, seq(room("one"), broken), 0); err != broken || !strings.Contains(w.text.String(), "one") {
		t.Errorf("got %v after %q", err, w.text.String())
	}
	full := writes{fail: 2}
	if err := transcript.WriteText(&full, seq(room("one", "two", "three"), nil), 0); err != os.ErrClosed || full.n != 2 {
		t.Errorf("got %v after %d writes", err, full.n)
	}
}

func TestWriteTextOfNothingIsANewline(t *testing.T) {
	var w writes
	if err := transcript.WriteText(&w, seq(nil, nil), 0); err != nil || w.text.String() != "\n" {
		t.Errorf("got %q, %v", w.text.String(), err)
	}
}
