package transcript_test

import (
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/transcript"
)

func TestFileIsWrittenAsTheFormatSays(t *testing.T) {
	e := transcript.Entry{Author: "dan", Time: noon, Body: "Which parser?\n\nTwo are left."}
	const want = "---\nauthor: dan\ntimestamp: 2026-07-06T13:15:02.084Z\n---\n\nWhich parser?\n\nTwo are left.\n"
	if got := string(transcript.File(e)); got != want {
		t.Errorf("got %q", got)
	}
	e.ID, e.Body = `a "b" \c: #d`, "x"
	const withID = "---\nauthor: dan\ntimestamp: 2026-07-06T13:15:02.084Z\n" + `id: "a \"b\" \\c: #d"` + "\n---\n\nx\n"
	if got := string(transcript.File(e)); got != withID {
		t.Errorf("got %q", got)
	}
}

// YAML would read these as numbers, dates or words of its own.
func TestOddAuthorsAreQuotedInFrontMatter(t *testing.T) {
	for _, author := range []string{
		"no", "yes", "on", "off", "y", "n", "true", "false", "null",
		"0", "7", "0123", "1.5", "1e3", "1.5e3", "12e-3", "0x1f", "0xcafe", "0b11", "0o17", "2026-01-01", "2026-07-06",
	} {
		e := transcript.Entry{Author: author, Time: noon, Body: "x"}
		if got := string(transcript.File(e)); !strings.Contains(got, "\nauthor: \""+author+"\"\n") {
			t.Errorf("%s is not quoted: %q", author, got)
		}
	}
	for _, author := range []string{"dan", "team/dan", "no-op", "nobody", "v1.2", "gpt-4.1", "null-1"} {
		e := transcript.Entry{Author: author, Time: noon, Body: "x"}
		if got := string(transcript.File(e)); !strings.Contains(got, "\nauthor: "+author+"\n") {
			t.Errorf("%s needs no quotes: %q", author, got)
		}
	}
}

func TestFileRoundTrip(t *testing.T) {
	for _, body := range []string{
		"x", "---", "---\n---", "a\n---\nb", "id: no", "---\nid: forged\n---\nb", "a\r\nb", "\u00e4 \u65e5\u672c \U0001f600", "a\x1b[1m",
		"\ufeffx", "[ann @ 2026-07-06T13:15:02Z]\nforged", "a\x00b", strings.Repeat("long ", 1<<16) + "end",
	} {
		for _, id := range []string{
			"", "k1", "no", "0123", "null", `"`, `'`, `'a'`, `"a"`, `\`, "a b", "a # b", "a: b", "[a]", "{a}", "<&>", " ", "---", "~",
		} {
			e := transcript.Entry{Author: "dan", Time: noon, ID: id, Body: body}
			gotBody, gotID := transcript.ParseFile(transcript.File(e))
			if gotBody != body || gotID != id {
				t.Errorf("body %.20q, id %q: got %.20q, %q", body, id, gotBody, gotID)
			}
		}
	}
}

func TestParseFile(t *testing.T) {
	for _, c := range []struct{ what, file, body, id string }{
		{"plain", "---\nauthor: dan\n---\n\nhello\n", "hello", ""},
		{"id plain", "---\nid: k1\n---\nx\n", "x", "k1"},
		{"id in double quotes", "---\nid: \"k \\\" 1\"\n---\nx\n", "x", `k " 1`},
		{"id in single quotes", "---\nid: 'it''s'\n---\nx\n", "x", "it's"},
		{"id with CRLF", "---\r\nid: k1\r\n---\r\nx\r\n", "x", "k1"},
		{"id of a nested key is another", "---\nmore:\n  id: k1\n---\nx\n", "x", ""},
		{"id in the body is none", "---\nauthor: a\n---\nid: k1\n", "id: k1", ""},
		{"id without front matter is none", "id: k1\n", "id: k1", ""},
		{"other keys", "---\nauthor: a\nnote: b\ntimestamp: 2026-07-06T13:15:02.1Z\n---\n\nx\n", "x", ""},
		{"BOM", "\ufeff---\nauthor: a\n---\n\nx\n", "x", ""},
		{"CRLF", "---\r\nauthor: a\r\n---\r\n\r\nx\r\ny\r\n", "x\r\ny", ""},
		{"BOM and CRLF", "\ufeff---\r\nauthor: a\r\n---\r\nx", "x", ""},
		{"LF head, CRLF closing line", "---\nauthor: a\n---\r\nx", "x", ""},
		{"no front matter", "just text\n", "just text", ""},
		{"no closing line", "---\nauthor: a\nbody\n", "---\nauthor: a\nbody", ""},
		{"only the opening line", "---\n", "---", ""},
		{"only the opening line, no newline", "---", "---", ""},
		{"opening line not first", "\n---\na: b\n---\nx\n", "---\na: b\n---\nx", ""},
		{"opening line indented", " ---\na: b\n---\nx\n", "---\na: b\n---\nx", ""},
		{"opening line with a blank", "--- \na: b\n---\nx\n", "--- \na: b\n---\nx", ""},
		{"opening line of four", "----\na: b\n---\nx\n", "----\na: b\n---\nx", ""},
		{"closing line must be exactly that", "---\na: b\n--- \n----\n ---\n---\nx\n", "x", ""},
		{"first closing line counts", "---\na: b\n---\nx\n---\ny\n", "x\n---\ny", ""},
		{"closing line at the end without newline", "---\na: b\n---", "", ""},
		{"empty front matter", "---\n---\nx\n", "x", ""},
		{"empty body", "---\nauthor: a\n---\n\n\n", "", ""},
		{"empty file", "", "", ""},
		{"white space only", " \n\t\r\n", "", ""},
		{"Unicode white space is cut", "---\n---\n\u00a0\u2003\u0085x y\u3000\u2028\n", "x y", ""},
		{"inner white space stays", "---\n---\n\n  a\n\n  b  \n\n", "a\n\n  b", ""},
		{"invalid UTF-8 is shown as it is", "---\n---\na\xffb\n", "a\xffb", ""},
		{"conflict marks", "<<<<<<< HEAD\n---\na: b\n---\nx\n", "<<<<<<< HEAD\n---\na: b\n---\nx", ""},
	} {
		body, id := transcript.ParseFile([]byte(c.file))
		if body != c.body || id != c.id {
			t.Errorf("%s: got %q, id %q; want %q, %q", c.what, body, id, c.body, c.id)
		}
	}
}

func FuzzParseFrontMatter(f *testing.F) {
	for _, s := range []string{
		"---\nauthor: dan\nid: \"k\"\n---\n\nhello\n", "\ufeff---\r\nid: 'k'\r\n---\r\nx", "---\n---", "---", "", "---\nid:\n---\n",
		"x\n---\n",
	} {
		f.Add([]byte(s), "k1")
	}
	f.Fuzz(func(t *testing.T, data []byte, id string) {
		body, _ := transcript.ParseFile(data)
		if body != strings.TrimSpace(body) || !strings.Contains(string(data), body) {
			t.Fatalf("%q: got body %q", data, body)
		}
		for _, c := range id {
			if c < ' ' || c > '~' {
				return // no id that may be given
			}
		}
		e := transcript.Entry{Author: "dan", Time: noon, ID: id, Body: body}
		again, gotID := transcript.ParseFile(transcript.File(e))
		if again != body || gotID != id {
			t.Fatalf("body %q, id %q: come back as %q, %q", body, id, again, gotID)
		}
	})
}
