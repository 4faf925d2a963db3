package transcript

import (
	"io"
	"iter"
	"strings"
)

// From returns an entry's text from a transcript line on, "" when it ends before.
func From(e Entry, line int) string {
	text := Text(e)
	for at := e.StartLine; at < line && text != ""; at++ {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text
}

// WriteText writes the transcript text of entries, one in a write, from the
// transcript line first on (1 or less: all of it). The text of a window is its
// lines parted by newlines, and one more newline ends what is written, also when
// the window is empty.
func WriteText(w io.Writer, entries iter.Seq2[Entry, error], first int) error {
	empty := true
	for e, err := range entries {
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, From(e, first)); err != nil {
			return err
		}
		empty = false
	}
	if empty {
		_, err := io.WriteString(w, "\n")
		return err
	}
	return nil
}
