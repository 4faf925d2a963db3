package transcript_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/substrate-tools/substrate/lib/transcript"
)

func TestNewest(t *testing.T) {
	for _, c := range []struct {
		sizes        []int
		limit        int
		taken, bytes int
	}{
		{nil, 0, 0, 0},
		{nil, 10, 0, 0},
		{[]int{34, 47, 36}, 0, 3, 117},
		{[]int{34, 47, 36}, 117, 3, 117},
		{[]int{34, 47, 36}, 116, 2, 83},
		{[]int{34, 47, 36}, 70, 1, 36}, // the first would fit, but not without a hole
		{[]int{34, 47, 36}, 36, 1, 36},
		{[]int{34, 47, 36}, 35, 0, 0}, // none is cut
		{[]int{1, 1, 1}, 1, 1, 1},
	} {
		if taken, bytes := transcript.Newest(c.sizes, c.limit); taken != c.taken || bytes != c.bytes {
			t.Errorf("%v within %d: got %d, %d bytes; want %d, %d", c.sizes, c.limit, taken, bytes, c.taken, c.bytes)
		}
	}
}

// As many as fit are taken, not one less, and going on before them reaches every entry once.
func TestNewestIsTheMost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(1, 100), 0, 50).Draw(t, "sizes")
		limit := rapid.IntRange(100, 400).Draw(t, "limit")
		for rest := sizes; len(rest) > 0; {
			taken, bytes := transcript.Newest(rest, limit)
			sum := 0
			for _, n := range rest[len(rest)-taken:] {
				sum += n
			}
			if taken == 0 || sum != bytes || bytes > limit {
				t.Fatalf("%v within %d: %d, %d bytes", rest, limit, taken, bytes)
			}
			if rest = rest[:len(rest)-taken]; len(rest) > 0 && bytes+rest[len(rest)-1] <= limit {
				t.Fatalf("one more would fit: %v", rest)
			}
		}
	})
}

func TestSizeOfIsThatOfTheText(t *testing.T) {
	for _, body := range []string{"", "x", "two\n\nlines", "\u65e5\u672c", "\xff\x00"} {
		e := room(body)[0]
		if got := transcript.SizeOf(e); got != len(transcript.Text(e)) {
			t.Errorf("%q: got %d, want %d", body, got, len(transcript.Text(e)))
		}
	}
}
