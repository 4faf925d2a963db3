package room_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/wake"
)

// noScan makes a store whose watches only events wake.
func noScan(t *testing.T, r *room.Rooms) {
	t.Helper()
	hub := wake.NewHub(time.Hour)
	t.Cleanup(hub.Close)
	r.Store = &files.Store{Events: hub}
}

func say(t *testing.T, r room.Rooms, key store.Key, who, body string) string {
	t.Helper()
	p, err := r.Post(t.Context(), key, room.Draft{As: who, Body: body})
	if err != nil {
		t.Fatal(err)
	}
	return p.Entry
}

func moderate(t *testing.T, r room.Rooms, key store.Key, act room.Act) {
	t.Helper()
	if _, err := r.Moderate(t.Context(), key, "dan", act); err != nil {
		t.Fatal(err)
	}
}

// look returns what a follower says: event, holder and version, or nothing.
func look(t *testing.T, f *room.Follower, r room.Rooms, key store.Key, begun bool) string {
	t.Helper()
	floor, err := f.Look(t.Context(), r, key, begun)
	if err != nil {
		return err.Error()
	}
	if floor == nil {
		return ""
	}
	return fmt.Sprint(floor.Event, " ", floor.Current, " ", floor.Version)
}

func TestFollowerReportsEachChangeOnce(t *testing.T) {
	r, key := open(t)
	all, ann, bob := &room.Follower{}, &room.Follower{For: "ann"}, &room.Follower{For: "bob"}
	post := func(who, body string) func() { return func() { say(t, r, key, who, body) } }
	act := func(a room.Act) func() { return func() { moderate(t, r, key, a) } }
	for _, step := range []struct {
		what          string
		do            func()
		all, ann, bob string
	}{
		{"how it was", func() {}, "", "", ""},
		{"post", post("dan", "1"), "floor ann 1", "floor ann 1", ""},
		{"pass", post("ann", "pass"), "floor bob 2", "", "floor bob 2"},
		{"topic", act(room.Topic("x")), "changed bob 2", "", ""},
		{"quiet", act(room.Quiet("ann", 1)), "changed bob 2", "", ""},
		{"hand", act(room.Hand("ann")), "floor ann 2", "floor ann 2", ""},
		{"order", act(room.Order([]string{"bob", "ann"})), "changed ann 2", "", ""},
		{"several at once", func() {
			say(t, r, key, "ann", "3")
			say(t, r, key, "dan", "4")
			say(t, r, key, "bob", "5")
		}, "floor ann 5", "floor ann 5", ""},
		{"away and back", func() {
			moderate(t, r, key, room.Hand("bob"))
			moderate(t, r, key, room.Hand("ann"))
		}, "", "", ""},
		{"end", act(room.End), "ended ann 5", "ended ann 5", "ended ann 5"},
		{"resume", act(room.Resume), "resumed dan 5", "", ""},
		{"resumed, then handed", act(room.Hand("bob")), "floor bob 5", "", "floor bob 5"},
	} {
		step.do()
		for _, f := range []struct {
			who  string
			f    *room.Follower
			want string
		}{{"all", all, step.all}, {"ann", ann, step.ann}, {"bob", bob, step.bob}} {
			if got := look(t, f.f, r, key, false); got != f.want {
				t.Errorf("%s: %s is told %q, want %q", step.what, f.who, got, f.want)
			}
			if got := look(t, f.f, r, key, false); got != "" {
				t.Errorf("%s: %s is told again: %q", step.what, f.who, got)
			}
		}
	}
}

func TestFollowerOfNewRooms(t *testing.T) {
	r, root := space(t)
	ask := func(f room.Follower, name string, begun bool) string {
		t.Helper()
		key := store.Key{Space: root, Room: name}
		if _, err := r.Open(t.Context(), key, room.Opening{Topic: "t", Moderator: "dan", Order: []string{"ann"}}); err != nil && !fault.Is(err, fault.Exists) {
			t.Fatal(err)
		}
		return look(t, &f, r, key, begun)
	}
	if got := ask(room.Follower{}, "a", false); got != "" {
		t.Errorf("how it was: %q", got)
	}
	if got := ask(room.Follower{}, "b", true); got != "floor dan 0" {
		t.Errorf("a new room: %q", got)
	}
	for _, begun := range []bool{false, true} {
		if got := ask(room.Follower{For: "dan"}, "a", begun); got != "floor dan 0" {
			t.Errorf("his already, begun %v: %q", begun, got)
		}
		if got := ask(room.Follower{For: "ann"}, "a", begun); got != "" {
			t.Errorf("not his, begun %v: %q", begun, got)
		}
	}
	f := room.Follower{}
	_, err := f.Look(t.Context(), r, store.Key{Space: root, Room: "none"}, true)
	refused(t, "no such room", err, fault.UnknownThread)
}

func TestEntriesAfterACursor(t *testing.T) {
	r, key := open(t)
	after := say(t, r, key, "dan", "1")
	say(t, r, key, "ann", "2")
	say(t, r, key, "bob", "pass")
	say(t, r, key, "dan", "3")
	for range 2 { // the caller moves the cursor
		view, err := r.Entries(t.Context(), key, after)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for e, err := range view.Entries {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e.Body)
		}
		if !slices.Equal(got, []string{"2", "3"}) {
			t.Errorf("got %q", got)
		}
	}
	for _, bad := range []string{"1", "dan.md", "20260706T131502084Z__dan", "../x"} {
		refused(t, bad, room.CheckCursor(bad), fault.BadInput)
	}
	for _, good := range []string{"", after} {
		if err := room.CheckCursor(good); err != nil {
			t.Error(err)
		}
	}
}

