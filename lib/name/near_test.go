package name_test

import (
	"slices"
	"testing"

	"github.com/substrate-tools/substrate/lib/name"
)

func TestNear(t *testing.T) {
	have := []string{"dan", "ann", "claude", "claude-2", "architecture", "backlog/wave-1", "backlog/wave-2"}
	for _, c := range []struct {
		s    string
		want []string
	}{
		{"dan", []string{"dan"}},
		{"dna", nil}, // two replacements are too many for three letters
		{"dam", []string{"dan"}},
		{"da", []string{"dan"}},
		{"DAN", []string{"dan"}},
		{"claud", []string{"claude", "claude-2"}},
		{"architectur", []string{"architecture"}},
		{"arch", []string{"architecture"}}, // a beginning is near, however short
		{"archtecure", []string{"architecture"}},
		{"backlog/wave-3", []string{"backlog/wave-1", "backlog/wave-2"}},
		{"nobody", nil},
		{"\xff\xff\xff\xff", nil},
	} {
		if got := name.Near(c.s, have); !slices.Equal(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.s, got, c.want)
		}
	}
}

func TestNearestComesFirst(t *testing.T) {
	got := name.Near("room-one", []string{"room-two", "room-ones", "room-one"})
	if !slices.Equal(got, []string{"room-one", "room-ones", "room-two"}) {
		t.Errorf("got %q", got)
	}
}

func TestNearNamesThreeAtMost(t *testing.T) {
	if got := name.Near("a1", []string{"a2", "a3", "a4", "a5"}); !slices.Equal(got, []string{"a2", "a3", "a4"}) {
		t.Errorf("got %q", got)
	}
	if got := name.Near("x", nil); len(got) != 0 {
		t.Errorf("got %q of none", got)
	}
}
