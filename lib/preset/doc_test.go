package preset_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/preset"
)

// T49 of the voices: remarks, trailing commas, and what looks like them in a text.
func TestJSONWithRemarksAndCommas(t *testing.T) {
	for _, c := range []struct{ what, in, want string }{
		{"plain", `{"a":[1,true,null,"x"]}`, `{"a":[1,true,null,"x"]}`},
		{"line remark", "{ // one\n\"a\":1}", `{"a":1}`},
		{"line remark at the very end", "{\"a\":1} // end", `{"a":1}`},
		{"block remark", "/* a\n b */{\"a\"/**/:/* x */1/***/}", `{"a":1}`},
		{"trailing commas", `{"a":[1,2,],"b":{"c":1,},}`, `{"a":[1,2],"b":{"c":1}}`},
		{"a URL", `{"a":"https://x//y","b":"/* no */","c":"a,}"}`, `{"a":"https://x//y","b":"/* no */","c":"a,}"}`},
		{"byte order mark and CRLF", "\ufeff{\r\n\"a\": 1 // x\r\n}\r\n", `{"a":1}`},
		{"escapes", `{"\u0061":"\ud83d\ude00\n"}`, "{\"a\":\"\U0001f600\\n\"}"},
		{"numbers keep their spelling", `[1.50,1e3,12345678901234567890]`, `[1.50,1e3,12345678901234567890]`},
		{"a value that is no object", `3`, `3`},
	} {
		d, err := preset.ParseDoc([]byte(c.in))
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		got, err := json.Marshal(d.Value)
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s, %v; want %s", c.what, got, err, c.want)
		}
		if string(d.Bytes()) != c.in {
			t.Errorf("%s: the bytes came back as %q", c.what, d.Bytes())
		}
	}
}

func TestWhatIsNoJSONIsRefusedAtItsPlace(t *testing.T) {
	for _, c := range []struct {
		what, in     string
		line, column int
	}{
		{"nothing", "", 1, 1},
		{"blank", "\n \n", 1, 1},
		{"only a remark", "// x", 1, 5},
		{"NaN", "{\"a\":\n NaN}", 2, 2},
		{"Infinity", "[-Infinity]", 1, 2},
		{"single quotes", "{\n  'a': 1}", 2, 3},
		{"no quotes", "{a: 1}", 1, 2},
		{"two commas", "[1,,2]", 1, 4},
		{"a comma missing", "{\"a\":1\n\"b\":2}", 2, 1},
		{"a bracket missing", "{\"a\":[1,2}", 1, 10},
		{"cut off", "{\"a\":\n\"b\",\n\n", 2, 5},
		{"an open block remark", "{} /* x", 1, 4 + 4},
		{"a newline in a text", "{\"a\":\"x\ny\"}", 1, 6},
		{"more behind it", "{} {}", 1, 4},
		{"not UTF-8", "{\"日\":\"\xff\"}", 1, 7},
		{"a NUL", "{\x00}", 1, 2},
		{"columns are characters", "{\"日本\":x}", 1, 7},
		{"behind a byte order mark", "\ufeff[x]", 1, 2},
		{"a number of many digits is none with a letter", "[1x]", 1, 2},
	} {
		_, err := preset.ParseDoc([]byte(c.in))
		var bad *preset.SyntaxError
		if !errors.As(err, &bad) {
			t.Errorf("%s: got %v", c.what, err)
			continue
		}
		if bad.Line != c.line || bad.Column != c.column {
			t.Errorf("%s: got %v, want it at %d:%d", c.what, err, c.line, c.column)
		}
	}
}

func TestATextThatIsTooDeepIsRefused(t *testing.T) {
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	if _, err := preset.ParseDoc([]byte(deep)); err != nil {
		t.Error(err)
	}
	for _, open := range []string{"[", `{"a":`} {
		if _, err := preset.ParseDoc([]byte(strings.Repeat(open, 2000000))); err == nil {
			t.Errorf("2000000 times %s was read", open)
		}
	}
}

