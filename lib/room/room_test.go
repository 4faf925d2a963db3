package room_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// The clock of a test moves by a second whenever it is looked at.
func clock() func() time.Time {
	now := time.Date(2026, 7, 6, 13, 15, 0, 0, time.UTC)
	return func() time.Time {
		now = now.Add(time.Second)
		return now
	}
}

// space returns the rooms of a new space that dan, ann, bob and eve are in.
func space(t *testing.T) (room.Rooms, string) {
	t.Helper()
	root, err := files.Init(filepath.Join(t.TempDir(), "s"), []store.Member{
		{Name: "dan", Kind: "human"}, {Name: "ann", Kind: "agent"}, {Name: "bob", Kind: "agent"}, {Name: "eve", Kind: "other"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return room.Rooms{Store: &files.Store{}, Now: clock()}, root
}

// open returns a new room in which dan moderates ann and bob.
func open(t *testing.T) (room.Rooms, store.Key) {
	t.Helper()
	r, root := space(t)
	key := store.Key{Space: root, Room: "design"}
	_, err := r.Open(t.Context(), key, room.Opening{Topic: "which parser?", Moderator: "dan", Order: []string{"ann", "bob"}})
	if err != nil {
		t.Fatal(err)
	}
	return r, key
}

func refused(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

// stands checks a room's version and who holds its floor.
func stands(t *testing.T, r room.Rooms, key store.Key, version int, current string) {
	t.Helper()
	got, err := r.Head(t.Context(), key)
	if err != nil || got.Version != version || got.Current != current {
		t.Errorf("got version %d, %q, %v; want %d, %q", got.Version, got.Current, err, version, current)
	}
}

func TestOpen(t *testing.T) {
	r, key := open(t)
	got, err := r.Head(t.Context(), key)
	if err != nil || !slices.Equal(got.TurnOrder, []string{"dan", "ann", "bob"}) || !got.Paused || got.Status != "active" {
		t.Errorf("got %+v, %v", got, err)
	}
	if got.CreatedAt != "2026-07-06T13:15:02.000Z" || got.FloorSince != got.CreatedAt {
		t.Errorf("created %s, floor since %s", got.CreatedAt, got.FloorSince)
	}
	for what, c := range map[string]struct {
		room string
		o    room.Opening
		code fault.Code
	}{
		"there already":    {"design", room.Opening{Topic: "t", Moderator: "dan", Order: []string{"ann"}}, fault.Exists},
		"no name":          {"Design", room.Opening{Topic: "t", Moderator: "dan", Order: []string{"ann"}}, fault.InvalidName},
		"a Windows device": {"con", room.Opening{Topic: "t", Moderator: "dan", Order: []string{"ann"}}, fault.InvalidName},
		"a stranger":       {"x", room.Opening{Topic: "t", Moderator: "dan", Order: []string{"zoe"}}, fault.UnknownParticipant},
		"one alone":        {"x", room.Opening{Topic: "t", Moderator: "dan", Order: []string{"dan"}}, fault.BadInput},
		"two lines":        {"x", room.Opening{Topic: "a\nb", Moderator: "dan", Order: []string{"ann"}}, fault.BadInput},
	} {
		_, err := r.Open(t.Context(), store.Key{Space: key.Space, Room: c.room}, c.o)
		refused(t, what, err, c.code)
	}
	for found, err := range r.List(t.Context(), key.Space, nil) {
		if found.Thread != "design" || err != nil {
			t.Errorf("a refusal has left %q, %v", found.Thread, err)
		}
	}
}

func TestKnown(t *testing.T) {
	r, root := space(t)
	if err := r.Known(t.Context(), root, "dan"); err != nil {
		t.Error(err)
	}
	refused(t, "a stranger", r.Known(t.Context(), root, "zoe"), fault.UnknownParticipant)
	refused(t, "no name", r.Known(t.Context(), root, "Dan"), fault.InvalidName)
	if hint := fault.From(r.Known(t.Context(), root, "bop")).Hint; hint != "did you mean bob?" {
		t.Errorf("got hint %q", hint)
	}
}

func TestListGoesOnAfterAnError(t *testing.T) {
	r, key := open(t)
	var got []string
	for found, err := range r.List(t.Context(), key.Space, []string{"none", "design", "Bad"}) {
		if err != nil {
			got = append(got, string(fault.From(err).Code))
			continue
		}
		got = append(got, found.Thread)
	}
	if !slices.Equal(got, []string{"unknown_thread", "design", "invalid_name"}) {
		t.Errorf("got %q", got)
	}
}
