package home_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/name"
)

func TestTwentyAtOnceAllLand(t *testing.T) {
	h := machine(t, nil)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			// Half of them have a directory name in common.
			root := fmt.Sprintf("/w/%d/atlas", i)
			if i%2 == 0 {
				root = fmt.Sprintf("/w/space-%d", i)
			}
			if _, err := h.Add(t.Context(), "", root); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	spaces, bad, err := h.Spaces()
	if len(spaces) != 20 || len(bad) > 0 || err != nil {
		t.Fatalf("got %d: %v, %v, %v", len(spaces), spaces, bad, err)
	}
	var roots []string
	for _, s := range spaces {
		if h.Label(s.Root) != s.Label {
			t.Errorf("%s has label %q", s.Root, h.Label(s.Root))
		}
		roots = append(roots, s.Root)
	}
	slices.Sort(roots)
	if len(slices.Compact(roots)) != 20 {
		t.Errorf("got %q", roots)
	}
}

func TestAddRemembersInOrder(t *testing.T) {
	h := machine(t, nil)
	for _, s := range []home.Space{{"zeta", "/w/z"}, {"team/alpha", "/w/a b"}, {"0123", "/w/no"}, {"no", "/w/null"}} {
		if label, err := h.Add(t.Context(), s.Label, s.Root); label != s.Label || err != nil {
			t.Fatalf("got %q, %v", label, err)
		}
	}
	spaces, bad, err := h.Spaces()
	want := []home.Space{{"zeta", "/w/z"}, {"team/alpha", "/w/a b"}, {"0123", "/w/no"}, {"no", "/w/null"}}
	if !slices.Equal(spaces, want) || len(bad) > 0 || err != nil {
		t.Errorf("got %v, %v, %v", spaces, bad, err)
	}
}

func TestAddRefuses(t *testing.T) {
	h := machine(t, nil)
	if _, err := h.Add(t.Context(), "a", "/w/a"); err != nil {
		t.Fatal(err)
	}
	holds(t, h, "spaces.yaml", "spaces:\n    a: /w/a\n")
	for what, c := range map[string]struct {
		label, root string
		code        fault.Code
	}{
		"a label of another": {"a", "/w/b", fault.Exists},
		"no label":           {"A", "/w/b", fault.InvalidName},
		"no label either":    {"a..b", "/w/b", fault.InvalidName},
	} {
		if _, err := h.Add(t.Context(), c.label, c.root); !fault.Is(err, c.code) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	holds(t, h, "spaces.yaml", "spaces:\n    a: /w/a\n")
}

func TestARegisteredRootKeepsItsLabel(t *testing.T) {
	h := machine(t, nil)
	for _, label := range []string{"mine", "", "mine"} {
		if got, err := h.Add(t.Context(), label, "/w/atlas"); got != "mine" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	holds(t, h, "spaces.yaml", "spaces:\n    mine: /w/atlas\n")
}

func TestLabelsAreMadeOfDirectoryNames(t *testing.T) {
	h := machine(t, nil)
	long := strings.Repeat("x", 200)
	for _, c := range []struct{ root, label string }{
		{"/w/atlas", "atlas"},
		{"/v/atlas", "atlas-2"},
		{"/u/atlas", "atlas-3"},
		{"/w/My Project", "my-project"},
		{"/w/a_b.c", "a-b-c"},
		{"/w/-x-", "x"},
		{"/w/\u65e5\u672c", "space"},
		{"/", "space-2"},
		{"/w/" + long, strings.Repeat("x", 56)},
		{"/v/" + long, strings.Repeat("x", 56) + "-2"},
		{"/w/" + strings.Repeat("x", 55) + " y", strings.Repeat("x", 55)},
		{"/w/no", "no"},
	} {
		got, err := h.Add(t.Context(), "", c.root)
		if got != c.label || err != nil || !name.Valid(got) {
			t.Errorf("%s: got %q, %v; want %q", c.root, got, err, c.label)
		}
	}
}

func TestCommentsAndUnknownKeysSurvive(t *testing.T) {
	const before = "# mine\nmore: {x: 1}\nspaces:\n  # work\n  a: /w/a # the first\n  b: /w/b\nlast: true\n"
	h := machine(t, map[string]string{"spaces.yaml": before})
	if _, err := h.Add(t.Context(), "c", "/w/c"); err != nil {
		t.Fatal(err)
	}
	holds(t, h, "spaces.yaml",
		"# mine\nmore: {x: 1}\nspaces:\n  # work\n  a: /w/a # the first\n  b: /w/b\n  c: /w/c\nlast: true\n")
	if gone, err := h.Remove(t.Context(), "/w/c"); err != nil || gone != (home.Space{Label: "c", Root: "/w/c"}) {
		t.Fatalf("got %v, %v", gone, err)
	}
	holds(t, h, "spaces.yaml", before)
	if gone, err := h.Remove(t.Context(), "b"); err != nil || gone != (home.Space{Label: "b", Root: "/w/b"}) {
		t.Fatalf("got %v, %v", gone, err)
	}
	holds(t, h, "spaces.yaml", strings.Replace(before, "  b: /w/b\n", "", 1))
	if _, err := h.Remove(t.Context(), "b"); !fault.Is(err, fault.NotASpace) {
		t.Errorf("got %v", err)
	}
}

func TestABadItemIsSkippedAndNamed(t *testing.T) {
	const text = "spaces:\n  good: /w/good\n  Bad_Label: /w/bad\n  relative: w/rel\n  list: [a]\n  empty:\n  fine: /w/fine\n"
	h := machine(t, map[string]string{"spaces.yaml": text})
	spaces, bad, err := h.Spaces()
	if err != nil || !slices.Equal(spaces, []home.Space{{"good", "/w/good"}, {"fine", "/w/fine"}}) {
		t.Errorf("got %v, %v", spaces, err)
	}
	for i, names := range []string{"Bad_Label", "relative", "list", "empty"} {
		if len(bad) != 4 || !strings.Contains(bad[i].Error(), names) ||
			!strings.Contains(bad[i].Error(), filepath.Join(h.Dir(), "spaces.yaml")) {
			t.Errorf("%s is not named: %v", names, bad)
		}
	}
	if _, err := h.Add(t.Context(), "", "/w/more"); err != nil {
		t.Errorf("no way on: %v", err)
	}
	holds(t, h, "spaces.yaml", text+"  more: /w/more\n")
	if gone, err := h.Remove(t.Context(), "Bad_Label"); err != nil || gone.Root != "/w/bad" {
		t.Errorf("it cannot be removed: %v, %v", gone, err)
	}
}

func TestARootUnderABadLabelGetsAGoodOne(t *testing.T) {
	h := machine(t, map[string]string{"spaces.yaml": "spaces:\n  Bad_Label: /w/atlas\n"})
	label, err := h.Add(t.Context(), "", "/w/atlas")
	if label != "atlas" || err != nil || h.Label("/w/atlas") != "atlas" {
		t.Errorf("got %q, %v; listed as %q", label, err, h.Label("/w/atlas"))
	}
}
