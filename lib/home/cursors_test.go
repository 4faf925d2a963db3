package home_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/home"
)

const cursors = "attend-cursors.yaml"

func TestCursorsComeBack(t *testing.T) {
	h := machine(t, nil)
	if c, err := h.Cursor("ann", "/w/a", "design"); err != nil || c != (home.Cursor{}) {
		t.Errorf("from nowhere: %+v, %v", c, err)
	}
	if _, err := os.Stat(filepath.Join(h.Dir(), cursors)); err == nil {
		t.Error("looking made the file")
	}
	for i, c := range []struct{ who, root, room string }{
		{"ann", "/w/a", "design"},
		{"ann", "/w/a", "team/design"},
		{"ann", "/w/b", "design"},
		{"bob", "/w/a", "design"},
		{"team/bob.2", "/w/with: colon # and \"quotes\"", "design"},
		{"1e3", "/w::x", "0x10"},
		{"null", "/日本語", "true"},
	} {
		want := home.Cursor{Entry: fmt.Sprintf("20260706T1315%02d000Z__dan.md", i), Line: 3*i + 1}
		if err := h.SetCursor(t.Context(), c.who, c.root, c.room, home.Cursor{Entry: "20260706T131500000Z__old.md", Line: 9}); err != nil {
			t.Fatal(err)
		}
		if err := h.SetCursor(t.Context(), c.who, c.root, c.room, want); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Cursor(c.who, c.root, c.room); err != nil || got != want {
			t.Errorf("%+v: got %+v, %v", c, got, err)
		}
	}
	// None took the place of another.
	if c, err := h.Cursor("ann", "/w/a", "design"); err != nil || c.Entry != "20260706T131500000Z__dan.md" || c.Line != 1 {
		t.Errorf("got %+v, %v", c, err)
	}
	if c, err := h.Cursor("ann", "/w/a::team", "design"); err != nil || c != (home.Cursor{}) {
		t.Errorf("of nobody: %+v, %v", c, err)
	}
}

func TestACursorIsWrittenAsTheFormatSays(t *testing.T) {
	h := machine(t, nil)
	if err := h.SetCursor(t.Context(), "ann", "/w/a", "design", home.Cursor{Entry: "20260706T131502084Z__dan.md", Line: 4}); err != nil {
		t.Fatal(err)
	}
	holds(t, h, cursors, "cursors:\n    ann:\n        /w/a::design:\n            last_entry: \"20260706T131502084Z__dan.md\"\n            next_line: 4\n")
}

func TestWhatElseIsInTheFileSurvives(t *testing.T) {
	h := machine(t, map[string]string{cursors: `# mine
version: 3
cursors:
    ann:
        "/w/a::design":
            last_entry: 20260706T131502084Z__dan.md # here
            next_line: 4
            seen: yes
    bob: {}
`})
	if err := h.SetCursor(t.Context(), "ann", "/w/a", "design", home.Cursor{Entry: "20260706T131503000Z__dan.md", Line: 7}); err != nil {
		t.Fatal(err)
	}
	holds(t, h, cursors, `# mine
version: 3
cursors:
    ann:
        "/w/a::design":
            last_entry: "20260706T131503000Z__dan.md" # here
            next_line: 7
            seen: yes
    bob: {}
`)
}

func TestCursorsThatMakeNoSense(t *testing.T) {
	for what, text := range map[string]string{
		"no YAML":            "cursors: {",
		"a list":             "- a\n",
		"cursors a list":     "cursors: [a]\n",
		"the name's a list":  "cursors: {ann: [a]}\n",
		"the room's a word":  "cursors: {ann: {\"/w/a::design\": x}}\n",
		"the entry's a list": "cursors: {ann: {\"/w/a::design\": {last_entry: [a], next_line: 1}}}\n",
		"the line's a word":  "cursors: {ann: {\"/w/a::design\": {last_entry: a, next_line: x}}}\n",
		"binary":             "\x00\xff\xfe",
		"conflict-marked":    "<<<<<<< ours\ncursors: {}\n=======\n>>>>>>> theirs\n",
	} {
		h := machine(t, map[string]string{cursors: text})
		c, err := h.Cursor("ann", "/w/a", "design")
		if c != (home.Cursor{}) || err == nil {
			t.Errorf("%s: got %+v, %v", what, c, err)
			continue
		}
		refused(t, what, err, fault.Corrupt)
		// What does not parse is not written over.
		if what == "no YAML" || what == "binary" || what == "conflict-marked" || what == "a list" {
			err := h.SetCursor(t.Context(), "ann", "/w/a", "design", home.Cursor{Entry: "e", Line: 1})
			refused(t, what, err, fault.Corrupt)
			holds(t, h, cursors, text)
		}
	}
}

func refused(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func TestTwentyCursorsAtOnceAllLand(t *testing.T) {
	h := machine(t, nil)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			if err := h.SetCursor(t.Context(), fmt.Sprint("a", i), "/w", "r", home.Cursor{Entry: "e", Line: i + 1}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	for i := range 20 {
		if c, err := h.Cursor(fmt.Sprint("a", i), "/w", "r"); err != nil || c.Line != i+1 {
			t.Errorf("a%d: got %+v, %v", i, c, err)
		}
	}
}
