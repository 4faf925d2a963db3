package yamldoc

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

func FuzzParse(f *testing.F) {
	for _, e := range edits {
		f.Add([]byte(e.text))
	}
	for _, s := range []string{
		commented, "/:", "? a\n: b\n", "---\n...\n",
		"a: &x\n- *x\n", "a:\n-\n  - b\n", "a: [b: \"]\"]",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse("f", data)
		if err != nil {
			if e := err.(*Error); e.Line < 1 || e.Column < 1 || e.Problem == "" {
				t.Fatalf("an error without a place: %#v", e)
			}
			return
		}
		if string(d.Bytes()) != string(data) {
			t.Fatalf("got %q for %q", d.Bytes(), data)
		}
		keys, err := d.Keys()
		must(t, err)
		for _, key := range append(keys, "new") {
			for i, edit := range []func(*Doc) error{
				func(d *Doc) error { return d.SetString("a: b", key) },
				func(d *Doc) error { return d.SetInt(7, key) },
				func(d *Doc) error { return d.SetStrings([]string{"no", "b"}, key) },
				func(d *Doc) error { return d.SetInts(m{"no": 3}, key) },
				func(d *Doc) error { return d.AppendItem([][2]string{{"name", "x"}}, key) },
				func(d *Doc) error { return d.SetInt(1, key, "deep", "er") },
				func(d *Doc) error { return d.Delete(key) },
			} {
				d := parse(t, string(data))
				if err := edit(d); err != nil {
					check(t, d, string(data))
					continue
				}
				again := parse(t, string(d.Bytes()))
				got, err := again.Keys()
				if err != nil || !slices.Equal(without(got, key), without(keys, key)) {
					t.Fatalf("edit %d of %q: keys %q of %q in %q: %v", i, key, got, keys, d.Bytes(), err)
				}
				if v, _, _ := again.String(key); i == 0 && v != "a: b" {
					t.Fatalf("got %q in %q", v, d.Bytes())
				}
				if v, _, _ := again.Int(key); i == 1 && v != 7 {
					t.Fatalf("got %d in %q", v, d.Bytes())
				}
				if v, _ := again.Strings(key); i == 2 && !slices.Equal(v, []string{"no", "b"}) {
					t.Fatalf("got %q in %q", v, d.Bytes())
				}
				if v, _ := again.Ints(key); i == 3 && !maps.Equal(v, m{"no": 3}) {
					t.Fatalf("got %v in %q", v, d.Bytes())
				}
			}
		}
	})
}

// FuzzText checks that any text is written so that another reader gets it back.
func FuzzText(f *testing.F) {
	for _, s := range strange {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d := parse(t, "topic: x # c\nlist:\n- a\nx: y\n")
		if err := d.SetString(s, "topic"); err != nil {
			return
		}
		must(t, d.SetStrings([]string{"a", s}, "list"))
		var got struct {
			Topic any
			List  []any
			X     string
		}
		must(t, yaml.Unmarshal(d.Bytes(), &got))
		if got.Topic != s || got.X != "y" || len(got.List) != 2 || got.List[1] != s ||
			!strings.Contains(string(d.Bytes()), " # c\n") {
			t.Fatalf("got %#v from %q", got, d.Bytes())
		}
	})
}

func without(list []string, s string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(v string) bool { return v == s })
}

// drawn is a room as a model beside its document.
type drawn struct {
	order  []string
	quiet  m
	index  int
	topic  string
	people []string
}