func TestWaitRefusesAtOnce(t *testing.T) {
	r, key := open(t)
	long, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	for who, code := range map[string]fault.Code{"eve": fault.NotInThread, "zoe": fault.UnknownParticipant, "Dan": fault.InvalidName} {
		_, err := r.Wait(long, key, who)
		refused(t, who, err, code)
	}
	_, err := r.Wait(long, store.Key{Space: key.Space, Room: "none"}, "ann")
	refused(t, "no such room", err, fault.UnknownThread)
	if got, err := r.Wait(long, key, "dan"); err != nil || got.Current != "dan" {
		t.Errorf("his already: %v, %v", got, err)
	}
	moderate(t, r, key, room.End)
	_, err = r.Wait(long, key, "dan")
	refused(t, "ended", err, fault.Ended)
}

func TestWaitTimesOut(t *testing.T) {
	r, key := open(t)
	say(t, r, key, "dan", "1")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	got, err := r.Wait(ctx, key, "bob")
	f := fault.From(err)
	want := fmt.Sprintf(`timed out: "ann" holds the floor in "design" since %s`, got.FloorSince)
	if f.Code != fault.Timeout || f.Message != want || f.Current != "ann" || f.Version == nil || *f.Version != 1 || f.Thread != "design" {
		t.Errorf("got %+v, want %q", f, want)
	}
	gone, stop := context.WithCancel(t.Context())
	stop()
	if _, err := r.Wait(gone, key, "bob"); err != context.Canceled {
		t.Errorf("cancelled: %v", err)
	}
}

// TestWaitStartRaces posts at random moments around the start of a wait, and no scan helps.
func TestWaitStartRaces(t *testing.T) {
	r, key := open(t)
	noScan(t, &r)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for i := range 100 {
		var posted sync.WaitGroup
		posted.Go(func() {
			time.Sleep(time.Duration(i%10) * 100 * time.Microsecond)
			if _, err := r.Post(ctx, key, room.Draft{As: "dan", Body: "x"}); err != nil {
				t.Error(err)
			}
		})
		if got, err := r.Wait(ctx, key, "ann"); err != nil || got.Version != 3*i+1 {
			t.Fatalf("round %d: %v, %v", i, got, err)
		}
		posted.Wait()
		say(t, r, key, "ann", "pass")
		say(t, r, key, "bob", "pass")
	}
}

func TestPostWithin(t *testing.T) {
	r, key := open(t)
	noScan(t, &r)
	draft := room.Draft{As: "ann", Body: "x", ID: "key-1"}
	_, err := r.PostWithin(t.Context(), key, draft, 0)
	refused(t, "no patience", err, fault.NotYourTurn)
	_, err = r.PostWithin(t.Context(), key, draft, 20*time.Millisecond)
	refused(t, "little patience", err, fault.Timeout)
	_, err = r.PostWithin(t.Context(), key, room.Draft{As: "eve", Body: "x"}, time.Hour)
	refused(t, "not in the room", err, fault.NotInThread)
	stale := 7
	_, err = r.PostWithin(t.Context(), key, room.Draft{As: "dan", Body: "x", Expect: &stale}, time.Hour)
	refused(t, "stale", err, fault.Stale)
	stands(t, r, key, 0, "dan")

	var all sync.WaitGroup
	all.Go(func() {
		if p, err := r.PostWithin(t.Context(), key, draft, time.Minute); err != nil || p.Version != 2 || p.Duplicate {
			t.Errorf("waited: %+v, %v", p, err)
		}
	})
	all.Go(func() { say(t, r, key, "dan", "1") })
	all.Wait()
	if p, err := r.PostWithin(t.Context(), key, draft, time.Minute); err != nil || p.Version != 2 || !p.Duplicate {
		t.Errorf("again: %+v, %v", p, err)
	}
	stands(t, r, key, 2, "bob")
	all.Go(func() {
		_, err := r.PostWithin(t.Context(), key, room.Draft{As: "ann", Body: "y"}, time.Minute)
		refused(t, "ended meanwhile", err, fault.Ended)
	})
	time.Sleep(10 * time.Millisecond)
	moderate(t, r, key, room.End)
	all.Wait()
}

// saving is a store in whose room an editor is just saving: after the first look it
// cannot be read once.
type saving struct {
	store.Store
	looks int
}

func (s *saving) Head(ctx context.Context, key store.Key) (store.Head, error) {
	if s.looks++; s.looks == 2 {
		return store.Head{}, fault.New(fault.Corrupt, "half of it")
	}
	return s.Store.Head(ctx, key)
}

func (s *saving) Watch(ctx context.Context, key store.Key) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		for yield(key, nil) {
		}
	}
}

func TestWaitOutlastsAHalfSavedConfig(t *testing.T) {
	r, key := open(t)
	editor := &saving{Store: r.Store}
	r.Store = editor
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := r.Wait(ctx, key, "ann"); !fault.Is(err, fault.Timeout) || editor.looks < 3 {
		t.Errorf("after %d looks: %v", editor.looks, err)
	}
	editor.looks = 1 // not readable from the start is an error at once
	if _, err := r.Wait(t.Context(), key, "ann"); !fault.Is(err, fault.Corrupt) {
		t.Errorf("got %v", err)
	}
}
