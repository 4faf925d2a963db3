// Package storetest is the conformance suite of the seam: every store passes it
// with identical answers.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/stamp"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// Run tests a store. open returns one with an empty space in it, for one test.
func Run(t *testing.T, open func(t *testing.T) (s store.Store, space string)) {
	for name, test := range map[string]func(t *testing.T, b bench){
		"Create":     testCreate,
		"Absent":     testAbsent,
		"Post":       testPost,
		"Refusal":    testRefusal,
		"Moderation": testModeration,
		"Contention": testContention,
		"Repeated":   testRepeated,
		"Parts":      testParts,
		"Snapshot":   testSnapshot,
		"Members":    testMembers,
		"List":       testList,
		"Watch":      testWatch,
	} {
		t.Run(name, func(t *testing.T) {
			s, space := open(t)
			b := bench{Store: s, space: space, room: store.Key{Space: space, Room: "design/one"}}
			if _, err := s.Register(t.Context(), space, crew); err != nil {
				t.Fatalf("Register: %v", err)
			}
			test(t, b)
		})
	}
}

var (
	crew  = []store.Member{{Name: "dan", Kind: "human"}, {Name: "ann/x", Kind: "agent"}, {Name: "ci", Kind: "other"}}
	start = time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)
)

// bench is a store with a space and the key of one room in it.
type bench struct {
	store.Store
	space string
	room  store.Key
}

func (b bench) create(t *testing.T) store.Head {
	t.Helper()
	h, err := b.Update(t.Context(), b.room, func(h store.Head) (store.Change, error) {
		if h.Exists {
			return store.Change{}, fault.New(fault.Exists, "there already")
		}
		return store.Change{State: floor.State{
			Topic: "which: parser? # 1", Created: stamp.Record(start), Moderator: "dan", Order: []string{"dan", "ann/x", "ci"},
		}}, nil
	})
	if err != nil {
		t.Fatalf("create: %v", err)
	}
	return h
}

// post appends an entry by whoever holds the floor.
func (b bench) post(ctx context.Context, body, id string) (store.Head, error) {
	return b.Update(ctx, b.room, func(h store.Head) (store.Change, error) {
		who := h.State.Current()
		next, err := h.State.Post(who)
		if err != nil {
			return store.Change{}, err
		}
		at, err := stamp.Next(start, h.LastTime())
		return store.Change{State: next, Entry: &store.Draft{
			Time: at, Author: who, Pass: transcript.IsPass(body), ID: id, Body: body,
		}}, err
	})
}

func (b bench) mustPost(t *testing.T, bodies ...string) []string {
	t.Helper()
	var names []string
	for _, body := range bodies {
		h, err := b.post(t.Context(), body, "")
		if err != nil {
			t.Fatalf("post %q: %v", body, err)
		}
		names = append(names, h.Last)
	}
	return names
}

// read returns the bodies of a part.
func (b bench) read(t *testing.T, part store.Part) []string {
	t.Helper()
	part.Bodies = true
	view, err := b.Read(t.Context(), b.room, part)
	if err != nil {
		t.Fatalf("Read %+v: %v", part, err)
	}
	var bodies []string
	for e, err := range view.Entries {
		if err != nil {
			t.Fatalf("Read %+v: %v", part, err)
		}
		bodies = append(bodies, e.Body)
	}
	return bodies
}

func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("error is %v, want code %s", err, code)
	}
}

func testCreate(t *testing.T, b bench) {
	made := b.create(t)
	found, err := b.Head(t.Context(), b.room)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []store.Head{made, found} {
		if !h.Exists || h.Version != 0 || h.Last != "" || !h.LastTime().IsZero() {
			t.Errorf("head of a new room: %+v", h)
		}
		if h.State.Current() != "dan" || h.State.Topic != "which: parser? # 1" || h.State.Created != stamp.Record(start) {
			t.Errorf("state of a new room: %+v", h.State)
		}
	}
	if got := b.read(t, store.Part{}); len(got) != 0 {
		t.Errorf("a new room holds %q", got)
	}
}