// room draws a document in one of the styles that people and programs write.
func room(t *rapid.T) (string, drawn) {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom(strange[:22]), 0, 5, rapid.ID)
	r := drawn{order: names.Draw(t, "order"), quiet: m{}, topic: "t"}
	r.index = rapid.IntRange(0, 9).Draw(t, "index")
	note := func() string {
		return rapid.SampledFrom([]string{"", "", " # keep"}).Draw(t, "note")
	}
	lines := func() string {
		return rapid.SampledFrom([]string{"", "", "# keep\n", "\n", "\n# keep\n\n"}).Draw(t, "lines")
	}
	pad := strings.Repeat(" ", rapid.SampledFrom([]int{0, 2, 4}).Draw(t, "pad"))
	s := &splicer{scanner: newScanner("")}
	list := "turn_order:" + note() + "\n"
	for _, name := range r.order {
		list += lines() + pad + "- " + s.inline(text(name)) + note() + "\n"
	}
	if len(r.order) == 0 {
		list = "turn_order: []" + note() + "\n"
	}
	quiet := "quieted: {}" + note() + "\n"
	for i, name := range names.Draw(t, "quiet") {
		if i == 0 {
			quiet = "quieted:" + note() + "\n"
		}
		r.quiet[name] = i
		quiet += lines() + pad + " " + s.inline(text(name)) + ": " + integer(i).Value + note() + "\n"
	}
	parts := rapid.Permutation([]string{
		list, quiet, "next_index: " + integer(r.index).Value + note() + "\n",
		rapid.SampledFrom([]string{
			"topic: t" + note(), "topic: 't'" + note(), "topic: |-\n  t", "topic: &t t" + note(),
		}).Draw(t, "topic") + "\n",
		rapid.SampledFrom([]string{
			"", "x: {a: [b, 'c]']} # keep\n", "x: |\n  # keep\n  y\n", "x: &x\n- a\ny: *x\n",
		}).Draw(t, "unknown"),
	}).Draw(t, "parts")
	doc := ""
	for _, part := range parts {
		doc += lines() + part
	}
	doc += lines()
	if rapid.Bool().Draw(t, "crlf") {
		doc = strings.ReplaceAll(doc, "\n", "\r\n")
	}
	return doc, r
}

func TestRandomEdits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, r := room(t)
		d, err := Parse("room", []byte(doc))
		if err != nil {
			t.Fatalf("%v in %q", err, doc)
		}
		r.compare(t, d)
		names := rapid.SliceOfNDistinct(rapid.SampledFrom(strange[:22]), 0, 6, rapid.ID)
		for range rapid.IntRange(1, 8).Draw(t, "edits") {
			before := string(d.Bytes())
			kept := false
			switch rapid.IntRange(0, 5).Draw(t, "edit") {
			case 0:
				r.order, kept = names.Draw(t, "names"), len(r.order) == 0
				err = d.SetStrings(r.order, "turn_order")
			case 1:
				r.quiet = m{}
				for i, name := range names.Draw(t, "names") {
					r.quiet[name] = i
				}
				err = d.SetInts(r.quiet, "quieted")
			case 2:
				r.index, kept = rapid.IntRange(0, 99).Draw(t, "next"), true
				err = d.SetInt(r.index, "next_index")
			case 3:
				r.topic, kept = rapid.SampledFrom(strange).Draw(t, "text"), true
				err = d.SetString(r.topic, "topic")
			case 4:
				r.people, kept = append(r.people, "n"), true
				err = d.AppendItem([][2]string{{"name", "n"}}, "participants")
			case 5:
				r.order = slices.Clone(r.order)
				slices.Reverse(r.order)
				kept = true
				err = d.SetStrings(r.order, "turn_order")
			}
			if err != nil {
				t.Fatalf("%v in %q", err, before)
			}
			r.compare(t, d)
			a, b := strings.Count(before, "# keep"), strings.Count(string(d.Bytes()), "# keep")
			if kept && a != b {
				t.Fatalf("%d comments became %d: %q to %q", a, b, before, d.Bytes())
			}
			n := strings.Count(string(d.Bytes()), "\r\n")
			if n > 0 && n != strings.Count(string(d.Bytes()), "\n") {
				t.Fatalf("mixed line ends in %q", d.Bytes())
			}
		}
	})
}

func (r drawn) compare(t *rapid.T, d *Doc) {
	order, err1 := d.Strings("turn_order")
	quiet, err2 := d.Ints("quieted")
	index, _, err3 := d.Int("next_index")
	topic, _, err4 := d.String("topic")
	people, err5 := d.Items("participants")
	for _, err := range []error{err1, err2, err3, err4, err5} {
		if err != nil {
			t.Fatalf("%v in %q", err, d.Bytes())
		}
	}
	if !slices.Equal(order, r.order) || !maps.Equal(quiet, r.quiet) || index != r.index || topic != r.topic ||
		len(people) != len(r.people) {
		t.Fatalf("got %q %v %d %q %v, want %+v in %q", order, quiet, index, topic, people, r, d.Bytes())
	}
	var got map[string]any
	if err := yaml.Unmarshal(d.Bytes(), &got); err != nil {
		t.Fatalf("%v in %q", err, d.Bytes())
	}
	list, _ := got["turn_order"].([]any)
	for i, name := range r.order {
		if i >= len(list) || list[i] != name {
			t.Fatalf("got %#v, want %q in %q", list, r.order, d.Bytes())
		}
	}
}
