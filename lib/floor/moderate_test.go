package floor_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
)

// Every act of moderation by somebody, with arguments that are otherwise fine.
var acts = map[string]func(s floor.State, actor string) (floor.State, error){
	"hand":   func(s floor.State, actor string) (floor.State, error) { return s.HandTo(actor, "ann") },
	"invite": func(s floor.State, actor string) (floor.State, error) { return s.Invite(actor, "eve") },
	"quiet":  func(s floor.State, actor string) (floor.State, error) { return s.Quiet(actor, "ann", 1) },
	"order": func(s floor.State, actor string) (floor.State, error) {
		return s.Reorder(actor, []string{"bob", "ann"}, anybody)
	},
	"topic":  func(s floor.State, actor string) (floor.State, error) { return s.Retitle(actor, "u") },
	"end":    func(s floor.State, actor string) (floor.State, error) { return s.End(actor) },
	"resume": func(s floor.State, actor string) (floor.State, error) { return s.Resume(actor) },
}

func TestOnlyTheModeratorModerates(t *testing.T) {
	for what, act := range acts {
		s := state(0, nil, "dan", "ann", "bob")
		s.Ended = what == "resume"
		for _, actor := range []string{"ann", "eve", "", "DAN"} {
			_, err := act(s, actor)
			refuses(t, what+" by "+actor, err, fault.NotModerator)
		}
		if next, err := act(s, "dan"); err != nil || next.Equal(s) {
			t.Errorf("%s: got %+v, %v", what, next, err)
		}
	}
}

func TestAnEndedRoomIsOnlyResumed(t *testing.T) {
	ended := state(1, quiet{"bob": 1}, "dan", "ann", "bob")
	ended.Ended = true
	for what, act := range acts {
		if what == "resume" {
			continue
		}
		_, err := act(ended, "dan")
		refuses(t, what, err, fault.Ended)
		_, err = act(ended, "ann")
		refuses(t, what+" by another", err, fault.NotModerator)
	}
	_, err := state(0, nil, "dan", "ann").Resume("dan")
	refuses(t, "resume of an active room", err, fault.NotEnded)
}

func TestActsLeaveTheirArgumentAlone(t *testing.T) {
	for what, act := range acts {
		s := state(1, quiet{"ann": 2, "bob": 3}, append(make([]string, 0, 9), "dan", "ann", "bob")...)
		s.Ended = what == "resume"
		before := s
		before.Order, before.Quieted = slices.Clone(s.Order), maps.Clone(s.Quieted)
		next, err := act(s, "dan")
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		for i := range next.Order {
			next.Order[i] = "scratch"
		}
		clear(next.Quieted)
		if !s.Equal(before) || s.Order[:4][3] == "scratch" {
			t.Errorf("%s: the argument became %+v", what, s)
		}
	}
}

func TestHandTo(t *testing.T) {
	s := state(0, quiet{"ann": 2, "bob": 3}, "dan", "ann", "bob")
	next, err := s.HandTo("dan", "bob")
	if err != nil {
		t.Fatal(err)
	}
	shows(t, "his quiet is lifted, another's stays", next, "bob", quiet{"ann": 2})
	next, err = s.HandTo("dan", "dan")
	if err != nil {
		t.Fatal(err)
	}
	shows(t, "to the moderator himself", next, "dan", quiet{"ann": 2, "bob": 3})
	_, err = s.HandTo("dan", "eve")
	refuses(t, "to somebody who is not in the order", err, fault.NotInThread)
}

func TestInvite(t *testing.T) {
	next, err := state(1, nil, "dan", "ann").Invite("dan", "eve")
	if err != nil || !slices.Equal(next.Order, []string{"dan", "ann", "eve"}) {
		t.Errorf("got %q, %v", next.Order, err)
	}
	shows(t, "the floor stays", next, "ann", nil)

	s := state(1, quiet{"bob": 1}, "dan", "ann", "bob")
	next, err = s.Invite("dan", "ann")
	if err != nil || !next.Equal(s) {
		t.Errorf("one who is there already: got %+v, %v", next, err)
	}

	next, err = state(9, nil, "dan", "ann").Invite("dan", "eve")
	if err != nil {
		t.Fatal(err)
	}
	shows(t, "an index out of range still means who was the last", next, "ann", nil)
}

func TestQuiet(t *testing.T) {
	s := state(0, quiet{"ann": 2}, "dan", "ann", "bob")
	for _, c := range []struct {
		what  string
		who   string
		turns int
		want  quiet
	}{
		{"another", "bob", 1, quiet{"ann": 2, "bob": 1}},
		{"again", "ann", 5, quiet{"ann": 5}},
		{"lifted", "ann", 0, nil},
		{"lifted where there was none", "bob", 0, quiet{"ann": 2}},
	} {
		next, err := s.Quiet("dan", c.who, c.turns)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		shows(t, c.what, next, "dan", c.want)
	}
	for _, c := range []struct {
		what  string
		who   string
		turns int
		code  fault.Code
	}{
		{"the moderator", "dan", 1, fault.BadInput},
		{"the moderator, lifted", "dan", 0, fault.BadInput},
		{"less than nothing", "ann", -1, fault.BadInput},
		{"somebody who is not in the order", "eve", 1, fault.NotInThread},
	} {
		_, err := s.Quiet("dan", c.who, c.turns)
		refuses(t, c.what, err, c.code)
	}
	if next, err := state(0, nil, "dan", "ann").Quiet("dan", "ann", 1); err != nil || next.Quieted["ann"] != 1 {
		t.Errorf("the first to be quieted: got %+v, %v", next, err)
	}
}

