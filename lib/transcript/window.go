package transcript

import (
	"io"
	"iter"
	"strings"
)

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
		text := Text(e)
		for line := e.StartLine; line < first && text != ""; line++ {
			_, text, _ = strings.Cut(text, "\n")
		}
		if _, err := io.WriteString(w, text); err != nil {
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
