package room_test

import (
	"slices"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// bodies reads a part to the end.
func bodies(t *testing.T, rd *room.Reading) (all []string) {
	t.Helper()
	for e, err := range rd.Entries() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Body)
	}
	return all
}

func TestReadIsBoundedInWholeEntries(t *testing.T) {
	r, key := open(t)
	var names []string
	for who, body := range []string{"one", "two", "three"} {
		names = append(names, post(t, r, key, room.Draft{As: []string{"dan", "ann", "bob"}[who], Body: body}).Entry)
	}
	post(t, r, key, room.Draft{As: "dan", Body: "pass"})
	size := len(transcript.Text(transcript.Entry{Author: "dan", Body: "one"})) // "two" takes as many
	for _, c := range []struct {
		limit int
		want  []string
		next  string
	}{
		{0, []string{"one", "two", "three"}, ""},
		{3*size + 2, []string{"one", "two", "three"}, ""},
		{3*size + 1, []string{"one", "two"}, names[2]},
		{2 * size, []string{"one", "two"}, names[2]},
		{2*size - 1, []string{"one"}, names[1]},
	} {
		rd, err := r.Read(t.Context(), key, store.Part{}, c.limit)
		if err != nil {
			t.Fatal(err)
		}
		got := bodies(t, rd)
		w := rd.Window()
		if !slices.Equal(got, c.want) || w.NextEntry != c.next || w.Entries != len(c.want) || w.Version != 4 || w.TotalLines != 9 ||
			w.StartLine != 1 || w.EndLine != 3*len(c.want) || w.FromEntry != names[0] || w.ThroughEntry != names[len(c.want)-1] {
			t.Errorf("limit %d: got %q, %+v", c.limit, got, w)
		}
	}
}

func TestWindowsDoNotMix(t *testing.T) {
	r, key := open(t)
	for what, part := range map[string]store.Part{
		"two line windows":              {FromLine: 1, LastLines: 1},
		"from a line and an entry":      {FromLine: 1, From: "e"},
		"last lines and up to an entry": {LastLines: 1, Through: "e"},
	} {
		_, err := r.Read(t.Context(), key, part, 0)
		refused(t, what, err, fault.Usage)
	}
}

func TestEntryRecord(t *testing.T) {
	r, key := open(t)
	post(t, r, key, room.Draft{As: "dan", Body: "one"})
	rd, err := r.Read(t.Context(), key, store.Part{}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range rd.Entries() {
		got := room.Entry(key, e)
		if err != nil || got.Type != "entry" || got.Thread != "design" || got.Author != "dan" ||
			got.Time != "2026-07-06T13:15:03.000Z" || got.StartLine != 1 || got.EndLine != 3 || len(got.SHA256) != 64 ||
			got.Bytes != int64(len(transcript.File(e))) || got.Body != "one" {
			t.Errorf("got %+v, %v", got, err)
		}
	}
}
