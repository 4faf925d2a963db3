package room_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// said posts in turn and returns the names of the entries that are no passes.
func said(t testing.TB, r room.Rooms, key store.Key, bodies ...string) []string {
	t.Helper()
	var names []string
	for _, body := range bodies {
		now, err := r.Head(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		posted, err := r.Post(t.Context(), key, room.Draft{As: now.Current, Body: body})
		if err != nil {
			t.Fatal(err)
		}
		if !posted.Pass {
			names = append(names, posted.Entry)
		}
	}
	return names
}

func offered(t testing.TB, r room.Rooms, key store.Key, a room.Ask) record.Offer {
	t.Helper()
	o, err := r.Offer(t.Context(), key, a)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// replayed returns the names and the text of what an offer offered.
func replayed(t testing.TB, r room.Rooms, key store.Key, o record.Offer) (names []string, text string) {
	t.Helper()
	if o.Entries == 0 {
		return nil, ""
	}
	v, err := r.Store.Read(t.Context(), key, room.Replay(o))
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range v.Entries {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
		text += transcript.Text(e)
	}
	return names, text
}

func TestWhatEachPolicyOffers(t *testing.T) {
	r, key := open(t)
	all := said(t, r, key, "one", "pass", "two", "three", "pass")
	passed := "20260706T131504000Z__ann__no-op.md"
	for what, c := range map[string]struct {
		a        room.Ask
		entries  []string
		version  int
		fallback bool
	}{
		"full":                          {room.Ask{Policy: room.Full}, all, 5, false},
		"full through":                  {room.Ask{Policy: room.Full, Through: all[1]}, all[:2], 3, false},
		"explicit from":                 {room.Ask{Policy: room.Explicit, From: all[1]}, all[1:], 5, false},
		"explicit through":              {room.Ask{Policy: room.Explicit, Through: all[0]}, all[:1], 1, false},
		"explicit both":                 {room.Ask{Policy: room.Explicit, From: all[1], Through: all[1]}, all[1:2], 3, false},
		"incremental":                   {room.Ask{Policy: room.Incremental, Cursor: all[0]}, all[1:], 5, false},
		"incremental, at the end":       {room.Ask{Policy: room.Incremental, Cursor: all[2]}, nil, 5, false},
		"incremental, cursor a pass":    {room.Ask{Policy: room.Incremental, Cursor: passed}, all[1:], 5, false},
		"incremental through":           {room.Ask{Policy: room.Incremental, Cursor: all[0], Through: all[1]}, all[1:2], 3, false},
		"incremental, no cursor":        {room.Ask{Policy: room.Incremental}, all, 5, true},
		"incremental, unknown cursor":   {room.Ask{Policy: room.Incremental, Cursor: "20260706T131504000Z__bob.md"}, all, 5, true},
		"incremental, cursor no entry":  {room.Ask{Policy: room.Incremental, Cursor: "config.yaml"}, all, 5, true},
		"incremental, a path as cursor": {room.Ask{Policy: room.Incremental, Cursor: "../design/" + all[0]}, all, 5, true},
	} {
		c.a.For = "ann"
		o := offered(t, r, key, c.a)
		names, text := replayed(t, r, key, o)
		if !slices.Equal(names, c.entries) || o.Entries != len(c.entries) || o.Bytes != len(text) || o.NextEntry != "" {
			t.Errorf("%s: got %+v: %q", what, o, names)
		}
		if o.Version != c.version || o.Fallback != c.fallback || o.Policy != c.a.Policy || o.For != "ann" {
			t.Errorf("%s: got %+v", what, o)
		}
	}
}

func TestOffersThatAreRefused(t *testing.T) {
	r, key := open(t)
	all := said(t, r, key, "one", "pass", "two")
	for what, c := range map[string]struct {
		a    room.Ask
		code fault.Code
	}{
		"for a stranger":       {room.Ask{For: "zed", Policy: room.Full}, fault.UnknownParticipant},
		"for nobody":           {room.Ask{Policy: room.Full}, fault.InvalidName},
		"no policy":            {room.Ask{For: "ann"}, fault.Usage},
		"unknown policy":       {room.Ask{For: "ann", Policy: "some"}, fault.Usage},
		"explicit, no names":   {room.Ask{For: "ann", Policy: room.Explicit}, fault.Usage},
		"explicit, unknown":    {room.Ask{For: "ann", Policy: room.Explicit, From: "20260706T131504000Z__bob.md"}, fault.UnknownEntry},
		"explicit, a pass":     {room.Ask{For: "ann", Policy: room.Explicit, Through: "20260706T131504000Z__ann__no-op.md"}, fault.UnknownEntry},
		"explicit, reversed":   {room.Ask{For: "ann", Policy: room.Explicit, From: all[1], Through: all[0]}, fault.BadInput},
		"full, unknown":        {room.Ask{For: "ann", Policy: room.Full, Through: "x"}, fault.UnknownEntry},
		"incremental, unknown": {room.Ask{For: "ann", Policy: room.Incremental, Cursor: all[0], Through: "x"}, fault.UnknownEntry},
	} {
		_, err := r.Offer(t.Context(), key, c.a)
		refused(t, what, err, c.code)
	}
	_, err := r.Offer(t.Context(), store.Key{Space: key.Space, Room: "nosuch"}, room.Ask{For: "ann", Policy: room.Full})
	refused(t, "no room", err, fault.UnknownThread)
}

// Whole entries within the bound, and going on before them by explicit offers reaches every entry once, whatever the
// sizes are.
func TestPagesOfOffersAreTheRoom(t *testing.T) {
	r, key := open(t)
	var bodies []string
	for i := range 60 {
		body := strings.Repeat("x", 1+i*i%61)
		if i%7 == 3 {
			body = "pass"
		}
		bodies = append(bodies, body)
	}
	all := said(t, r, key, bodies...)
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(92, 2000).Draw(rt, "limit") // the largest entry just fits
		from := rapid.IntRange(0, len(all)-1).Draw(rt, "from")
		through := rapid.IntRange(from, len(all)-1).Draw(rt, "through")
		a := room.Ask{For: "ann", Policy: room.Explicit, From: all[from], Through: all[through], MaxBytes: limit}
		var got []string
		for {
			o, err := r.Offer(t.Context(), key, a)
			if err != nil {
				rt.Fatal(err)
			}
			names, text := replayed(t, r, key, o)
			if o.Bytes > limit || o.Bytes != len(text) || o.Entries == 0 || o.Entries != len(names) {
				rt.Fatalf("within %d: %+v", limit, o)
			}
			got = append(names, got...)
			if o.NextEntry == "" {
				break
			}
			a.Through = o.NextEntry
		}
		if !slices.Equal(got, all[from:through+1]) {
			rt.Fatalf("got %q\nwant %q", got, all[from:through+1])
		}
	})
}

