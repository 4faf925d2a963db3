package room_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

func post(t *testing.T, r room.Rooms, key store.Key, d room.Draft) record.Posted {
	t.Helper()
	posted, err := r.Post(t.Context(), key, d)
	if err != nil {
		t.Fatal(err)
	}
	return posted
}

func version(n int) *int { return &n }

func TestPostReturnsAReceipt(t *testing.T) {
	r, key := open(t)
	got := post(t, r, key, room.Draft{As: "dan", Body: "  hello\n"})
	want := record.Posted{
		Type: "posted", Root: key.Space, Thread: "design", Entry: "20260706T131503000Z__dan.md", Author: "dan",
		Version: 1, Next: "ann",
	}
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	stands(t, r, key, 1, "ann")
}

func TestTheClockMayStepBack(t *testing.T) {
	r, key := open(t)
	first := post(t, r, key, room.Draft{As: "dan", Body: "a"})
	r.Now = func() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }
	second := post(t, r, key, room.Draft{As: "ann", Body: "b"})
	if second.Entry != "20260706T131503001Z__ann.md" || second.Entry <= first.Entry {
		t.Errorf("got %s after %s", second.Entry, first.Entry)
	}
}

// Where several things are wrong, the first of this order is told.
func TestPostRefusesInOrder(t *testing.T) {
	r, key := open(t)
	first := post(t, r, key, room.Draft{As: "dan", Body: "a", ID: "k"}) // the floor is ann's now
	stale := version(99)
	for _, c := range []struct {
		what string
		d    room.Draft
		code fault.Code
	}{
		{"a bad body before all", room.Draft{As: "dan", Body: "", ID: "k", Expect: stale}, fault.BadInput},
		{"no name", room.Draft{As: "Dan", Body: "x", Expect: stale}, fault.InvalidName},
		{"a stranger", room.Draft{As: "zoe", Body: "x", Expect: stale}, fault.UnknownParticipant},
		{"registered, not in the room", room.Draft{As: "eve", Body: "x", Expect: stale}, fault.NotInThread},
		{"out of turn before stale", room.Draft{As: "bob", Body: "x", Expect: stale}, fault.NotYourTurn},
		{"stale before a bad hand-over", room.Draft{As: "ann", Body: "x", Expect: stale, To: "bob"}, fault.Stale},
		{"only the moderator hands over", room.Draft{As: "ann", Body: "x", To: "bob"}, fault.NotModerator},
		{"another's id is no repeat", room.Draft{As: "bob", Body: "x", ID: "k"}, fault.NotYourTurn},
	} {
		_, err := r.Post(t.Context(), key, c.d)
		refused(t, c.what, err, c.code)
		if f := fault.From(err); f != nil && f.Thread != "design" {
			t.Errorf("%s: in room %q", c.what, f.Thread)
		}
	}
	stands(t, r, key, 1, "ann")

	again := post(t, r, key, room.Draft{As: "dan", Body: "another", ID: "k", Expect: stale, To: "zoe"})
	want := first
	want.Duplicate = true
	if again != want {
		t.Errorf("a repeated id: got %+v, want %+v", again, want)
	}

	if _, err := r.Moderate(t.Context(), key, "dan", room.End); err != nil {
		t.Fatal(err)
	}
	for _, who := range []string{"ann", "bob", "eve", "zoe"} {
		_, err := r.Post(t.Context(), key, room.Draft{As: who, Body: "x", Expect: stale})
		refused(t, "ended, "+who, err, fault.Ended)
	}
	if again := post(t, r, key, room.Draft{As: "dan", Body: "x", ID: "k"}); !again.Duplicate || again.Entry != first.Entry {
		t.Errorf("a repeated id in an ended room: got %+v", again)
	}
}

func TestARefusalSaysWhereTheRoomStands(t *testing.T) {
	r, key := open(t)
	_, err := r.Post(t.Context(), key, room.Draft{As: "dan", Body: "x", Expect: version(7)})
	f := fault.From(err)
	if f.Current != "dan" || f.Version == nil || *f.Version != 0 || f.Message != `stale version: expected 7, found 0 in "design"` {
		t.Errorf("got %+v", f)
	}
	_, err = r.Post(t.Context(), store.Key{Space: key.Space, Room: "none"}, room.Draft{As: "dan", Body: "x"})
	refused(t, "no such room", err, fault.UnknownThread)
}

func TestExpect(t *testing.T) {
	r, key := open(t)
	post(t, r, key, room.Draft{As: "dan", Body: "a", Expect: version(0)})
	for _, n := range []int{-1, 0, 2} {
		_, err := r.Post(t.Context(), key, room.Draft{As: "ann", Body: "x", Expect: version(n)})
		refused(t, fmt.Sprint(n), err, fault.Stale)
	}
	post(t, r, key, room.Draft{As: "ann", Body: "b", Expect: version(1)})
	stands(t, r, key, 2, "bob")
}