func TestQuietOfWhoHoldsTheFloorLeavesItWithHim(t *testing.T) {
	s, err := state(1, nil, "dan", "ann").Quiet("dan", "ann", 1)
	if err != nil {
		t.Fatal(err)
	}
	shows(t, "quieted", s, "ann", quiet{"ann": 1})
	s, err = s.Post("ann")
	if err != nil {
		t.Fatal(err)
	}
	shows(t, "after his entry", s, "dan", quiet{"ann": 1})
}

func TestReorder(t *testing.T) {
	s := state(1, quiet{"ann": 1, "bob": 2}, "dan", "ann", "bob")
	for _, c := range []struct {
		what        string
		order, want []string
		current     string
		quieted     quiet
	}{
		{"who holds the floor keeps it", []string{"dan", "bob", "ann"}, []string{"dan", "bob", "ann"}, "ann", quiet{"ann": 1, "bob": 2}},
		{"moderator restored to first", []string{"bob", "ann", "dan"}, []string{"dan", "bob", "ann"}, "ann", quiet{"ann": 1, "bob": 2}},
		{"moderator left out", []string{"ann", "bob"}, []string{"dan", "ann", "bob"}, "ann", quiet{"ann": 1, "bob": 2}},
		{"duplicates dropped", []string{"ann", "ann", "dan", "bob", "ann"}, []string{"dan", "ann", "bob"}, "ann", quiet{"ann": 1, "bob": 2}},
		{"else the moderator gets it; counts of those left out go", []string{"bob", "eve"}, []string{"dan", "bob", "eve"}, "dan", quiet{"bob": 2}},
	} {
		next, err := s.Reorder("dan", c.order, anybody)
		if err != nil || !slices.Equal(next.Order, c.want) {
			t.Errorf("%s: got %q, %v", c.what, next.Order, err)
			continue
		}
		shows(t, c.what, next, c.current, c.quieted)
	}
	_, err := s.Reorder("dan", []string{"dan"}, anybody)
	refuses(t, "one is too few", err, fault.BadInput)
	_, err = s.Reorder("dan", []string{"ann", "Eve"}, anybody)
	refuses(t, "no name", err, fault.InvalidName)
	_, err = s.Reorder("dan", []string{"ann", "eve"}, func(who string) error {
		if who == "eve" {
			return fault.New(fault.UnknownParticipant, "not registered")
		}
		return nil
	})
	refuses(t, "unregistered", err, fault.UnknownParticipant)
}

func TestReorderOfAnIndexOutOfRangeKeepsTheLast(t *testing.T) {
	next, err := state(9, nil, "dan", "ann", "bob").Reorder("dan", []string{"bob", "ann"}, anybody)
	if err != nil {
		t.Fatal(err)
	}
	shows(t, "bob was the last", next, "bob", nil)
}

func TestRetitle(t *testing.T) {
	next, err := state(1, quiet{"bob": 1}, "dan", "ann", "bob").Retitle("dan", "u")
	if err != nil || next.Topic != "u" {
		t.Errorf("got %q, %v", next.Topic, err)
	}
	shows(t, "the floor stays", next, "ann", quiet{"bob": 1})
	_, err = state(0, nil, "dan", "ann").Retitle("dan", "a\nb")
	refuses(t, "two lines", err, fault.BadInput)
}

func TestEndKeepsTheFloor(t *testing.T) {
	next, err := state(1, quiet{"bob": 1}, "dan", "ann", "bob").End("dan")
	if err != nil || !next.Ended || next.Paused() {
		t.Errorf("got %+v, %v", next, err)
	}
	shows(t, "ended", next, "ann", quiet{"bob": 1})
}

func TestResumeGivesTheModeratorTheFloorWhereverHeStands(t *testing.T) {
	for what, s := range map[string]floor.State{
		"first":           state(1, quiet{"bob": 1}, "dan", "ann", "bob"),
		"second":          state(0, quiet{"bob": 1}, "ann", "dan", "bob"),
		"last, floor odd": state(-4, quiet{"bob": 1}, "ann", "bob", "dan"),
	} {
		s.Ended = true
		next, err := s.Resume("dan")
		if err != nil || next.Ended || !next.Paused() {
			t.Errorf("%s: got %+v, %v", what, next, err)
		}
		shows(t, what, next, "dan", quiet{"bob": 1})
	}
	s := state(0, nil, "ann", "bob")
	s.Ended = true
	_, err := s.Resume("dan")
	refuses(t, "a moderator who is not in the order", err, fault.Corrupt)
}
