package record_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// all reads to the end and says each line as "number type", or "number code".
func all(t *testing.T, in io.Reader) (said []string) {
	t.Helper()
	r := record.NewReader(in)
	for {
		line, err := r.Next()
		switch {
		case errors.Is(err, io.EOF):
			return said
		case err != nil:
			said = append(said, fmt.Sprint(line.Number, " ", fault.From(err).Code))
			if !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", line.Number)) {
				t.Errorf("does not name line %d: %v", line.Number, err)
			}
		default:
			said = append(said, fmt.Sprint(line.Number, " ", line.Type))
		}
	}
}

func TestReaderLines(t *testing.T) {
	for _, c := range []struct {
		what, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"two", `{"type":"a"}` + "\n" + `{"type":"b"}` + "\n", []string{"1 a", "2 b"}},
		{"no final newline", `{"type":"a"}` + "\n" + `{"type":"b"}`, []string{"1 a", "2 b"}},
		{"blank lines are skipped and counted", "\n \t\n" + `{"type":"a"}` + "\n\n" + `{"type":"b"}` + "\n\n", []string{"3 a", "5 b"}},
		{"CRLF", `{"type":"a"}` + "\r\n\r\n" + `{"type":"b"}` + "\r\n", []string{"1 a", "3 b"}},
		{"blanks around", "  " + `{"type":"a"}` + " \n", []string{"1 a"}},
		{"no type", `{"thread":"r"}`, []string{"1 "}},
		{"type anywhere", `{"thread":"r","type":"a"}`, []string{"1 a"}},
		{"empty object", `{}`, []string{"1 "}},
		{"not JSON", "hello\n" + `{"type":"b"}`, []string{"1 bad_input", "2 b"}},
		{"cut off", `{"type":` + "\n" + `{"type":"b"}`, []string{"1 bad_input", "2 b"}},
		{"two in a line", `{"type":"a"}{"type":"b"}` + "\n" + `{"type":"c"}`, []string{"1 bad_input", "2 c"}},
		{"an array", `[{"type":"a"}]`, []string{"1 bad_input"}},
		{"null, a string, a number, a truth", "null\n\"a\"\n1\ntrue", []string{"1 bad_input", "2 bad_input", "3 bad_input", "4 bad_input"}},
		{"type is no string", `{"type":1}` + "\n" + `{"type":"b"}`, []string{"1 bad_input", "2 b"}},
		{"invalid UTF-8", `{"type":"a` + "\xff" + `"}` + "\n" + `{"type":"b"}`, []string{"1 bad_input", "2 b"}},
		{"a NUL", `{"type":"a"}` + "\x00\n" + `{"type":"b"}`, []string{"1 bad_input", "2 b"}},
		{"a BOM", "\ufeff" + `{"type":"a"}` + "\n", []string{"1 bad_input"}},
	} {
		if got := all(t, strings.NewReader(c.in)); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", c.what, got, c.want)
		}
		if got := all(t, iotest.OneByteReader(strings.NewReader(c.in))); !slices.Equal(got, c.want) {
			t.Errorf("%s, byte by byte: got %q, want %q", c.what, got, c.want)
		}
	}
}

// padded returns a record of exactly so many bytes.
func padded(size int) string {
	const head, tail = `{"type":"a","x":"`, `"}`
	return head + strings.Repeat("x", size-len(head)-len(tail)) + tail
}

func TestReaderLimit(t *testing.T) {
	if record.MaxLine != 16777216 {
		t.Fatalf("the limit is %d", record.MaxLine)
	}
	got := all(t, strings.NewReader(padded(record.MaxLine)+"\n"+padded(record.MaxLine+1)+"\n"+`{"type":"b"}`+"\n"))
	if want := []string{"1 a", "2 too_large", "3 b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for in, want := range map[string]string{
		padded(record.MaxLine):          "1 a",
		padded(record.MaxLine + 1):      "1 too_large",
		padded(record.MaxLine) + "\r\n": "1 a",
	} {
		if got := all(t, strings.NewReader(in)); !slices.Equal(got, []string{want}) {
			t.Errorf("%d bytes, the last of them %q: got %q, want %s", len(in), in[len(in)-1], got, want)
		}
	}
}

func TestRawIsTheRecordAsItWasWritten(t *testing.T) {
	const in = `{"type":"a",  "b":1.50,"a":"\u003c"}`
	line, err := record.NewReader(strings.NewReader(" " + in + "\r\n")).Next()
	if err != nil || string(line.Raw) != in {
		t.Errorf("got %q, %v", line.Raw, err)
	}
}

func TestLinesAreReadWhenTheyArrive(t *testing.T) {
	out, in := io.Pipe()
	defer out.Close()
	go in.Write([]byte(`{"type":"a"}` + "\n")) // and nothing after it
	if line, err := record.NewReader(out).Next(); err != nil || line.Type != "a" {
		t.Errorf("got %+v, %v", line, err)
	}
}

