package yamldoc

import (
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

func strs(path string, values ...string) func(*Doc) error {
	return func(d *Doc) error { return d.SetStrings(values, strings.Split(path, "/")...) }
}

func ints(path string, values map[string]int) func(*Doc) error {
	return func(d *Doc) error { return d.SetInts(values, strings.Split(path, "/")...) }
}

func str(path, value string) func(*Doc) error {
	return func(d *Doc) error { return d.SetString(value, strings.Split(path, "/")...) }
}

func num(path string, value int) func(*Doc) error {
	return func(d *Doc) error { return d.SetInt(value, strings.Split(path, "/")...) }
}

func del(path string) func(*Doc) error {
	return func(d *Doc) error { return d.Delete(strings.Split(path, "/")...) }
}

func add(path string, fields ...[2]string) func(*Doc) error {
	return func(d *Doc) error { return d.AppendItem(fields, strings.Split(path, "/")...) }
}

type m = map[string]int

var edits = []struct {
	name, text string
	edit       func(*Doc) error
	want       string
}{
	{"value", "a: x # c\nb: 1\n", str("a", "y2"), "a: y2 # c\nb: 1\n"},
	{"value, no newline", "b: 1\na: x", str("a", "z2"), "b: 1\na: z2"},
	{"value, wide space", "a:   x   # c\n", str("a", "xx"), "a:   xx   # c\n"},
	{"value, keeps quotes", "a: \"x\\n\" # c\nb: 'it''s' # d\n", str("a", "xx"),
		"a: \"xx\" # c\nb: 'it''s' # d\n"},
	{"value, keeps single quotes", "b: 'it''s' # d\n", str("b", "isn't"), "b: 'isn''t' # d\n"},
	{"value, literal", "a: |\n  x\n\n  y # no comment\n\n# c\nb: 1\n", str("a", "xx"),
		"a: xx\n\n# c\nb: 1\n"},
	{"value, literal and kept lines", "a: |+\n  x\n\nb: 1\n", str("a", "xx"), "a: xx\nb: 1\n"},
	{"value, folded, deep comment", "a: >-\n    x\n  # c\nb: 1\n", str("a", "xx"), "a: xx\n  # c\nb: 1\n"},
	{"value, two lines", "a: x\n  y # c\nb: 1\n", str("a", "xx"), "a: xx # c\nb: 1\n"},
	{"value, next line", "a:\n  x # c\nb: 1\n", str("a", "xx"), "a:\n  xx # c\nb: 1\n"},
	{"value, nothing", "a: # c\nb: 1\n", str("a", "xx"), "a: xx # c\nb: 1\n"},
	{"value, nothing at the end", "a:", str("a", "xx"), "a: xx"},
	{"value, null", "a: ~ # c\nb: 1\n", str("a", "xx"), "a: xx # c\nb: 1\n"},
	{"value, equal", "a: 'x' \nb: 0x1\n", str("a", "x"), "a: 'x' \nb: 0x1\n"},
	{"value, equal null", "a: ~\n", str("a", ""), "a: ~\n"},
	{"value, anchor", "a: &x xx # c\nb: 1\n", str("a", "zz"), "a: &x zz # c\nb: 1\n"},
	{"value, tag", "a: !!str 12 # c\n", str("a", "zz"), "a: zz # c\n"},
	{"value, alias", "o: &x xx\na: *x # c\n", str("a", "zz"), "o: &x xx\na: zz # c\n"},
	{"value, equal alias", "o: &x xx\na: *x # c\n", str("a", "xx"), "o: &x xx\na: *x # c\n"},
	{"value, quoted key", "\"a\" : x\n'b': 1\n", str("a", "xx"), "\"a\" : xx\n'b': 1\n"},
	{"value, nested", "a:\n  b:\n   c: 1 # c\n  d: 2\n", num("a/b/c", 5), "a:\n  b:\n   c: 5 # c\n  d: 2\n"},
	{"value, flow", "a: {b: {c: 1}, d: 'x}'} # c\n", num("a/b/c", 5), "a: {b: {c: 5}, d: 'x}'} # c\n"},
	{"value, wide characters", "é: \"ü😀\" # ö\n", str("é", "xx"), "é: \"xx\" # ö\n"},
	{"value, explicit key", "? a\n: x\nb: 1\n", str("a", "xx"), "a: xx\nb: 1\n"},
	{"new key", "a: 1\n# end\n", num("b", 0), "a: 1\n# end\nb: 0\n"},
	{"new nested keys", "a: 1\n", num("b/c/d e", 0), "a: 1\nb:\n    c:\n        d e: 0\n"},
	{"new nested keys, two columns", "a:\n  b: 1\n# c\nd: 2\n", num("a/c/d", 3),
		"a:\n  b: 1\n  c:\n    d: 3\n# c\nd: 2\n"},
	{"new key below null", "a: # c\nb: 1\n", num("a/x", 3), "a: # c\n    x: 3\nb: 1\n"},
	{"new key below braces", "a: {} # c\nb: 1\n", num("a/x", 3), "a: # c\n    x: 3\nb: 1\n"},
	{"new key in braces", "a: {y: 1} # c\nb: 1\n", num("a/x", 3), "a: {y: 1, x: 3} # c\nb: 1\n"},
	{"cursor", "cursors:\n    dan:\n        \"/a::b\":\n            last_entry: x\n", num("cursors/dan/\"", 1),
		"cursors:\n    dan:\n        \"/a::b\":\n            last_entry: x\n        '\"': 1\n"},
	{"delete", "a: 1\n# c\nb: 2 # d\nc: 3\n", del("b"), "a: 1\n# c\nc: 3\n"},
	{"delete last", "a: 1\nb: 2", del("b"), "a: 1\n"},
	{"delete nested", "a:\n  b: 1\n  c: |\n    x\n\n# d\ne: 1\n", del("a/c"), "a:\n  b: 1\n\n# d\ne: 1\n"},
	{"delete the only nested", "a: # c\n  # d\n  b: 1\ne: 1\n", del("a/b"), "a: {} # c\n  # d\ne: 1\n"},
	{"delete a list", "a:\n- x\n- y\n# c\ne: 1\n", del("a"), "# c\ne: 1\n"},
	{"delete in braces", "a: {b: 1, c: 2}\n", del("a/b"), "a: {c: 2}\n"},
	{"list, append", "l:\n    - a # 1\n    # - z\nb: 1\n", strs("l", "a", "b"),
		"l:\n    - a # 1\n    - b\n    # - z\nb: 1\n"},
	{"list, append unindented", "l:\n- a\n\n# c\nb: 1\n", strs("l", "a", "b"), "l:\n- a\n- b\n\n# c\nb: 1\n"},
	{"list, append at the end", "l:\n- a", strs("l", "a", "b"), "l:\n- a\n- b\n"},
	{"list, remove", "l:\n- a\n# of b\n- b # b\n\n# apart\n\n- c\nx: 1\n", strs("l", "a", "c"),
		"l:\n- a\n\n# apart\n\n- c\nx: 1\n"},
	{"list, remove last", "l:\n  - a\n  - b", strs("l", "a"), "l:\n  - a\n"},
	{"list, reorder", "l: # l\n  # of a\n  - a # 1\n  - 'b'\n  # of c\n  # too\n  - c # 3\nx: 1\n", strs("l", "c", "d", "a", "b"),
		"l: # l\n  # of c\n  # too\n  - c # 3\n  - d\n  # of a\n  - a # 1\n  - 'b'\nx: 1\n"},
	{"list, reorder at the end", "l:\n- a\n- b", strs("l", "b", "a"), "l:\n- b\n- a\n"},
	{"list, anchor", "l: &l\n- &a a # 1\n- *a\n- b\n", strs("l", "a", "b"), "l: &l\n- &a a # 1\n- b\n"},
	{"list, alias goes", "o: &a a\nl:\n- b\n- *a # 2\n", strs("l", "a", "c"), "o: &a a\nl:\n- *a # 2\n- c\n"},
	{"list, is an alias", "o: &a [a]\nl: *a # c\nb: 1\n", strs("l", "a", "c"),
		"o: &a [a]\nl: # c\n    - a\n    - c\nb: 1\n"},
	{"list, dash alone", "l:\n-\n  a\n- # c\n  b\n", strs("l", "b", "a"), "l:\n- # c\n  b\n-\n  a\n"},
	{"list, to empty", "l: # c\n- a\n# b\n- b\nx: 1\n", strs("l"), "l: [] # c\nx: 1\n"},
	{"list, from empty", "l: [] # c\nx: 1\n", strs("l", "a"), "l: # c\n    - a\nx: 1\n"},
	{"list, from null", "l:\nx: 1\nm:\n- a\n", strs("l", "a"), "l:\n- a\nx: 1\nm:\n- a\n"},
	{"list, brackets", "l: [a, 'b', # 1\n    c ] # c\nx: 1\n", strs("l", "'", "b"),
		"l: ['''', 'b', # 1\n    ] # c\nx: 1\n"},
	{"list, new", "x:\n  y:\n  - 1\n", strs("l", "a"), "x:\n  y:\n  - 1\nl:\n- a\n"},
	{"list, none", "x: 1\n", strs("l"), "x: 1\n"},
	{"list, same", "l: [ a,b ]\n", strs("l", "a", "b"), "l: [ a,b ]\n"},
	{"ints, change", "q:\n    # of a\n    a: 1 # x\n    b: 2\nx: 1\n", ints("q", m{"a": 3, "b": 2}),
		"q:\n    # of a\n    a: 3 # x\n    b: 2\nx: 1\n"},
	{"ints, all at once", "q:\n  c: 1 # x\n  b: 2\nx: 1\n", ints("q", m{"b": 1, "z": 9, "no": 4}),
		"q:\n  b: 1\n  \"no\": 4\n  z: 9\nx: 1\n"},
	{"ints, exchange", "q:\n  c: 1 # x\nx: 1\n", ints("q", m{"d": 1}), "q:\n  d: 1\nx: 1\n"},
	{"ints, none", "x: 1\n", ints("q", m{}), "x: 1\n"},
	{"ints, new beside plain lists", "l:\n- a\n", ints("q", m{"a": 1}), "l:\n- a\nq:\n  a: 1\n"},
	{"ints, braces", "q: {a: 1, 'b': 2}\n", ints("q", m{"b": 2, "c": 3}), "q: {'b': 2, c: 3}\n"},
	{"ints, repaired", "q:\n  a: x # c\n", ints("q", m{"a": 1}), "q:\n  a: 1 # c\n"},
	{"item", "p:\n    - name: dan\n      kind: human # c\n      x: {y: 1}\n# end\n", add("p", [2]string{"name", "no"}, [2]string{"kind", "agent"}),
		"p:\n    - name: dan\n      kind: human # c\n      x: {y: 1}\n    - name: \"no\"\n      kind: agent\n# end\n"},
	{"item, unindented", "p:\n- name: dan", add("p", [2]string{"name", "ann"}),
		"p:\n- name: dan\n- name: ann\n"},
	{"item, brackets", "p: [{name: dan}]\n", add("p", [2]string{"name", "ann"}),
		"p: [{name: dan}, {name: ann}]\n"},
	{"item, first", "version: 1\n", add("p", [2]string{"name", "ann"}), "version: 1\np:\n    - name: ann\n"},
	{"item, from empty", "p: []\nv: 1\n", add("p", [2]string{"a", "b"}, [2]string{"c", "d"}),
		"p:\n    - a: b\n      c: d\nv: 1\n"},
	{"time", "a: x\n", func(d *Doc) error {
		return d.SetTime(time.Unix(1, 5e6),
			"t")
	}, "a: x\nt: 1970-01-01T00:00:01.005Z\n"},
}

func TestEdits(t *testing.T) {
	for _, test := range edits {
		for _, form := range []string{"LF", "CRLF", "BOM"} {
			t.Run(test.name+"/"+form, func(t *testing.T) {
				text, want := test.text, test.want
				switch form {
				case "CRLF":
					if !strings.Contains(text, "\n") {
						t.Skip("no line end to learn from")
					}
					text, want = strings.ReplaceAll(text, "\n", "\r\n"), strings.ReplaceAll(want, "\n", "\r\n")
				case "BOM":
					text, want = bom+text, bom+want
				}
				d := parse(t, text)
				must(t, test.edit(d))
				check(t, d, want)
				must(t, yaml.Unmarshal(d.Bytes(), new(any)))
			})
		}
	}
}

func TestPlace(t *testing.T) {
	room := "topic: x\nturn_order:\n    - a\n    # - b\n# of status\nstatus: active\n# end\n"
	d := parse(t, room)
	d.Place("next_index", "turn_order")
	d.Place("quieted", "next_index")
	must(t, d.SetInts(m{"b": 2}, "quieted"))
	must(t, d.SetInt(1, "next_index"))
	check(t, d, "topic: x\nturn_order:\n    - a\n    # - b\nnext_index: 1\nquieted:\n    b: 2\n"+
		"# of status\nstatus: active\n# end\n")
	must(t, d.Delete("next_index"))
	must(t, d.Delete("quieted"))
	check(t, d, room)
	d.Place("x", "y")
	d.Place("y", "x")
	d.Place("last", "status")
	must(t, d.SetInt(1, "last"))
	must(t, d.SetInt(1, "z"))
	check(t, d, strings.Replace(room, "# end\n", "last: 1\n# end\nz: 1\n", 1))
	must(t, d.SetInt(1, "x")) // its place is a ring
}

const commented = `# Dan's room: please keep the comments.

%status: active   # or ended
x-owner: &owner {team: "core", since: 2026-01-01}   # ours
quieted: {} # who rests

# The one who watches.
moderator : 'dan'
x-copy: *owner
turn_order:   # moderator first
- dan
# She joined late.
- "ann"   # from Ulm

- codex/gpt-5.5
next_index: 0		# the floor
topic: >
  Why do we
  talk?

x-old: no
x-blob: |+
  # not a comment

# The end.
`

// Twenty edits of the floor change the floor, and no byte beside it.
func TestTwentyEdits(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		text := strings.ReplaceAll(strings.ReplaceAll(commented, "%", ""), "\n", eol)
		d := parse(t, text)
		for i := range 20 {
			index, quiet := i%3, m{}
			want := strings.Replace(text, "next_index: 0", "next_index: "+string(rune('0'+index)), 1)
			if i%4 > 0 {
				quiet["ann"] = i
				want = strings.Replace(want, "quieted: {} # who rests"+eol,
					"quieted: # who rests"+eol+"  ann: "+integer(i).Value+eol, 1)
			}
			if i%4 > 1 {
				quiet["codex/gpt-5.5"] = 7
				ann := "  ann: " + integer(i).Value + eol
				want = strings.Replace(want, ann, ann+"  codex/gpt-5.5: 7"+eol, 1)
			}
			must(t, d.SetInt(index, "next_index"))
			must(t, d.SetInts(quiet, "quieted"))
			check(t, d, want)
		}
	}
}

// A document in a form that is not edited in place is written anew, and means the same.
func TestWrittenAnew(t *testing.T) {
	d := parse(t, "\ufeff? topic\r\n: x\r\n# c\r\n? l\r\n: - a\r\n  - b # of b\r\n")
	must(t, d.SetStrings([]string{"b", "a", "no"}, "l"))
	check(t, d, "\ufefftopic: x\r\n# c\r\n\r\nl:\r\n    - b # of b\r\n    - a\r\n    - \"no\"\r\n")
}
