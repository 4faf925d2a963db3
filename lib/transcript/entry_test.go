package transcript_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/transcript"
)

var noon = time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)

func TestNameRoundTrip(t *testing.T) {
	for _, c := range []struct {
		author string
		pass   bool
		want   string
	}{
		{"dan", false, "20260706T131502084Z__dan.md"},
		{"dan", true, "20260706T131502084Z__dan__no-op.md"},
		{"team/dan", false, "20260706T131502084Z__team%2Fdan.md"},
		{"team/dan", true, "20260706T131502084Z__team%2Fdan__no-op.md"},
		{"no-op", false, "20260706T131502084Z__no-op.md"},
		{"no-op", true, "20260706T131502084Z__no-op__no-op.md"},
		{"a.md", false, "20260706T131502084Z__a.md.md"},
		{"0123", false, "20260706T131502084Z__0123.md"},
	} {
		got := transcript.Name(noon, c.author, c.pass)
		if got != c.want {
			t.Errorf("%s, %v: got %q", c.author, c.pass, got)
		}
		e, ok := transcript.ParseName(got)
		if !ok || e.Name != got || e.Author != c.author || e.Pass != c.pass || !e.Time.Equal(noon) {
			t.Errorf("%q is read as %+v, %v", got, e, ok)
		}
		if id := transcript.ID(got); id+".md" != got {
			t.Errorf("%q: got ID %q", got, id)
		}
	}
}

func TestOtherNamesAreNoEntries(t *testing.T) {
	for _, file := range []string{
		"", ".md", "README.md", "config.yaml", ".20260706T131502084Z__dan.md",
		"20260706T131502084Z__dan", "20260706T131502084Z__dan.MD", "20260706T131502084Z__dan.md~",
		"20260706T131502084Z__dan.markdown", "20260706T131502084Z__dan.md.swp",
		"20260706T131502084Z.md", "20260706T131502084Z_dan.md", "20260706T131502084Z__.md", "__dan.md",
		"20260706T131502084Z____no-op.md", "20260706T131502084Z__dan__no-op__no-op.md",
		"20260706T131502084Z__dan__noop.md", "20260706T131502084Z__dan__NO-OP.md", "20260706T131502084Z__dan__x.md",
		"20260706T131502084Z__a__b.md", "20260706T131502084Z___dan.md",
		"20260706T131502084Z__team/dan.md", "20260706T131502084Z__team%2fdan.md", "20260706T131502084Z__d%61n.md",
		"20260706T131502084Z__%2Fdan.md", "20260706T131502084Z__Dan.md", "20260706T131502084Z__dan-.md",
		"20260706T131502084Z__" + strings.Repeat("a", 65) + ".md",
		"20261306T131502084Z__dan.md", "99991231T235959999Z__dan.md", "19691231T235959999Z__dan.md",
		"2026-07-06T13:15:02Z__dan.md", "20260706T131502Z__dan.md",
	} {
		if e, ok := transcript.ParseName(file); ok {
			t.Errorf("%q is read as %+v", file, e)
		}
	}
}

func TestIsPass(t *testing.T) {
	for body, want := range map[string]bool{
		"pass": true, "PASS": true, "Pass": true, "no-op": true, "No-Op": true, "...": true,
		"": false, "pass.": false, " pass": false, "pass\n": false, "no op": false, "noop": false, "..": false, "....": false,
		"\u2026": false, "I pass": false,
	} {
		if got := transcript.IsPass(body); got != want {
			t.Errorf("%q: got %v", body, got)
		}
	}
}

func TestLinesOfCountsTheLinesOfText(t *testing.T) {
	for _, body := range []string{"", "one", "one\ntwo", "one\n\n\ntwo", "a\r\nb", "a\rb", "a\u2028b"} {
		e := transcript.Entry{Author: "dan", Time: noon, Body: body, StartLine: 7, Lines: transcript.LinesOf(body)}
		if got := strings.Count(transcript.Text(e), "\n"); got != e.Lines {
			t.Errorf("%q: %d lines of text, LinesOf says %d", body, got, e.Lines)
		}
		if e.EndLine() != 7+e.Lines-1 {
			t.Errorf("%q: ends in line %d", body, e.EndLine())
		}
	}
	if got := transcript.LinesOf("one line"); got != 3 {
		t.Errorf("an entry of one line takes %d", got)
	}
}

func ExampleText() {
	fmt.Printf("%q\n", transcript.Text(transcript.Entry{
		Author: "dan",
		Time:   time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC),
		Body:   "Which parser?",
	}))
	// Output: "[dan @ 2026-07-06T13:15:02Z]\nWhich parser?\n\n"
}

func ExampleParseName() {
	e, ok := transcript.ParseName("20260706T131502084Z__team%2Fdan__no-op.md")
	fmt.Println(e.Author, e.Time, e.Pass, ok)
	// Output: team/dan 2026-07-06 13:15:02.084 +0000 UTC true true
}

func FuzzParseEntryName(f *testing.F) {
	for _, s := range []string{
		"20260706T131502084Z__dan.md", "20260706T131502084Z__team%2Fdan__no-op.md", "20260706T131502084Z__no-op.md",
		"20260706T131502084Z____no-op.md", "20260706T131502084Z__a%2f.md", "README.md",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, file string) {
		e, ok := transcript.ParseName(file)
		if !ok {
			return
		}
		if back := transcript.Name(e.Time, e.Author, e.Pass); back != file || e.Name != file {
			t.Fatalf("%q is read as %+v, written as %q", file, e, back)
		}
		if strings.ContainsAny(file, "/\x00") {
			t.Fatalf("%q is no file name", file)
		}
	})
}
