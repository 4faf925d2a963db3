package tool

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// Print writes one record, in one write.
func (c *Call) Print(v any) error {
	if raw, ok := v.(json.RawMessage); ok {
		return c.write(append(raw, '\n')) // a record that goes on as it came
	}
	line, err := record.Encode(v)
	if err != nil {
		return err
	}
	return c.write(line)
}

// write writes to standard output, behind what TextWriter holds back.
func (c *Call) write(data []byte) error {
	if c.text != nil {
		if err := c.text.Flush(); err != nil {
			return unprinted(err)
		}
	}
	_, err := c.out.Write(data)
	return unprinted(err)
}

// unprinted is the error of a record that could not be printed. Programs print what they
// have done.
func unprinted(err error) error {
	if err == nil {
		return nil
	}
	return fault.From(err).WithHint("only the output is missing: see what is there before you run it again")
}

// Aside says something about what was printed: as a record behind it, or to
// people on standard error.
func (c *Call) Aside(text bool, v interface{ Text() string }) error {
	if !text {
		return c.Print(v)
	}
	c.Notice("%s", v.Text())
	return nil
}

// Show prints a record as such, or the line it says to people.
func (c *Call) Show(text bool, v interface{ Text() string }) error {
	if text {
		return c.Printf("%s\n", v.Text())
	}
	return c.Print(v)
}

// PrintAll prints the record of each of a sequence.
func PrintAll[T any](c *Call, all iter.Seq2[T, error], recordOf func(T) any) error {
	for v, err := range all {
		if err != nil {
			return err
		}
		if err := c.Print(recordOf(v)); err != nil {
			return err
		}
	}
	return nil
}

// ShowAll shows records one after the other.
func ShowAll[T interface{ Text() string }](c *Call, text bool, all []T) error {
	for _, v := range all {
		if err := c.Show(text, v); err != nil {
			return err
		}
	}
	return nil
}

// Printf writes text for people, made inert.
func (c *Call) Printf(format string, args ...any) error {
	return c.write([]byte(Inert(fmt.Sprintf(format, args...))))
}

// Writer returns standard output for a document that is written in pieces.
func (c *Call) Writer() io.Writer { return c.out }

// TextWriter returns standard output for a long text for people. Each piece
// written to it must be whole characters, and is made inert. The text is held
// back in a buffer until the program ends.
func (c *Call) TextWriter() io.Writer {
	if c.text == nil {
		c.text = bufio.NewWriterSize(c.out, 64<<10)
	}
	return inertWriter{c.text}
}

type inertWriter struct{ out *bufio.Writer }

func (w inertWriter) Write(p []byte) (int, error) {
	if _, err := w.out.WriteString(Inert(string(p))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Inert shows control characters other than newline and tab, and bytes that are
// no UTF-8, as \x escapes, so that text from elsewhere cannot act on a terminal.
func Inert(s string) string {
	if utf8.ValidString(s) && strings.IndexFunc(s, active) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case active(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func active(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// Each reads records from standard input and prints exactly one for each: what
// do returns for those of the wanted type, the record itself for others, and an
// error record where either fails; nil from do says that it has printed what
// there was. The stream goes on after a failure; the exit
// status is that of the first.
func (c *Call) Each(wanted string, do func(record.Line) (any, error)) error {
	in := record.NewReader(c.Stdin)
	for {
		line, err := in.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		var failed *fault.Error
		if err != nil && !errors.As(err, &failed) {
			return err // standard input itself
		}
		var result any
		switch {
		case err != nil:
		case line.Type != wanted && line.Type != "":
			if err := c.write(append(line.Raw, '\n')); err != nil {
				return err
			}
			continue
		default:
			result, err = do(line)
		}
		if err != nil {
			result = record.ErrorOf(c.note(err))
		}
		if result == nil {
			continue
		}
		if err := c.Print(result); err != nil {
			return err
		}
	}
}

// Records reports whether the operands are the one that means records from
// standard input.
func Records(operands []string) bool { return len(operands) == 1 && operands[0] == "-" }
