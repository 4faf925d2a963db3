package yamldoc

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

func parse(t testing.TB, text string) *Doc {
	t.Helper()
	d, err := Parse("config.yaml", []byte(text))
	if err != nil {
		t.Fatalf("parse %q: %v", text, err)
	}
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// check compares a document with a text, line by line in the message.
func check(t testing.TB, d *Doc, want string) {
	t.Helper()
	if got := string(d.Bytes()); got != want {
		t.Fatalf("got:\n%s\nwant:\n%s\n(%q)", got, want, got)
	}
}

// strange are strings that a YAML reader may take for something else (T31).
var strange = []string{
	"no", "null", "1e3", "0123", "2026-01-01", "2026-13-45", "a: b # c", "yes", "on", "y", "N",
	"true", "~", "", " ", "<<", "=", "-", "- a", "?", "? a", ": a", "a:", "#", "a #b", "a#b", "{a",
	"[a", "a, b", "]", "*a", "&a", "!a", "|", ">", "%a", "@a", "`a", "'", "\"", "'a'", "\"a\"",
	"0x1f", "0o7", "0b1", "1_000", "1:30", "190:20:30", ".5", ".inf", ".nan", "+1", "-1", "1.", "é",
	"😀", "a\nb", "a\r\nb\n", "\ta", "a\t", "a\u2028b", "a\u0085b", "\x00", "\x1b[31m", "\ufeff",
	"---", "--- a", "...", "a\\b", "C:\\x", "root::thread", "/a b/c: d", "=======", "<<<<<<< a",
	strings.Repeat("long ", 60),
}

func TestStrangeStrings(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		for _, s := range strange {
			d := parse(t, strings.ReplaceAll("topic: x\nquoted: 'x' # c\nturn_order:\n- a\nflow: [a]\nnone:\n", "\n", eol))
			must(t, d.SetString(s, "topic"))
			must(t, d.SetString(s, "quoted"))
			must(t, d.SetString(s, "new", "deep"))
			must(t, d.SetStrings([]string{s, "a", s}, "turn_order"))
			must(t, d.SetStrings([]string{"a", s}, "flow"))
			must(t, d.SetStrings([]string{s}, "none"))
			must(t, d.SetInts(map[string]int{s: 3}, "quieted"))
			must(t, d.AppendItem([][2]string{{"name", s}, {"kind", "agent"}}, "participants"))
			if eol == "\r\n" && strings.Count(string(d.Bytes()), "\n") != strings.Count(string(d.Bytes()), "\r\n") {
				t.Errorf("mixed line ends in %q", d.Bytes())
			}
			var got map[string]any
			must(t, yaml.Unmarshal(d.Bytes(), &got))
			list := func(v ...any) []any { return v }
			for key, want := range map[string]any{
				"topic": s, "quoted": s, "new": map[string]any{"deep": s}, "turn_order": list(s, "a", s),
				"flow": list("a", s), "none": list(s), "quieted": map[string]any{s: 3},
				"participants": list(map[string]any{"name": s, "kind": "agent"}),
			} {
				if !equal(got[key], want) {
					t.Errorf("%q at %s: got %#v, want %#v in\n%s", s, key, got[key], want, d.Bytes())
				}
			}
			if v, ok, err := d.String("topic"); v != s || !ok || err != nil {
				t.Errorf("String: got %q %v %v, want %q", v, ok, err, s)
			}
		}
	}
}

func equal(a, b any) bool {
	x, _ := yaml.Marshal(a)
	y, _ := yaml.Marshal(b)
	return string(x) == string(y)
}