// TestPeek: what says its type first and once is left to who decodes it; the rest is as with Next.
func TestPeek(t *testing.T) {
	for _, c := range []struct{ in, peeked, next string }{
		{`{"type":"a","x":1}`, "a", "a"},
		{`{"type":"a","x":}`, "a", "bad_input"},
		{`{"x":1,"type":"a"}`, "a", "a"},
		{`{"x":,"type":"a"}`, "bad_input", "bad_input"},
		{`{"type":"a","type":"b"}`, "b", "b"},
		{`{"type":"a","x":{"type":"b"}}`, "a", "a"},
		{`{"type":"\u0061"}`, "a", "a"},
		{`{"type":"a","Type":"b"}`, "b", "b"},
		{`{"type":"a","TYPE" : "b"}`, "b", "b"},
		{`{"type":"a","\u0074ype":"b"}`, "b", "b"},
		{`{"type":"a","x":"\"type\""}`, "a", "a"},
		{`{"type":""}`, "", ""},
		{`{"type":1}`, "bad_input", "bad_input"},
		{`{"type":"a`, "bad_input", "bad_input"},
		{"{\"type\":\"a\",\"x\":\"\xff\"}", "bad_input", "bad_input"},
	} {
		said := func(line record.Line, err error) string {
			if err != nil {
				return string(fault.From(err).Code)
			}
			return line.Type
		}
		if got := said(record.NewReader(strings.NewReader(c.in)).Peek()); got != c.peeked {
			t.Errorf("%s: peeked %q", c.in, got)
		}
		if got := said(record.NewReader(strings.NewReader(c.in)).Next()); got != c.next {
			t.Errorf("%s: next %q", c.in, got)
		}
	}
}

func TestAnErrorOfTheInputIsItsOwn(t *testing.T) {
	broken := errors.New("broken")
	r := record.NewReader(io.MultiReader(strings.NewReader(`{"type":"a"}`+"\n"+`{"ty`), iotest.ErrReader(broken)))
	if line, err := r.Next(); err != nil || line.Type != "a" {
		t.Fatalf("got %+v, %v", line, err)
	}
	if _, err := r.Next(); err != broken {
		t.Errorf("got %v", err)
	}
}

func TestEncode(t *testing.T) {
	got, err := record.Encode(map[string]string{"b": "<a href='x'>&\n\u2028\u65e5\x1b"})
	if want := `{"b":"<a href='x'>&\n\u2028` + "\u65e5" + `\u001b"}` + "\n"; err != nil || string(got) != want {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	if _, err := record.Encode(make(chan int)); err == nil {
		t.Error("a channel is no record")
	}
}

func TestSound(t *testing.T) {
	for text, want := range map[string]bool{
		`"plain"`: true, `"\ud83d\ude00"`: true, `"\uD83D\uDE00\ud83d\ude00x"`: true, `"\\ud800"`: true, `"\\\\ud800"`: true,
		`"\u00e4\ufffd"`: true, `"\"`: true, `"\u12"`: true, "\\": true, "": true,
		`"\ud800"`: false, `"x\udc00"`: false, `"\ud800x\udc00"`: false, `"\ud800\ud800\udc00"`: false, `"\udc00\ud800"`: false,
		`"\\\ud800"`: false, `"\ud800\u0041"`: false, `{"a":{"b":"\uDFFF"}}`: false, "\"\xff\"": false,
	} {
		err := record.Sound([]byte(text))
		if (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
		// It is what decoding would replace.
		var s string
		if json.Unmarshal([]byte(text), &s) == nil && strings.ContainsRune(s, utf8.RuneError) != (err != nil) && !strings.Contains(text, `\ufffd`) {
			t.Errorf("%s decodes to %q", text, s)
		}
	}
}

func TestDecodeNamesTheLine(t *testing.T) {
	line := record.Line{Number: 7, Raw: []byte(`{"as":5}`)}
	if err := line.Decode(&record.Draft{}); !fault.Is(err, fault.BadInput) || !strings.HasPrefix(err.Error(), "line 7: ") {
		t.Errorf("got %v", err)
	}
	line.Raw = []byte(`{"as":"dan","new_key":[1]}`)
	var d record.Draft
	if err := line.Decode(&d); err != nil || d.As != "dan" {
		t.Errorf("got %+v, %v", d, err)
	}
}

func FuzzParseDraft(f *testing.F) {
	for _, s := range []string{
		`{"type":"draft","root":"/r","thread":"t","as":"dan","body":"x","expect":117,"id":"k","to":"ann"}`,
		`{"thread":"t","as":"dan","body":"x"}`, `{"expect":null}`, `{"expect":0}`, `{"expect":1e2}`, `{"expect":-1}`, `{"body":1}`,
		"\n\n{}\r\n[]\n", `{"body":"\u0000\ud800<"}`, "{\xff}", "{}{}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := record.NewReader(bytes.NewReader(data))
		last := 0
		for {
			line, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if line.Number <= last || line.Number > bytes.Count(data, []byte("\n"))+1 {
				t.Fatalf("line %d after %d of %q", line.Number, last, data)
			}
			if last = line.Number; err != nil {
				if !fault.Is(err, fault.BadInput) {
					t.Fatalf("%q: %v", data, err)
				}
				continue
			}
			if !bytes.Contains(data, line.Raw) || line.Raw[0] != '{' || bytes.ContainsAny(line.Raw, "\n") {
				t.Fatalf("%q: got %q", data, line.Raw)
			}
			var d record.Draft
			if line.Decode(&d) != nil {
				continue
			}
			again, err := record.Encode(d)
			if err != nil {
				t.Fatal(err)
			}
			back, err := record.NewReader(bytes.NewReader(again)).Next()
			var e record.Draft
			if err == nil {
				err = back.Decode(&e)
			}
			if d.Expect != nil && e.Expect != nil && *d.Expect == *e.Expect {
				d.Expect = e.Expect
			}
			if err != nil || d != e {
				t.Fatalf("%q: %+v comes back as %+v, %v", line.Raw, d, e, err)
			}
		}
	})
}
