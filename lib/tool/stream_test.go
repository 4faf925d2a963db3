package tool

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

func TestInert(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"plain\ttext\n":                      "plain\ttext\n",
		"\u65e5\u672c\u8a9e \U0001f600":      "\u65e5\u672c\u8a9e \U0001f600",
		"e\u0301 \U0001f469\u200d\U0001f680": "e\u0301 \U0001f469\u200d\U0001f680",
		"\ufffd":                             "\ufffd",
		"\x1b[31mred\x1b[0m":                 `\x1b[31mred\x1b[0m`,
		"\x1b]52;c;aGk=\a":                   `\x1b]52;c;aGk=\x07`,
		"a\rb":                               `a\x0db`,
		"a\bb\x00\x7f":                       `a\x08b\x00\x7f`,
		"\u009b31m \u0085":                   `\x9b31m \x85`,
		"a\xffb\xc3":                         `a\xffb\xc3`,
		"\x9b31m":                            `\x9b31m`,
		"\xe2\x82 \u65e5":                    "\\xe2\\x82 \u65e5",
	} {
		if got := Inert(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func TestTextForPeopleIsInertAndRecordsAreNot(t *testing.T) {
	x, out := call()
	if err := x.Printf("%s\n", "a\x1b"); err != nil || out.String() != "a\\x1b\n" {
		t.Errorf("Printf: got %q, %v", out.String(), err)
	}
	out.Reset()
	if err := x.Show(true, record.Participant{Name: "a\x1b", Kind: "human"}); err != nil || out.String() != "a\\x1b (human)\n" {
		t.Errorf("Show: got %q, %v", out.String(), err)
	}
	out.Reset()
	if _, err := io.WriteString(x.TextWriter(), "b\x1b"); err != nil || x.end(nil) != 0 || out.String() != `b\x1b` {
		t.Errorf("TextWriter: got %q, %v", out.String(), err)
	}
	out.Reset()
	if err := x.Show(false, record.Participant{Type: "participant", Name: "<\x1b"}); err != nil ||
		out.String() != `{"type":"participant","root":"","name":"<\u001b","kind":""}`+"\n" {
		t.Errorf("Show: got %q, %v", out.String(), err)
	}
}

// oneWrite fails when a line comes in two writes.
type oneWrite struct{ t *testing.T }

func (w oneWrite) Write(p []byte) (int, error) {
	if len(p) == 0 || p[len(p)-1] != '\n' || strings.Count(string(p), "\n") != 1 {
		w.t.Errorf("not one line: %q", p)
	}
	return len(p), nil
}

func TestEachAnswersEveryRecordWithOne(t *testing.T) {
	x, out := call()
	x.Stdin = strings.NewReader(strings.Join([]string{
		`{"type":"draft","body":"1"}`,
		``,
		`{"type":"other",  "kept":"as it is"}`,
		`not JSON`,
		`{"body":"2"}`,
		`{"type":"draft","body":"refuse"}`,
		`{"type":"draft","body":"busy"}`,
		`{"type":"draft","body":"3"}`,
	}, "\n"))
	err := x.Each("draft", func(line record.Line) (any, error) {
		var d record.Draft
		if err := line.Decode(&d); err != nil {
			return nil, err
		}
		switch d.Body {
		case "refuse":
			return nil, fault.New(fault.Stale, "stale")
		case "busy":
			return nil, fault.New(fault.Busy, "busy")
		}
		return record.Posted{Type: "posted", Entry: d.Body}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	want := []string{
		`"entry":"1"`, `{"type":"other",  "kept":"as it is"}`, `"code":"bad_input"`, `"entry":"2"`, `"code":"stale"`,
		`"code":"busy"`, `"entry":"3"`,
	}
	if len(lines) != len(want) {
		t.Fatalf("got %d lines: %s", len(lines), out.String())
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) {
			t.Errorf("line %d: got %s, want it to have %s", i+1, line, want[i])
		}
	}
	if !strings.Contains(lines[2], "line 4: ") {
		t.Errorf("the bad line is not named: %s", lines[2])
	}
	if got := x.end(nil); got != 100 {
		t.Errorf("status %d is not that of the first failure", got)
	}
}

func TestEachWritesALineAtOnce(t *testing.T) {
	x, _ := call()
	x.out, x.Stdin = oneWrite{t}, strings.NewReader("{}\n{\"type\":\"other\"}\nbad\n")
	if err := x.Each("draft", func(record.Line) (any, error) { return record.Posted{}, nil }); err != nil {
		t.Error(err)
	}
}

func TestEachEndsWhenItsStreamsDo(t *testing.T) {
	broken := errors.New("broken")
	x, _ := call()
	x.Stdin = iotest.ErrReader(broken)
	if err := x.Each("draft", nil); err != broken {
		t.Errorf("got %v", err)
	}
	_, closed := io.Pipe()
	closed.Close()
	x.out, x.Stdin = closed, strings.NewReader("{}\n{\"type\":\"other\"}\n")
	n := 0
	err := x.Each("draft", func(record.Line) (any, error) { n++; return record.Posted{}, nil })
	if !errors.Is(err, io.ErrClosedPipe) || n != 1 {
		t.Errorf("got %v after %d", err, n)
	}
}

func TestRecordsAreAskedForByADashAlone(t *testing.T) {
	for _, c := range []struct {
		operands []string
		want     bool
	}{{[]string{"-"}, true}, {nil, false}, {[]string{"r"}, false}, {[]string{"-", "-"}, false}, {[]string{"--"}, false}} {
		if got := Records(c.operands); got != c.want {
			t.Errorf("%q: got %v", c.operands, got)
		}
	}
}
