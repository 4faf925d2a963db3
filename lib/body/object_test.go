package body_test

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/body"
)

func TestWhatWeDoNotKnowSurvives(t *testing.T) {
	const text = "{\n  \"z\": 1.50,\n  \"a\": {\"y\": [1,  2], \"x\": null},\n  \"é<&>\": \"\\u00e9\",\n  \"big\": 123456789012345678901234567890\n}"
	o, err := body.ParseObject([]byte(text))
	do(t, err)
	do(t, o.Set("state", "idle"))
	do(t, o.Set("a2", map[string]any{"k": "<b>"}))
	o.Delete("z")
	o.Delete("never")
	const want = `{"a":{"y":[1,2],"x":null},"é<&>":"\u00e9","big":123456789012345678901234567890,"state":"idle","a2":{"k":"<b>"}}`
	if got := string(o.Compact()); got != want {
		t.Errorf("got %s", got)
	}
	if got := string(o.Indented()); !strings.HasPrefix(got, "{\n  \"a\": {\n    \"y\": [\n") || !strings.HasSuffix(got, "}\n") {
		t.Errorf("got %s", got)
	}
	if !slices.Equal(o.Keys(), []string{"a", "é<&>", "big", "state", "a2"}) {
		t.Errorf("got %q", o.Keys())
	}
	again, err := json.Marshal(struct{ O *body.Object }{o})
	if err != nil || !bytes.Contains(again, []byte(`"a":{"y":[1,2],"x":null}`)) {
		t.Errorf("got %s, %v", again, err)
	}
}

func TestNoObject(t *testing.T) {
	for _, bad := range []string{
		"", " ", "{", "}", "[]", "null", "1", `"a"`, `{"a":}`, `{"a":1,}`, `{"a":1} {}`, `{"a":1}x`, "{\"a\":\"\xff\"}", `{'a':1}`,
		"\ufeff{}", `{"a":NaN}`, `{1:2}`, "{\"a\":\"\n\"}", "// c\n{}", strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000),
	} {
		if o, err := body.ParseObject([]byte(bad)); err == nil {
			t.Errorf("%.40q: got %s", bad, o.Compact())
		}
	}
}

func TestValues(t *testing.T) {
	o, err := body.ParseObject([]byte(`{"t":"x","n":2.5,"null":null,"zero":0,"no":false,"yes":true,"e":"","l":[],"l1":[0],"o":{},"o1":{"a":"b"},"d":1,"d":2}`))
	do(t, err)
	if o.Text("t") != "x" || o.Text("n") != "" || o.Text("never") != "" || o.Number("n") != 2.5 || o.Number("t") != 0 || o.Number("d") != 2 {
		t.Error("texts and numbers")
	}
	for key, want := range map[string]bool{
		"t": true, "n": true, "yes": true, "l1": true, "o1": true, "null": false, "zero": false, "no": false, "e": false, "l": false,
		"o": false, "never": false,
	} {
		if o.Truthy(key) != want {
			t.Errorf("%s: got %v", key, !want)
		}
	}
	if !o.Null("null") || !o.Null("never") || o.Null("zero") || o.Null("o") {
		t.Error("null")
	}
	if o.Sub("o1").Text("a") != "b" || len(o.Sub("t").Keys())+len(o.Sub("never").Keys()) != 0 {
		t.Error("sub")
	}
	if err := o.Set("bad", math.NaN()); err == nil || o.Get("bad") != nil {
		t.Errorf("got %v", err)
	}
	var zero body.Object
	do(t, zero.Set("a", 1))
	if got := string(zero.Compact()); got != `{"a":1}` {
		t.Errorf("got %s", got)
	}
	if got := string((&body.Object{}).Indented()); got != "{}\n" {
		t.Errorf("got %q", got)
	}
}

// FuzzObject checks what .agent.json and every other file of an agent's goes through.
func FuzzObject(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1,"b":[{"c":null}],"a":2}`, `{"é":"\u0000\ud800"}`, `{"a":1e999}`, `{"a"`, "[]", "\xff"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := body.ParseObject(data)
		if err != nil {
			return
		}
		var any map[string]json.RawMessage
		if err := json.Unmarshal(data, &any); err != nil {
			t.Fatalf("taken, but %v", err)
		}
		once := o.Compact()
		again, err := body.ParseObject(once)
		if err != nil || !bytes.Equal(again.Compact(), once) || !slices.Equal(again.Keys(), o.Keys()) {
			t.Fatalf("%q became %q, %v", data, once, err)
		}
		if again, err := body.ParseObject(o.Indented()); err != nil || !bytes.Equal(again.Compact(), once) {
			t.Fatalf("%q: indented: %v", data, err)
		}
	})
}