func testAbsent(t *testing.T, b bench) {
	_, err := b.Head(t.Context(), b.room)
	wantCode(t, err, fault.UnknownThread)
	_, err = b.Read(t.Context(), b.room, store.Part{})
	wantCode(t, err, fault.UnknownThread)
	_, err = b.Update(t.Context(), b.room, func(h store.Head) (store.Change, error) {
		if h.Exists {
			t.Error("an absent room exists")
		}
		return store.Change{}, store.ErrNoRoom
	})
	wantCode(t, err, fault.UnknownThread)
	_, err = b.Head(t.Context(), store.Key{Space: b.space, Room: "../x"})
	wantCode(t, err, fault.InvalidName)
	elsewhere := b.space + "/nowhere"
	_, err = b.Head(t.Context(), store.Key{Space: elsewhere, Room: "one"})
	wantCode(t, err, fault.NotASpace)
	_, err = b.Members(t.Context(), elsewhere)
	wantCode(t, err, fault.NotASpace)
	for _, err := range b.Store.List(t.Context(), elsewhere) {
		wantCode(t, err, fault.NotASpace)
	}
}

func testPost(t *testing.T, b bench) {
	b.create(t)
	h, err := b.post(t.Context(), "first\n---\nline", "")
	if err != nil {
		t.Fatal(err)
	}
	if want := transcript.Name(start, "dan", false); h.Last != want || h.Version != 1 || h.State.Current() != "ann/x" {
		t.Errorf("after the first entry: %+v", h)
	}
	if h, err = b.post(t.Context(), "pass", ""); err != nil {
		t.Fatal(err)
	}
	if want := transcript.Name(start.Add(time.Millisecond), "ann/x", true); h.Last != want || h.Version != 2 {
		t.Errorf("after the pass: %+v", h)
	}
	found, err := b.Head(t.Context(), b.room)
	if err != nil || found.Last != h.Last || found.Version != 2 || !found.State.Equal(h.State) {
		t.Errorf("head %+v, %v; want %+v", found, err, h)
	}
	view, err := b.Read(t.Context(), b.room, store.Part{Bodies: true, Passes: true})
	if err != nil || view.Lines != 5 || view.Visible != 1 || view.Head.Version != 2 || view.Damage != nil {
		t.Fatalf("view %+v, %v", view, err)
	}
	var got []transcript.Entry
	for e, err := range view.Entries {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, e)
	}
	if len(got) != 2 || got[0].Body != "first\n---\nline" || got[0].StartLine != 1 || got[0].EndLine() != 5 ||
		got[0].Author != "dan" || got[0].Version != 1 || got[0].Bytes == 0 || len(got[0].SHA256) != 64 ||
		!got[1].Pass || got[1].Lines != 0 || got[1].Version != 2 {
		t.Errorf("entries: %+v", got)
	}
}

func testRefusal(t *testing.T, b bench) {
	b.create(t)
	refused := errors.New("refused")
	_, err := b.Update(t.Context(), b.room, func(h store.Head) (store.Change, error) {
		next, _ := h.State.Post("dan")
		return store.Change{State: next, Entry: &store.Draft{Time: start, Author: "dan", Body: "x"}}, refused
	})
	if !errors.Is(err, refused) {
		t.Errorf("error %v, want the one fn returned", err)
	}
	if h, err := b.Head(t.Context(), b.room); err != nil || h.Version != 0 || h.State.Current() != "dan" {
		t.Errorf("a refusal left %+v, %v", h, err)
	}
}

func testModeration(t *testing.T, b bench) {
	b.create(t)
	b.mustPost(t, "one")
	_, err := b.Update(t.Context(), b.room, func(h store.Head) (store.Change, error) {
		next, err := h.State.Quiet("dan", "ci", 2)
		return store.Change{State: next}, err
	})
	if err != nil {
		t.Fatal(err)
	}
	h, err := b.Head(t.Context(), b.room)
	if err != nil || h.Version != 1 || h.State.Quieted["ci"] != 2 || h.State.Current() != "ann/x" {
		t.Errorf("after quiet: %+v, %v", h, err)
	}
	b.mustPost(t, "two")
	if h, err = b.Head(t.Context(), b.room); err != nil || h.State.Current() != "dan" || h.State.Quieted["ci"] != 1 {
		t.Errorf("the floor was to pass over ci: %+v, %v", h.State, err)
	}
}

