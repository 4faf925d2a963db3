package transcript

import (
	"io"
	"iter"
	"strings"
)

// WriteText writes the transcript text of entries, one in a write, from the
// transcript line first on (1 or less: all of it), the newline at the very end
// included.
func WriteText(w io.Writer, entries iter.Seq2[Entry, error], first int) error {
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
	}
	return nil
}