func TestPlainAsWritten(t *testing.T) {
	d := parse(t, "a: no\nb: null\nc: 1e3\nd: 0123\ne: 2026-01-01\nf:\ng: ~\nh: 'null'\ni: !!str\nj: &x\nk: *x\n"+
		"turn_order: [no, null, 1e3, 0123, 2026-01-01, ~]\nitems:\n- name: null\n- name: no\n- just text\n- [x]\n-\n")
	for key, want := range map[string]string{
		"a": "no", "b": "", "c": "1e3", "d": "0123", "e": "2026-01-01", "f": "", "g": "", "h": "null", "i": "", "j": "", "k": "",
	} {
		if v, ok, err := d.String(key); v != want || !ok || err != nil {
			t.Errorf("%s: got %q %v %v, want %q", key, v, ok, err, want)
		}
		before := d.Bytes()
		must(t, d.SetString(want, key))
		check(t, d, string(before))
	}
	list, err := d.Strings("turn_order")
	if want := []string{"no", "null", "1e3", "0123", "2026-01-01", "~"}; err != nil || !slices.Equal(list, want) {
		t.Errorf("got %q %v, want %q", list, err, want)
	}
	items, err := d.Items("items")
	if err != nil || len(items) != 5 {
		t.Fatalf("got %v %v, want 5 items", items, err)
	}
	if v, ok := items[1].String("name"); v != "no" || !ok || items[1].Line != 15 || items[1].Column != 3 {
		t.Errorf("got %q %v at %d:%d", v, ok, items[1].Line, items[1].Column)
	}
	for _, i := range items[2:] {
		if v, ok := i.String("name"); ok {
			t.Errorf("an item that is no mapping has the name %q", v)
		}
	}
	must(t, d.SetString("null", "b"))
	if v, _, _ := d.String("b"); v != "null" {
		t.Errorf("got %q, want the string null", v)
	}
}

func TestAccessorErrors(t *testing.T) {
	d := parse(t, "list:\n  - a\n  - [b]\nmap:\n  x: 1\n  y: z\nn: 0123\nq: \"7\"\nneg: -2\nempty: {}\n")
	wrong := func(err error, line, column int) {
		t.Helper()
		var e *Error
		if !errors.As(err, &e) || e.Line != line || e.Column != column || e.Path != "config.yaml" {
			t.Errorf("got error %v, want one at %d:%d", err, line, column)
		}
	}
	_, _, err := d.String("list")
	wrong(err, 2, 3)
	_, _, err = d.String("n", "x")
	wrong(err, 7, 4)
	_, err = d.Strings("list")
	wrong(err, 3, 5)
	_, err = d.Strings("n")
	wrong(err, 7, 4)
	_, err = d.Ints("map")
	wrong(err, 6, 6)
	_, err = d.Keys("list")
	wrong(err, 2, 3)
	_, err = d.Items("map")
	wrong(err, 5, 3)
	_, _, err = d.Int("n")
	wrong(err, 7, 4)
	wrong(d.SetString("x", "list"), 2, 3)
	wrong(d.SetInt(1, "map"), 5, 3)
	wrong(d.SetStrings(nil, "n"), 7, 4)
	wrong(d.SetInts(nil, "list"), 2, 3)
	wrong(d.SetString("x", "n", "deep"), 7, 4)
	wrong(d.AppendItem(nil, "map"), 5, 3)
	if err := d.SetString("x"); err == nil {
		t.Error("an edit without a key is accepted")
	}
	if err := d.SetString("\xff", "new"); err == nil {
		t.Error("invalid UTF-8 is accepted")
	}
	for key, want := range map[string]int{"q": 7, "neg": -2} {
		if v, ok, err := d.Int(key); v != want || !ok || err != nil {
			t.Errorf("%s: got %d %v %v", key, v, ok, err)
		}
	}
	if m, err := d.Ints("empty"); m != nil || err != nil {
		t.Errorf("got %v %v, want nil", m, err)
	}
	keys, err := d.Keys()
	if want := []string{"list", "map", "n", "q", "neg", "empty"}; err != nil || !slices.Equal(keys, want) {
		t.Errorf("got %q %v, want %q", keys, err, want)
	}
	must(t, d.SetInt(8, "q")) // a number that was quoted
	must(t, d.SetInt(5, "n"))
	must(t, d.SetInts(map[string]int{"y": 2}, "map"))
	check(t, d, "list:\n  - a\n  - [b]\nmap:\n  y: 2\nn: 5\nq: 8\nneg: -2\nempty: {}\n")
}