func testContention(t *testing.T, b bench) {
	b.create(t)
	const writers, each = 4, 8
	var wait sync.WaitGroup
	for w := range writers {
		wait.Go(func() {
			for i := range each {
				if _, err := b.post(t.Context(), fmt.Sprint(w, " ", i), ""); err != nil {
					t.Errorf("post: %v", err)
				}
			}
		})
	}
	wait.Wait()
	bodies := b.read(t, store.Part{})
	slices.Sort(bodies)
	if n := len(slices.Compact(bodies)); n != writers*each {
		t.Errorf("%d different entries, want %d", n, writers*each)
	}
	if h, err := b.Head(t.Context(), b.room); err != nil || h.Version != writers*each {
		t.Errorf("head %+v, %v", h, err)
	}
}

func testRepeated(t *testing.T, b bench) {
	b.create(t)
	first, err := b.post(t.Context(), "one", `key "1": #`)
	if err != nil {
		t.Fatal(err)
	}
	b.mustPost(t, "two", "three")
	look := func(author, id string) (p store.Posted, ok bool) {
		stop := errors.New("looked")
		_, err := b.Update(t.Context(), b.room, func(h store.Head) (store.Change, error) {
			p, ok, err := h.Posted(author, id)
			_ = p
			if err != nil || !ok {
				return store.Change{}, errors.Join(err, stop)
			}
			return store.Change{}, &seen{p}
		})
		var s *seen
		if errors.As(err, &s) {
			return s.Posted, true
		}
		if !errors.Is(err, stop) {
			t.Fatal(err)
		}
		return p, false
	}
	if p, ok := look("dan", `key "1": #`); !ok || p.Entry != first.Last || p.Version != 1 || p.State.Current() != "ann/x" {
		t.Errorf("the repeated id gives %+v, %v", p, ok)
	}
	if _, ok := look("ci", `key "1": #`); ok {
		t.Error("an id belongs to its author")
	}
	if _, ok := look("dan", "key"); ok {
		t.Error("an id that was never used is known")
	}
}

// seen carries what was found out of an update that changes nothing.
type seen struct{ store.Posted }

func (*seen) Error() string { return "seen" }

func testParts(t *testing.T, b bench) {
	b.create(t)
	// Lines: one 1-3, two 4-7, a pass, three 8-10, four 11-13.
	n := b.mustPost(t, "one", "two\n2", "pass", "three", "four")
	all := []string{"one", "two\n2", "three", "four"}
	for _, test := range []struct {
		part store.Part
		want []string
	}{
		{store.Part{}, all},
		{store.Part{Last: 2}, all[2:]},
		{store.Part{Last: 9}, all},
		{store.Part{Last: 3, Passes: true}, []string{"pass", "three", "four"}},
		{store.Part{FromLine: 1}, all},
		{store.Part{FromLine: 4}, all[1:]},
		{store.Part{FromLine: 7}, all[1:]},
		{store.Part{FromLine: 8}, all[2:]},
		{store.Part{FromLine: 13}, all[3:]},
		{store.Part{FromLine: 14}, nil},
		{store.Part{LastLines: 3}, all[3:]},
		{store.Part{LastLines: 4}, all[2:]},
		{store.Part{LastLines: 99}, all},
		{store.Part{From: n[1]}, all[1:]},
		{store.Part{Through: n[1]}, all[:2]},
		{store.Part{From: n[1], Through: n[3]}, all[1:3]},
		{store.Part{From: n[3], Through: n[3]}, all[2:3]},
		{store.Part{From: n[2], Passes: true}, []string{"pass", "three", "four"}},
		{store.Part{After: n[0]}, all[1:]},
		{store.Part{After: n[2]}, all[2:]},
		{store.Part{After: n[4]}, nil},
		{store.Part{After: "20270101T000000000Z__dan.md"}, nil},
		{store.Part{After: "19990101T000000000Z__dan.md", Last: 1}, all[3:]},
	} {
		if got := b.read(t, test.part); !slices.Equal(got, test.want) {
			t.Errorf("Read %+v: %q, want %q", test.part, got, test.want)
		}
	}
	for code, part := range map[fault.Code][]store.Part{
		fault.UnknownEntry: {{From: "nosuch"}, {Through: n[0] + "x"}, {From: n[2]}, {Through: n[2]}},
		fault.BadInput:     {{From: n[1], Through: n[0]}},
	} {
		for _, p := range part {
			_, err := b.Read(t.Context(), b.room, p)
			wantCode(t, err, code)
		}
	}
}

