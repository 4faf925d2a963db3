package name_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
)

var valid = []string{
	"a", "0", "z9", "dan", "0123", "a-b", "a--b", "a.b", "a/b", "a/b/c", "a-/b", "a/-b", "a./b", "a/.b",
	"backlog/wave-2", "v1.2", strings.Repeat("a", 64), strings.Repeat("/a", 33)[1:64] + "a",
}

// What is no name, and how the message says so.
var invalid = []struct{ name, says string }{
	{"", "is empty"},
	{strings.Repeat("a", 65), "is longer than 64 bytes"},
	{strings.Repeat("a", 1000), "is longer than 64 bytes"},
	{"a/", "ends in /"},
	{"a.", "ends in ."},
	{"a-", "ends in -"},
	{"-a", "does not start with a letter or digit"},
	{".a", "does not start with a letter or digit"},
	{"/a", "does not start with a letter or digit"},
	{"-", "does not start with a letter or digit"},
	{"a..b", "contains .."},
	{"a//b", "contains //"},
	{"a_b", "has U+005F at byte 1"},
	{"a__b", "has U+005F at byte 1"},
	{"a b", "has U+0020 at byte 1"},
	{" a", "has U+0020 at byte 0"},
	{"a\n", "has U+000A at byte 1"},
	{"a%2Fb", "has U+0025 at byte 1"},
	{`a\b`, "has U+005C at byte 1"},
	{"a:b", "has U+003A at byte 1"},
	{"a\x00", "has U+0000 at byte 1"},
	{"a\x1b[1m", "has U+001B at byte 1"},
	{"a\x7f", "has U+007F at byte 1"},
	{"a\u009b", "has U+009B at byte 1"},
	{"Dan", "has U+0044 at byte 0"},
	{"d\u0430n", "has U+0430 at byte 1"}, // Cyrillic a
	{"dan\u200b", "has U+200B at byte 3"},
	{"d\u00e4n", "has U+00E4 at byte 1"},
	{"dan\u0660", "has U+0660 at byte 3"}, // a digit to unicode, not to us
	{"a\ufffd", "has U+FFFD at byte 1"},   // valid, for all it stands for
	{"a\xff", "is not valid UTF-8 at byte 1"},
	{"\xc3", "is not valid UTF-8 at byte 0"},
	{"ab\xe2\x82", "is not valid UTF-8 at byte 2"},
}

func TestGrammar(t *testing.T) {
	for _, s := range valid {
		if err := name.Check("room", s); err != nil || !name.Valid(s) {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, c := range invalid {
		err := name.Check("room", c.name)
		if err == nil || name.Valid(c.name) {
			t.Errorf("%q is taken for a name", c.name)
			continue
		}
		f := fault.From(err)
		if f.Code != fault.InvalidName || !strings.HasSuffix(f.Message, " "+c.says) {
			t.Errorf("%q: got %s: %s; want it to say %q", c.name, f.Code, f.Message, c.says)
		}
		if !strings.HasPrefix(f.Message, "invalid room name: ") || !strings.Contains(f.Hint, name.Rule) {
			t.Errorf("%q: got %q, hint %q", c.name, f.Message, f.Hint)
		}
	}
}

func TestMessageIsOneShortLine(t *testing.T) {
	for _, s := range []string{strings.Repeat("x\n", 1<<20), "a\nb", "\x1b]52;c;\a"} {
		m := name.Check("room", s).Error()
		if strings.ContainsAny(m, "\n\x1b\a") || len(m) > 700 {
			t.Errorf("got %d bytes: %.80q", len(m), m)
		}
	}
}

func TestUpperCaseHintsAtTheNameInLowerCase(t *testing.T) {
	for s, hint := range map[string]string{
		"Dan":      `; did you mean "dan"?`,
		"TEAM/One": `; did you mean "team/one"?`,
		"Dan_B":    "", // no name in lower case either
		"d\u0430n": "",
		"a/":       "",
	} {
		if got := fault.From(name.Check("participant", s)).Hint; got != name.Rule+hint {
			t.Errorf("%q: got hint %q", s, got)
		}
	}
}

func TestComponentRoundTrip(t *testing.T) {
	for _, s := range valid {
		c := name.Component(s)
		if back, ok := name.FromComponent(c); !ok || back != s || strings.Contains(c, "/") {
			t.Errorf("%q: got %q, %v by way of %q", s, back, ok, c)
		}
	}
	if got := name.Component("a/b/c"); got != "a%2Fb%2Fc" {
		t.Errorf("got %q", got)
	}
}

func TestOtherComponentsAreNoNames(t *testing.T) {
	for _, c := range []string{
		"", ".", "..", ".git", "a/b", "a%2fb", "a%20b", "a%", "a%2", "%2Fa", "a%2F", "a%2F%2Fb", "a%252Fb", "a%00", "a%61",
		"A", "a_b", "README.md~", "a\xff", strings.Repeat("a", 65), strings.Repeat("a%2F", 32) + "b",
	} {
		if s, ok := name.FromComponent(c); ok {
			t.Errorf("%q is taken for the name %q", c, s)
		}
	}
}

func TestReservedNamesAreWindowsDevices(t *testing.T) {
	for s, want := range map[string]bool{
		"con": true, "prn": true, "aux": true, "nul": true, "com1": true, "com9": true, "lpt1": true, "lpt9": true,
		"con.txt": true, "com1.a.b": true,
		"console": false, "co": false, "com": false, "com0": false, "com10": false, "lpt": false, "coma": false,
		"nul-1": false, "a.con": false, "a/con": false, "dan": false, "1": false, "abc1": false,
	} {
		if got := name.Reserved(s); got != want {
			t.Errorf("%q: got %v", s, got)
		}
	}
}

func ExampleComponent() {
	fmt.Println(name.Component("backlog/wave-2"))
	// Output: backlog%2Fwave-2
}

// grammar is section 2 of the format once more, said by other means.
var grammar = regexp.MustCompile(`^[a-z0-9]([a-z0-9/.-]*[a-z0-9])?$`)

func FuzzParseName(f *testing.F) {
	for _, s := range valid {
		f.Add(s)
		f.Add(name.Component(s))
	}
	for _, c := range invalid {
		f.Add(c.name)
	}
	f.Fuzz(func(t *testing.T, s string) {
		want := len(s) <= 64 && grammar.MatchString(s) && !strings.Contains(s, "..") && !strings.Contains(s, "//")
		err := name.Check("room", s)
		if got := err == nil; got != want || name.Valid(s) != want {
			t.Fatalf("%q: got %v, %v", s, name.Valid(s), err)
		}
		if want {
			if back, ok := name.FromComponent(name.Component(s)); !ok || back != s {
				t.Fatalf("%q comes back as %q, %v", s, back, ok)
			}
		}
		if n, ok := name.FromComponent(s); ok && (!name.Valid(n) || name.Component(n) != s) {
			t.Fatalf("component %q is read as %q, written as %q", s, n, name.Component(n))
		}
	})
}