func TestRefused(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for _, test := range []struct {
		name, text, want string
	}{
		{"duplicate key", "a: 1\nb: 2\na: 3\n", `3:1: key "a" is already on line 1`},
		{"duplicate, other quotes", "a: 1\n\"a\": 3\n", `2:1: key "a" is already on line 1`},
		{"duplicate, nested", "a:\n- b: 1\n  b: 2\n", `3:3: key "b" is already on line 2`},
		{"duplicate, flow", "a: {b: 1, b: 2}\n", `1:11: key "b" is already on line 1`},
		{"two documents", "a: 1\n---\nb: 2\n", "2:1: a second document starts here"},
		{"empty second document", "a: 1\n---\n", "2:1: a second document starts here"},
		{"list", "# c\n- a\n", "2:1: the document is a list, not a mapping"},
		{"scalar", "hello\n", "1:1: the document is a scalar, not a mapping"},
		{"conflict", "a: 1\n<<<<<<< HEAD\nb: 2\n", "2:1: merge conflict marker <<<<<<<"},
		{"half a conflict", "a: 1\r\n=======\r\nb: 2\r\n", "2:1: merge conflict marker ======="},
		{"nul", "a: 1\nb: \x002\n", `2:4: control character '\x00'`},
		{"escape", "a: é\x1b[1m\n", `1:5: control character '\x1b'`},
		{"utf-8", "a: 1\nb: é\xff\n", "2:5: invalid UTF-8, byte 0xff"},
		{"utf-16", "\xff\xfea\x00", "1:1: invalid UTF-8, byte 0xff"},
		{"two marks", "\ufeff\ufeffa: 1", `1:1: control character '\ufeff'`},
		{"tab", "turn_order:\n\t- b\n", "2:1: tab in indentation"},
		{"tab behind spaces", "turn_order:\n  - a\n  \t- b\n", "3:3: tab in indentation"},
		{"tab in mapping", "a:\n  b: 1\n\tc: 1\n", "3:1: tab in indentation"},
		{"tab on line 1", "\ta: 1", "1:1: tab in indentation"},
		{"bracket", "a: 1\n  \nb: [1, 2\nc: 3", "3:1: did not find expected ',' or ']'"},
		{"no mapping", "a: b: c\n", "1:1: mapping values are not allowed in this context"},
		{"anchor", "a: 1\nb: [*x]\n", "2:5: unknown anchor 'x' referenced"},
		{"self", "a: &x [*x]\n", "1:8: alias *x stands inside its own anchor"},
		{"complex key", "a: 1\n? [b]\n: c\n", "2:3: a key that is a list"},
		{"deep", "a: " + deep, "1:103: nested deeper than 100 levels"},
		{"very deep", "a: " + strings.Repeat("[", 1<<20), "1:1: exceeded max depth of 10000"},
		{"large", "a: " + strings.Repeat("x", MaxBytes), "1:1: larger than 4194304 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("dir/config.yaml", []byte(test.text))
			var e *Error
			if !errors.As(err, &e) || err.Error() != "dir/config.yaml:"+test.want {
				t.Errorf("got %v, want dir/config.yaml:%s", err, test.want)
			}
		})
	}
}

func TestEmpty(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "a: 1\n",
		"# only this":            "# only this\na: 1\n",
		"# only this\n":          "# only this\na: 1\n",
		"---\n":                  "---\na: 1\n",
		"---\n# c\n":             "---\n# c\na: 1\n",
		"# c\r\n":                "# c\r\na: 1\r\n",
		"\ufeff":                 "\ufeffa: 1\n",
		"b: 2":                   "b: 2\na: 1\n",
		"b: 2\n...\n":            "b: 2\na: 1\n...\n",
		"b: 2\n\n# end":          "b: 2\n\n# end\na: 1\n",
		"  b: 2\n":               "  b: 2\n  a: 1\n",
		"{}":                     "{a: 1}",
		"{} # c\n":               "{a: 1} # c\n",
		"{b: 'x,}' }\n":          "{b: 'x,}', a: 1}\n",
		"--- # c\nb: |\n  x\n\n": "--- # c\nb: |\n  x\n\na: 1\n",
	} {
		d := parse(t, text)
		check(t, d, text)
		must(t, d.SetInt(1, "a"))
		check(t, d, want)
	}
	d := parse(t, "# c\na: 1 # d\n")
	must(t, d.Delete("a"))
	must(t, d.Delete("a"))
	must(t, d.Delete("x", "y"))
	check(t, d, "# c\n")
}

func TestBomb(t *testing.T) {
	text := "topic: x\na0: &a0 [x]\n"
	for _, c := range "123456789" {
		prev := "*a" + string(c-1) + ", "
		text += "a" + string(c) + ": &a" + string(c) + " [" + strings.Repeat(prev, 9) + prev[:3] + "]\n"
	}
	start := time.Now()
	d := parse(t, text)
	must(t, d.SetString("z", "topic"))
	check(t, d, strings.Replace(text, "topic: x", "topic: z", 1))
	if _, err := d.Strings("a9"); err == nil {
		t.Error("a list of lists is taken for a list of scalars")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if err := d.SetStrings([]string{"z"}, "a0"); err == nil {
		t.Error("an edit that changes what aliases name is accepted")
	}
	check(t, d, strings.Replace(text, "topic: x", "topic: z", 1))
}