func TestAKeyThatStandsTwiceIsNamedAndTheLastCounts(t *testing.T) {
	d, err := preset.ParseDoc([]byte(`{"a":1,"b":{"c d":[{"x":1,"\u0078":2}]},"a":3,"a":4}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"b.\"c d\".0.x", "a", "a"}; !slices.Equal(d.Twice, want) {
		t.Errorf("got %q, want %q", d.Twice, want)
	}
	got, _ := json.Marshal(d.Value)
	if string(got) != `{"a":4,"b":{"c d":[{"x":2}]}}` {
		t.Errorf("got %s", got)
	}
	if line, column := d.At("a"); line != 1 || column != 51 {
		t.Errorf("the place is not that of the last: %d:%d", line, column)
	}
	next, err := d.With(5, "a")
	if err != nil || string(next.Bytes()) != `{"a":1,"b":{"c d":[{"x":1,"\u0078":2}]},"a":3,"a":5}` {
		t.Errorf("got %s, %v", next.Bytes(), err)
	}
	if next, err = d.Without("a"); err != nil || string(next.Bytes()) != `{"b":{"c d":[{"x":1,"\u0078":2}]}}` {
		t.Errorf("got %s, %v", next.Bytes(), err)
	}
}

func TestEditsTouchNothingElse(t *testing.T) {
	for _, c := range []struct {
		what, in string
		edit     func(*preset.Doc) (*preset.Doc, error)
		want     string
	}{
		{"a value", "{ \"a\" : /* x */ 1 /* y */ , // z\n}", set(2, "a"), "{ \"a\" : /* x */ 2 /* y */ , // z\n}"},
		{"the same value", "{\"a\":{ \"b\" : 1.0e0 }}", set(json.RawMessage(`{"b":1.0e0}`), "a"), "{\"a\":{ \"b\" : 1.0e0 }}"},
		{"the same text", "{\"a\":[\"\\u0061\",{\"b\":\"\\/\"}]}", set([]any{"a", map[string]string{"b": "/"}}, "a"), "{\"a\":[\"\\u0061\",{\"b\":\"\\/\"}]}"},
		{"deep", "{\"a\":{\"b\":{\"c\":1,},},}", set("x", "a", "b", "c"), "{\"a\":{\"b\":{\"c\":\"x\",},},}"},
		{"a new member", "{\n  \"a\": 1 // one\n}\n", set(2, "b"), "{\n  \"a\": 1, // one\n  \"b\": 2\n}\n"},
		{"a new member behind a comma", "{\n  \"a\": 1, // one\n}\n", set(2, "b"), "{\n  \"a\": 1, // one\n  \"b\": 2\n}\n"},
		{"a new member on one line", `{"a": 1}`, set(2, "b"), `{"a": 1, "b": 2}`},
		{"a new member of nothing", "{}", set(map[string]int{"c": 1}, "b"), "{\n  \"b\": {\n    \"c\": 1\n  }\n}"},
		{"a new path", "{\n\t\"a\": {}\n}", set(1, "a", "b", "c"), "{\n\t\"a\": {\n\t\t\"b\": {\n\t\t\t\"c\": 1\n\t\t}\n\t}\n}"},
		{"CRLF", "{\r\n  \"a\": 1\r\n}\r\n", set([]int{1}, "b"), "{\r\n  \"a\": 1,\r\n  \"b\": [\r\n    1\r\n  ]\r\n}\r\n"},
		{"no end of line, and a mark", "\ufeff{\"a\":1} // x", set(2, "a"), "\ufeff{\"a\":2} // x"},
		{"an object by its members", "{\n  \"a\": {\n    // of b\n    \"b\": 1,\n    \"c\": 2, // of c\n  },\n}",
			set(map[string]int{"b": 3, "d": 4}, "a"), "{\n  \"a\": {\n    // of b\n    \"b\": 3,\n    \"d\": 4\n  },\n}"},
		{"a list that grows", "{\"a\": [\n  1, // one\n  2 // two\n]}", set([]int{1, 2, 3}, "a"), "{\"a\": [\n  1, // one\n  2, // two\n  3\n]}"},
		{"a list that grows on one line", `{"a": ["x"]}`, set([]string{"x", "y"}, "a"), `{"a": ["x", "y"]}`},
		{"a list that changes", `{"a": [1, 2]}`, set([]int{2}, "a"), `{"a": [2]}`},
		{"to nothing", `{"a": {"b": 1}}`, set(map[string]int{}, "a"), `{"a": {}}`},
		{"another kind", `{"a": {"b": 1}}`, set("x", "a"), `{"a": "x"}`},
		{"characters of HTML", `{}`, set("<&>", "a"), "{\n  \"a\": \"<&>\"\n}"},
		{"a key with a slash", `{"a/~b": 1}`, unset("a/~b"), `{}`},
		{"the last member", "{\n  \"a\": 1, // one\n  \"b\": 2\n}", unset("b"), "{\n  \"a\": 1 // one\n}"},
		{"what is not there", "{\"a\":1}", unset("b", "c"), "{\"a\":1}"},
	} {
		d, err := preset.ParseDoc([]byte(c.in))
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		next, err := c.edit(d)
		if err != nil || string(next.Bytes()) != c.want {
			t.Errorf("%s: got\n%q\nwant\n%q\n%v", c.what, next.Bytes(), c.want, err)
		}
		if string(d.Bytes()) != c.in {
			t.Errorf("%s: the first text has changed: %s", c.what, d.Bytes())
		}
	}
}

func set(value any, path ...string) func(*preset.Doc) (*preset.Doc, error) {
	return func(d *preset.Doc) (*preset.Doc, error) { return d.With(value, path...) }
}

func unset(path ...string) func(*preset.Doc) (*preset.Doc, error) {
	return func(d *preset.Doc) (*preset.Doc, error) { return d.Without(path...) }
}

func TestAnEditThroughWhatIsNoObjectIsRefused(t *testing.T) {
	d, err := preset.ParseDoc([]byte(`{"a":[1]}`))
	if err != nil {
		t.Fatal(err)
	}
	if next, err := d.With(1, "a", "b"); err == nil {
		t.Errorf("got %s", next.Bytes())
	}
	if _, err := d.With(func() {}, "a"); err == nil {
		t.Error("a function is no value")
	}
}

// L-17: a writer of manifest.soul.* by this edit touches nothing else.
func TestL17AnEditOfSoulTouchesNothingElse(t *testing.T) {
	const in = "{\n  // mine\n  \"manifest\": {\n    \"soul\": {\"delay\": 30, \"voice\": \"inner\"}, // of soul\n    \"llm\": {\"api_key\" : \"k\" ,},\n  },\n}\n"
	d, err := preset.ParseDoc([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	next, err := d.With(json.Number("120.5"), "manifest", "soul", "delay")
	if want := strings.Replace(in, "30", "120.5", 1); err != nil || string(next.Bytes()) != want {
		t.Errorf("got %s, %v", next.Bytes(), err)
	}
}

func FuzzParseDoc(f *testing.F) {
	for _, s := range []string{
		swapInit, plainInit, presetB, "", "\ufeff{}", "{\"api_key\": \"sk-live-zzzz\" \"x\":1}", "{\"api_key\": sk-live-zzzz}", "[1,/*\n*/]//",
		"{\"a\":1,\"a\":2}", "{\"api_key\":\"sk-live-zzzz\n\"}", "\"\\ud800\"", "[[[[", "{\"shell\":\"x shell x\"", "//\u2028\n1",
		"// " + strings.Repeat("\t", 400) + "\xff\x7f" + strings.Repeat("\t", 9), "// " + strings.Repeat("a ", 400) + "\xff",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := preset.ParseDoc(data)
		if err == nil {
			if !bytes.Equal(d.Bytes(), data) {
				t.Fatalf("%q came back as %q", data, d.Bytes())
			}
			return
		}
		var bad *preset.SyntaxError
		if !errors.As(err, &bad) || bad.Line < 1 || bad.Column < 1 || bad.Line > bytes.Count(data, []byte("\n"))+1 {
			t.Fatalf("%q: %v", data, err)
		}
		if utf8.RuneCountInString(bad.Excerpt) > 300 {
			t.Fatalf("%q: the excerpt has %d characters", data, utf8.RuneCountInString(bad.Excerpt))
		}
		for _, word := range strings.FieldsFunc(bad.Excerpt, func(r rune) bool { return strings.ContainsRune(" \t{}[]:,\"", r) }) {
			if !harmless(word) {
				t.Fatalf("%q: the excerpt says %q", data, word)
			}
		}
	})
}

// harmless are the words that an excerpt of what is fuzzed here may have.
func harmless(word string) bool {
	return strings.Trim(word, "…") == "" || word == "//" || preset.Public(word)
}

// FuzzWith: an edit of one path leaves all other members, their order and every
// remark outside the value as they were.
func FuzzWith(f *testing.F) {
	for _, s := range []string{
		swapInit, plainInit, presetB, "{}", "{\"manifest\":{}}", "{\"manifest\":{\"preset\":{\"active\":1,\"active\":2,}},}//", "{\"manifest\":1}",
		"{/*a*/\"manifest\"/*b*/:/*c*/{/*d*/\"preset\"/*e*/:/*f*/{/*g*/\"active\"/*h*/:/*i*/\"x\"/*j*/,/*k*/}/*l*/,/*m*/}/*n*/}//o",
		"{\r\n\"manifest\" : {\r\n}\r\n}", "\ufeff{ // x\n}",
	} {
		f.Add([]byte(s), "presets/b.json")
	}
	f.Fuzz(func(t *testing.T, data []byte, value string) {
		d, err := preset.ParseDoc(data)
		if err != nil || !utf8.ValidString(value) {
			return
		}
		path := []string{"manifest", "preset", "active"}
		next, err := d.With(value, path...)
		old := at(d.Value, path)
		switch old.(type) {
		case map[string]any, []any:
			return // remarks in the value go with it
		}
		if err != nil {
			return // through something that is no object
		}
		if old != nil {
			// What stands before and behind the value is the same, to the byte.
			start, end := d.Span(path...)
			was, is := withoutMark(d), withoutMark(next)
			if !bytes.HasPrefix(is, was[:start]) || !bytes.HasSuffix(is[start:], was[end:]) {
				t.Fatalf("%q became %q", was, is)
			}
		}
		if want := with(d.Value, value, path); !reflect.DeepEqual(next.Value, want) {
			t.Fatalf("%q became %q: got %v, want %v", data, next.Bytes(), next.Value, want)
		}
		if got, want := remarks(t, next.Bytes()), remarks(t, d.Bytes()); !isPart(want, got) {
			t.Fatalf("%q became %q: remarks were %q, are %q", data, next.Bytes(), want, got)
		}
		if again, err := next.With(value, path...); err != nil || !bytes.Equal(again.Bytes(), next.Bytes()) {
			t.Fatalf("%q is not kept: %q, %v", next.Bytes(), again.Bytes(), err)
		}
	})
}

func withoutMark(d *preset.Doc) []byte { return bytes.TrimPrefix(d.Bytes(), []byte("\ufeff")) }

// at returns what is at a path of a value.
func at(v any, path []string) any {
	for _, key := range path {
		o, _ := v.(map[string]any)
		v = o[key]
	}
	return v
}

// with returns a value with another one at a path.
func with(v any, value string, path []string) any {
	if len(path) == 0 {
		return value
	}
	o := map[string]any{}
	if have, ok := v.(map[string]any); ok {
		for key, other := range have {
			o[key] = other
		}
	}
	o[path[0]] = with(o[path[0]], value, path[1:])
	return o
}

// remarks returns the remarks of a text, in order.
func remarks(t *testing.T, text []byte) (all []string) {
	t.Helper()
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		var end int
		switch {
		case text[i] == '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			continue
		case bytes.HasPrefix(rest, []byte("//")):
			if end = bytes.IndexByte(rest, '\n'); end < 0 {
				end = len(rest)
			}
		case bytes.HasPrefix(rest, []byte("/*")):
			end = bytes.Index(rest[2:], []byte("*/")) + 4
		default:
			continue
		}
		all = append(all, strings.TrimSpace(string(rest[:end])))
		i += end - 1
	}
	return all
}

// isPart reports whether all of want are in got, in their order.
func isPart(want, got []string) bool {
	for _, w := range want {
		i := slices.Index(got, w)
		if i < 0 {
			return false
		}
		got = got[i+1:]
	}
	return true
}
