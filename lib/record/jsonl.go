package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/fault"
)

// MaxLine is the longest record, in bytes without its newline.
const MaxLine = 16 << 20

// Encode returns v as one line of JSON, its newline included. HTML characters are
// not escaped.
func Encode(v any) ([]byte, error) {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return line.Bytes(), err
}

// Line is one record as it was read.
type Line struct {
	Number int    // 1-based
	Type   string // its "type", "" if it has none
	Raw    []byte // the record without its newline
}

// Decode reads the record into v, ignoring keys that v does not know. An error
// has the code bad_input and names the line.
func (l Line) Decode(v any) error {
	if err := Sound(l.Raw); err != nil {
		return l.bad(err)
	}
	return l.decode(v)
}

func (l Line) decode(v any) error {
	err := json.Unmarshal(l.Raw, v)
	var mistyped *json.UnmarshalTypeError
	switch {
	case errors.As(err, &mistyped):
		return fault.New(fault.BadInput, "line %d: wrong kind of value for %q: %s",
			l.Number, mistyped.Field[strings.LastIndex(mistyped.Field, ".")+1:], mistyped.Value)
	case err != nil:
		return l.bad(err)
	}
	return nil
}

func (l Line) bad(err error) error {
	return fault.New(fault.BadInput, "line %d: not a record: %w", l.Number, err)
}

// Reader reads JSON Lines.
type Reader struct {
	in     *bufio.Reader
	number int
}

// NewReader returns a Reader of records from in.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, 64<<10)}
}

// Next returns the next record, skipping blank lines, or io.EOF. A line that is
// no JSON object, or is longer than MaxLine, is an error with the code bad_input
// or too_large that names the line; reading can go on after it. Any other error
// is the input's own.
func (r *Reader) Next() (Line, error) { return r.next(json.Valid) }

// Peek is Next for who decodes every record: one that says its type first is not
// looked at any further, so that it may turn out to be no JSON then.
func (r *Reader) Peek() (Line, error) { return r.next(func([]byte) bool { return true }) }

func (r *Reader) next(good func([]byte) bool) (Line, error) {
	for {
		raw, err := r.line()
		line := Line{Number: r.number, Raw: bytes.TrimSpace(raw)}
		switch {
		case err != nil:
			return line, err
		case len(line.Raw) == 0:
			continue
		case !utf8.Valid(line.Raw):
			return line, line.bad(errNotUTF8)
		}
		if line.Type = leading(line.Raw); line.Type != "" && good(line.Raw) {
			return line, nil
		}
		var head struct {
			Type string `json:"type"`
		}
		if line.Raw[0] != '{' {
			return line, line.bad(errors.New("no JSON object"))
		}
		err = line.decode(&head)
		line.Type = head.Type
		return line, err
	}
}

// leading returns the type of a record that says it first and nowhere else, as all of
// ours do, or "". It is there for speed, and does not look whether the rest is JSON.
func leading(raw []byte) string {
	const key = `"type"`
	rest, ours := bytes.CutPrefix(raw, []byte(`{`+key+`:"`))
	name, _, ended := bytes.Cut(rest, []byte{'"'})
	if !ours || !ended || bytes.IndexByte(name, '\\') >= 0 || bytes.Contains(rest, []byte(`\u`)) {
		return ""
	}
	// Which of two keys counts is for the decoder to say, and it takes small letters and capitals for the same.
	for i := bytes.IndexByte(rest, '"'); i >= 0 && i+len(key) <= len(rest); {
		if bytes.EqualFold(rest[i:i+len(key)], []byte(key)) {
			return ""
		}
		next := bytes.IndexByte(rest[i+1:], '"')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return string(name)
}

// line reads one line of any length but keeps little more than MaxLine of it.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	long := false
	for {
		part, err := r.in.ReadSlice('\n')
		if long = long || len(line)+len(part) > MaxLine+len("\r\n"); !long {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if errors.Is(err, io.EOF) && (len(line) > 0 || long) {
			err = nil
		}
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if r.number++; err == nil && (long || len(line) > MaxLine) {
			err = fault.New(fault.TooLarge, "line %d: record is longer than 16 MiB", r.number)
		}
		return line, err
	}
}

var (
	errNotUTF8 = errors.New("not valid UTF-8")
	errHalved  = errors.New("half of a surrogate pair is no character")
)

// Sound says what in JSON text is no character, which decoding would put another in
// place of without a word: bytes that are not UTF-8, or half of a surrogate pair, as
// \ud800 alone is. nil says that there is nothing of the kind.
func Sound(raw []byte) error {
	switch {
	case !utf8.Valid(raw):
		return errNotUTF8
	case halved(raw):
		return errHalved
	}
	return nil
}

func halved(raw []byte) bool {
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 == len(raw) {
			return false
		}
		if raw[i+1] != 'u' {
			raw = raw[i+2:] // an escaped backslash is no beginning of another
			continue
		}
		high := unit(raw[i:])
		raw = raw[i+2:]
		switch {
		case !utf16.IsSurrogate(high):
		case utf16.DecodeRune(high, unit(raw[min(4, len(raw)):])) == unicode.ReplacementChar:
			return true
		default:
			raw = raw[len(`0000\u`):]
		}
	}
}

// unit returns what an escape such as \u0041 stands for, -1 where none begins.
func unit(raw []byte) rune {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}