func testSnapshot(t *testing.T, b bench) {
	b.create(t)
	b.mustPost(t, "one", "two")
	view, err := b.Read(t.Context(), b.room, store.Part{Bodies: true})
	if err != nil {
		t.Fatal(err)
	}
	b.mustPost(t, "three")
	var bodies []string
	for e, err := range view.Entries {
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, e.Body)
	}
	if got := strings.Join(bodies, " "); got != "one two" || view.Head.Version != 2 {
		t.Errorf("a snapshot at version %d shows %q", view.Head.Version, got)
	}
	// Files come with the bodies that are in them.
	if view, err = b.Read(t.Context(), b.room, store.Part{Files: true, Last: 1}); err != nil {
		t.Fatal(err)
	}
	for e, err := range view.Entries {
		if err != nil || e.Body != "three" || !strings.HasSuffix(strings.TrimSpace(string(e.File)), "three") {
			t.Errorf("with its file: %+v, %v", e, err)
		}
	}
}

func testMembers(t *testing.T, b bench) {
	got, err := b.Register(t.Context(), b.space, []store.Member{crew[0], {Name: "eve", Kind: "agent"}})
	want := append(slices.Clone(crew), store.Member{Name: "eve", Kind: "agent"})
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("Register: %v, %v; want %v", got, err, want)
	}
	for code, m := range map[fault.Code]store.Member{
		fault.Exists:      {Name: "dan", Kind: "agent"},
		fault.InvalidName: {Name: "Dan", Kind: "human"},
		fault.BadInput:    {Name: "zoe", Kind: "robot"},
	} {
		_, err := b.Register(t.Context(), b.space, []store.Member{{Name: "new", Kind: "agent"}, m})
		wantCode(t, err, code)
	}
	if got, err = b.Members(t.Context(), b.space); err != nil || !slices.Equal(got, want) {
		t.Errorf("after refusals: %v, %v; want %v", got, err, want)
	}
}

func testList(t *testing.T, b bench) {
	for _, room := range []string{"b", "a/x", "a"} {
		b.room.Room = room
		b.create(t)
	}
	var got []string
	for key, err := range b.Store.List(t.Context(), b.space) {
		if err != nil || key.Space != b.space {
			t.Fatal(key, err)
		}
		got = append(got, key.Room)
	}
	if want := []string{"a", "a/x", "b"}; !slices.Equal(got, want) {
		t.Errorf("List: %q, want %q", got, want)
	}
}

func testWatch(t *testing.T, b bench) {
	b.create(t)
	for _, key := range []store.Key{b.room, {Space: b.space}} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		posted := ""
		for got, err := range b.Watch(ctx, key) {
			if err != nil {
				t.Fatalf("watch of %+v: %v", key, err)
			}
			if posted == "" { // armed: from here on nothing is missed
				posted = b.mustPost(t, "look")[0]
				continue
			}
			if got.Room != "" && got.Room != b.room.Room {
				t.Errorf("woken for %+v", got)
			}
			if h, err := b.Head(ctx, b.room); err == nil && h.Last == posted {
				break
			}
		}
		cancel()
	}
	ctx, cancel := context.WithCancel(t.Context())
	woken := 0
	for _, err := range b.Watch(ctx, b.room) {
		if woken++; err != nil {
			break
		}
		cancel()
	}
	if woken != 2 {
		t.Errorf("a cancelled watch yielded %d times, want its start and its end", woken)
	}
	cancel()
}