// 32 entries are looked at first, then four times as many.
func TestABoundThatMoreThanAFewFit(t *testing.T) {
	r, key := open(t)
	var bodies []string
	for range 150 {
		bodies = append(bodies, "x")
	}
	all := said(t, r, key, bodies...)
	for _, n := range []int{1, 31, 32, 33, 127, 128, 129, 149, 150} {
		o := offered(t, r, key, room.Ask{For: "ann", Policy: room.Full, MaxBytes: n * 32})
		names, _ := replayed(t, r, key, o)
		if o.Entries != n || o.Bytes != n*32 || !slices.Equal(names, all[len(all)-n:]) {
			t.Errorf("%d: got %+v", n, o)
		}
		if want := append([]string{""}, all...)[len(all)-n]; o.NextEntry != want {
			t.Errorf("%d: next is %q, want %q", n, o.NextEntry, want)
		}
	}
}

func TestAnOfferThroughAnEntryStaysAsItIs(t *testing.T) {
	r, key := open(t)
	all := said(t, r, key, "one", "two", "pass", "three")
	asks := []room.Ask{
		{For: "ann", Policy: room.Full, Through: all[2]},
		{For: "ann", Policy: room.Full, Through: all[2], MaxBytes: 70},
		{For: "ann", Policy: room.Full, Through: all[2], MaxBytes: 5},
		{For: "bob", Policy: room.Explicit, From: all[1], Through: all[2]},
		{For: "bob", Policy: room.Incremental, Cursor: all[0], Through: all[2]},
		{For: "bob", Policy: room.Incremental, Through: all[1]},
	}
	var first []record.Offer
	for _, a := range asks {
		first = append(first, offered(t, r, key, a))
	}
	said(t, r, key, "1", "2", "3", "4", "5", "pass")
	if _, err := r.Moderate(t.Context(), key, "dan", room.Quiet("ann", 2)); err != nil {
		t.Fatal(err)
	}
	for i, a := range asks {
		if now := offered(t, r, key, a); now != first[i] {
			t.Errorf("%+v:\ngot  %+v\nwant %+v", a, now, first[i])
		}
	}
}

func TestWhatAPromptSays(t *testing.T) {
	r, key := open(t)
	o := offered(t, r, key, room.Ask{For: "ann", Policy: room.Full})
	if want := "You are \"ann\" in the room \"design\". Its topic is: which parser?\nThere is nothing in it that you were not offered before.\n"; o.Prompt != want {
		t.Errorf("empty: got %q", o.Prompt)
	}
	all := said(t, r, key, "one", "a much longer second one")
	for limit, want := range map[int][]string{
		0:  {"2 entries", "lines 1 to 6", all[0], all[1]},
		60: {"1 entries", "lines 4 to 6", "did not fit", "substrate-read design --text --through-entry " + all[0]},
		10: {"alone has 55 bytes, more than the 10", "substrate-read design --text --from-entry " + all[1] + " --through-entry " + all[1]},
	} {
		o := offered(t, r, key, room.Ask{For: "ann", Policy: room.Full, MaxBytes: limit})
		for _, w := range want {
			if !strings.Contains(o.Prompt, w) {
				t.Errorf("%d: %q does not say %q", limit, o.Prompt, w)
			}
		}
		if strings.Contains(o.Prompt, "longer") {
			t.Errorf("%d: a body is in the prompt", limit)
		}
	}
}
