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

// Framed returns an entry's text from a transcript line on for a frame in which it
// has to be certain who said what: a line of the body that looks like the head of
// an entry is marked with a bar.
func Framed(e Entry, line int) string {
	head, body := "", From(e, line)
	if line <= e.StartLine {
		head, body, _ = strings.Cut(body, "\n")
		head += "\n"
	}
	if !strings.Contains(body, " @ ") {
		return head + body
	}
	lines := strings.SplitAfter(body, "\n")
	for i, l := range lines {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "[") && strings.Contains(l, " @ ") {
			lines[i] = "| " + lines[i]
		}
	}
	return head + strings.Join(lines, "")
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