func TestToHandsTheFloorOver(t *testing.T) {
	r, key := open(t)
	if got := post(t, r, key, room.Draft{As: "dan", Body: "a", To: "bob"}); got.Next != "bob" {
		t.Errorf("got %+v", got)
	}
	post(t, r, key, room.Draft{As: "bob", Body: "b"})
	_, err := r.Post(t.Context(), key, room.Draft{As: "dan", Body: "x", To: "eve"})
	refused(t, "to somebody who is not in the order", err, fault.NotInThread)
	if got := post(t, r, key, room.Draft{As: "dan", Body: "c", To: "dan"}); got.Next != "dan" || !got.Paused {
		t.Errorf("to himself: got %+v", got)
	}
}

func TestAnIDIsKnownForSixtyFourEntriesOfItsAuthor(t *testing.T) {
	r, key := open(t)
	if store.IDWindow != 64 {
		t.Fatalf("the window is %d", store.IDWindow)
	}
	// Entries of others do not count.
	first := post(t, r, key, room.Draft{As: "dan", Body: "0", ID: "k", To: "ann"})
	post(t, r, key, room.Draft{As: "ann", Body: "a"})
	post(t, r, key, room.Draft{As: "bob", Body: "b"})
	for i := 1; i < 64; i++ {
		post(t, r, key, room.Draft{As: "dan", Body: fmt.Sprint(i), ID: fmt.Sprint("k", i), To: "dan"})
	}
	if got := post(t, r, key, room.Draft{As: "dan", Body: "x", ID: "k"}); !got.Duplicate || got.Entry != first.Entry || got.Version != 1 {
		t.Errorf("the 64th entry from the end: got %+v", got)
	}
	post(t, r, key, room.Draft{As: "dan", Body: "64", To: "dan"})
	if got := post(t, r, key, room.Draft{As: "dan", Body: "x", ID: "k", To: "dan"}); got.Duplicate || got.Version != 68 {
		t.Errorf("the 65th: got %+v", got)
	}
}

func TestPassWords(t *testing.T) {
	r, key := open(t)
	who := "dan"
	for body, pass := range map[string]bool{
		"pass": true, " PASS\n": true, "no-op": true, "...": true, "pass.": false, "I pass": false, "....": false,
	} {
		got := post(t, r, key, room.Draft{As: who, Body: body})
		if got.Pass != pass || strings.HasSuffix(got.Entry, "__no-op.md") != pass {
			t.Errorf("%q: got %+v", body, got)
		}
		who = got.Next
	}
	stands(t, r, key, 7, "ann")
}

func TestBadDraftsWriteNothing(t *testing.T) {
	r, key := open(t)
	r.MaxBody = 10
	for _, c := range []struct {
		what string
		d    room.Draft
		code fault.Code
		says string
	}{
		{"above the limit", room.Draft{Body: strings.Repeat("x", 11)}, fault.TooLarge, "body is larger than 10 bytes"},
		{"above the limit with white space", room.Draft{Body: "x" + strings.Repeat(" ", 10)}, fault.TooLarge, "body is larger than 10 bytes"},
		{"empty", room.Draft{Body: ""}, fault.BadInput, "empty body"},
		{"white space", room.Draft{Body: " \n\t\u00a0\u3000"}, fault.BadInput, "empty body"},
		{"a NUL", room.Draft{Body: "abc\x00d"}, fault.BadInput, "body has a NUL at byte 3"},
		{"invalid UTF-8", room.Draft{Body: "\u00e4bc\xff"}, fault.BadInput, "body is not valid UTF-8 at byte 4"},
		{"cut off UTF-8", room.Draft{Body: "ab\xe2\x82"}, fault.BadInput, "body is not valid UTF-8 at byte 2"},
		{"a surrogate", room.Draft{Body: "\ufffd\xed\xa0\x80"}, fault.BadInput, "body is not valid UTF-8 at byte 3"},
		{"long id", room.Draft{Body: "x", ID: strings.Repeat("k", 129)}, fault.BadInput, "id is not 1 to 128 printable ASCII characters"},
		{"id of two lines", room.Draft{Body: "x", ID: "a\nb"}, fault.BadInput, "id is not 1 to 128 printable ASCII characters"},
		{"id with an umlaut", room.Draft{Body: "x", ID: "\u00e4"}, fault.BadInput, "id is not 1 to 128 printable ASCII characters"},
	} {
		c.d.As = "dan"
		_, err := r.Post(t.Context(), key, c.d)
		refused(t, c.what, err, c.code)
		if err != nil && err.Error() != c.says {
			t.Errorf("%s: got %q", c.what, err)
		}
	}
	stands(t, r, key, 0, "dan")
	post(t, r, key, room.Draft{As: "dan", Body: strings.Repeat("x", 10), ID: strings.Repeat("k", 128)})
	post(t, r, key, room.Draft{As: "ann", Body: "a\ufffdb\x1b", ID: " ~"})
	stands(t, r, key, 2, "bob")
}

func TestIndented(t *testing.T) {
	for body, want := range map[string]bool{
		"    code": true, "\tcode": true, "\n\n    code\nx": true, "\r\n\tx": true,
		"": false, "x": false, "   x": false, "x\n    code": false,
	} {
		if got := room.Indented(body); got != want {
			t.Errorf("%q: got %v", body, got)
		}
	}
}
