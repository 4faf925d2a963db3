package floor_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
)

type quiet = map[string]int

// state returns a room that dan moderates, the floor on the seat next.
func state(next int, quieted quiet, order ...string) floor.State {
	return floor.State{
		Topic: "t", Created: "2026-07-06T13:15:02Z", Moderator: "dan", Order: order, Next: next, Quieted: quieted,
	}
}

// shows compares what matters of a floor.
func shows(t *testing.T, what string, s floor.State, current string, quieted quiet) {
	t.Helper()
	if s.Current() != current {
		t.Errorf("%s: %q holds the floor, want %q", what, s.Current(), current)
	}
	if len(s.Quieted) != len(quieted) || len(quieted) > 0 && !reflect.DeepEqual(s.Quieted, quieted) {
		t.Errorf("%s: quieted %v, want %v", what, s.Quieted, quieted)
	}
}

func refuses(t *testing.T, what string, err error, code fault.Code) {
	t.Helper()
	if !fault.Is(err, code) {
		t.Errorf("%s: got %v, want %s", what, err, code)
	}
}

func anybody(string) error { return nil }

func TestPostMovesTheFloor(t *testing.T) {
	for _, c := range []struct {
		what    string
		s       floor.State
		author  string
		current string
		quieted quiet
	}{
		{"to the next", state(0, nil, "dan", "ann", "bob"), "dan", "ann", nil},
		{"round the end", state(2, nil, "dan", "ann", "bob"), "bob", "dan", nil},
		{"alone", state(0, nil, "dan"), "dan", "dan", nil},
		{"past a quieted one", state(0, quiet{"ann": 2}, "dan", "ann", "bob"), "dan", "bob", quiet{"ann": 1}},
		{"a count at 0 is dropped", state(0, quiet{"ann": 1}, "dan", "ann", "bob"), "dan", "bob", nil},
		{
			"past several", state(0, quiet{"ann": 1, "bob": 3}, "dan", "ann", "bob"), "dan", "dan", quiet{"bob": 2},
		},
		{"only those passed over count down", state(1, quiet{"ann": 5}, "dan", "ann", "bob"), "ann", "bob", quiet{"ann": 5}},
		{"past quieted ones round the end", state(2, quiet{"dan": 1}, "dan", "ann", "bob"), "bob", "ann", nil},
		{
			"all quieted: one lap", state(0, quiet{"dan": 2, "ann": 2, "bob": 1}, "dan", "ann", "bob"), "dan", "dan",
			quiet{"dan": 1, "ann": 1},
		},
		{"a count below 1 is none", state(0, quiet{"ann": 0, "bob": -1}, "dan", "ann", "bob"), "dan", "ann", quiet{"ann": 0, "bob": -1}},
		{"an index out of range means the last", state(9, nil, "dan", "ann", "bob"), "bob", "dan", nil},
		{"so does one below 0", state(-1, nil, "dan", "ann", "bob"), "bob", "dan", nil},
		{"a moderator who is not first", state(0, nil, "ann", "dan", "bob"), "ann", "dan", nil},
		{"no moderator in the order", state(1, nil, "ann", "bob"), "bob", "ann", nil},
	} {
		next, err := c.s.Post(c.author)
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		shows(t, c.what, next, c.current, c.quieted)
		if next.Next < 0 || next.Next >= len(next.Order) {
			t.Errorf("%s: index %d", c.what, next.Next)
		}
	}
}

func TestPostRefuses(t *testing.T) {
	ended := state(0, nil, "dan", "ann")
	ended.Ended = true
	for _, c := range []struct {
		what   string
		s      floor.State
		author string
		code   fault.Code
	}{
		{"ended", ended, "dan", fault.Ended},
		{"ended comes first", ended, "nobody", fault.Ended},
		{"a stranger", state(0, nil, "dan", "ann"), "eve", fault.NotInThread},
		{"nobody", state(0, nil, "dan", "ann"), "", fault.NotInThread},
		{"out of turn", state(0, nil, "dan", "ann"), "ann", fault.NotYourTurn},
		{"the moderator out of turn", state(1, nil, "dan", "ann"), "dan", fault.NotYourTurn},
		{"a moderator who is not in the order", state(0, nil, "ann", "bob"), "dan", fault.NotInThread},
		{"an empty order", state(0, nil), "dan", fault.NotInThread},
	} {
		next, err := c.s.Post(c.author)
		refuses(t, c.what, err, c.code)
		if !next.Equal(c.s) {
			t.Errorf("%s: the state changed to %+v", c.what, next)
		}
	}
	_, err := state(0, nil, "dan", "ann").Post("ann")
	if f := fault.From(err); f.Current != "dan" || f.Message != `not your turn: "dan" holds the floor` {
		t.Errorf("got %+v", f)
	}
}

func TestPausedIsDerived(t *testing.T) {
	ended := state(0, nil, "dan", "ann")
	ended.Ended = true
	for what, c := range map[string]struct {
		s    floor.State
		want bool
	}{
		"moderator's turn":      {state(0, nil, "dan", "ann"), true},
		"another's":             {state(1, nil, "dan", "ann"), false},
		"ended":                 {ended, false},
		"moderator second":      {state(1, nil, "ann", "dan"), true},
		"moderator not in it":   {state(0, nil, "ann", "bob"), false},
		"last, by out of range": {state(7, nil, "ann", "dan"), true},
	} {
		if got := c.s.Paused(); got != c.want {
			t.Errorf("%s: got %v", what, got)
		}
	}
}

func TestCurrentOfAnEmptyOrderIsNobody(t *testing.T) {
	if got := state(0, nil).Current(); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestCheckTopic(t *testing.T) {
	for topic, ok := range map[string]bool{
		"which parser?": true, "\u65e5\u672c \U0001f600": true, " padded ": true,
		"": false, "  ": false, "a\nb": false, "a\rb": false, "a\tb": false, "a\x1b[1m": false, "a\x00": false,
		"a\x7f": false, "a\u009b": false, "a\xff": false, "a\n": false,
	} {
		if err := floor.CheckTopic(topic); (err == nil) != ok || !ok && !fault.Is(err, fault.BadInput) {
			t.Errorf("%q: got %v", topic, err)
		}
	}
}

func TestOpen(t *testing.T) {
	stranger := fault.New(fault.UnknownParticipant, "not registered")
	known := func(who string) error {
		if who == "eve" {
			return stranger
		}
		return nil
	}
	for _, c := range []struct {
		what, topic, moderator string
		order, want            []string
		code                   fault.Code
	}{
		{"as given", "t", "dan", []string{"dan", "ann"}, []string{"dan", "ann"}, ""},
		{"moderator left out", "t", "dan", []string{"ann", "bob"}, []string{"dan", "ann", "bob"}, ""},
		{"moderator put first", "t", "dan", []string{"ann", "dan", "bob"}, []string{"dan", "ann", "bob"}, ""},
		{"duplicates dropped", "t", "dan", []string{"ann", "bob", "ann", "dan"}, []string{"dan", "ann", "bob"}, ""},
		{"one is too few", "t", "dan", nil, nil, fault.BadInput},
		{"one twice is too few", "t", "dan", []string{"dan", "dan"}, nil, fault.BadInput},
		{"unregistered", "t", "dan", []string{"ann", "eve"}, nil, fault.UnknownParticipant},
		{"unregistered moderator", "t", "eve", []string{"ann", "dan"}, nil, fault.UnknownParticipant},
		{"no name", "t", "dan", []string{"Ann"}, nil, fault.InvalidName},
		{"no moderator", "t", "", []string{"dan", "ann"}, nil, fault.InvalidName},
		{"bad topic", "a\nb", "dan", []string{"ann"}, nil, fault.BadInput},
	} {
		given := slices.Clone(c.order)
		s, err := floor.Open(c.topic, "2026-07-06T13:15:02.000Z", c.moderator, c.order, known)
		if !slices.Equal(given, c.order) {
			t.Errorf("%s: the argument became %q", c.what, c.order)
		}
		if c.code != "" {
			refuses(t, c.what, err, c.code)
			continue
		}
		want := floor.State{Topic: "t", Created: "2026-07-06T13:15:02.000Z", Moderator: "dan", Order: c.want}
		if err != nil || !s.Equal(want) || !s.Paused() {
			t.Errorf("%s: got %+v, %v", c.what, s, err)
		}
	}
}

func TestEqualLooksAtEverything(t *testing.T) {
	s := state(1, quiet{"ann": 1}, "dan", "ann")
	if !s.Equal(state(1, quiet{"ann": 1}, "dan", "ann")) || !state(0, nil).Equal(state(0, quiet{})) {
		t.Error("equal states differ")
	}
	for what, change := range map[string]func(*floor.State){
		"topic":     func(s *floor.State) { s.Topic = "u" },
		"created":   func(s *floor.State) { s.Created = "" },
		"moderator": func(s *floor.State) { s.Moderator = "ann" },
		"order":     func(s *floor.State) { s.Order = []string{"ann", "dan"} },
		"next":      func(s *floor.State) { s.Next = 0 },
		"quieted":   func(s *floor.State) { s.Quieted = quiet{"ann": 2} },
		"ended":     func(s *floor.State) { s.Ended = true },
	} {
		other := s
		if change(&other); s.Equal(other) {
			t.Errorf("%s does not count", what)
		}
	}
}

// An act is one of the rules with its arguments drawn.
func act(t *rapid.T, s floor.State) (what string, next floor.State, err error) {
	names := []string{"dan", "ann", "bob", "cy", "eve"}
	who := rapid.SampledFrom(names)
	actor := "dan"
	if rapid.IntRange(0, 9).Draw(t, "usurper") == 0 {
		actor = who.Draw(t, "actor")
	}
	switch what = rapid.SampledFrom([]string{
		"post", "post", "post", "hand", "invite", "quiet", "quiet", "order", "topic", "end", "resume",
	}).Draw(t, "act"); what {
	case "post":
		author := s.Current()
		if rapid.Bool().Draw(t, "anybody") {
			author = who.Draw(t, "author")
		}
		next, err = s.Post(author)
	case "hand":
		next, err = s.HandTo(actor, who.Draw(t, "who"))
	case "invite":
		next, err = s.Invite(actor, who.Draw(t, "who"))
	case "quiet":
		next, err = s.Quiet(actor, who.Draw(t, "who"), rapid.IntRange(-1, 3).Draw(t, "turns"))
	case "order":
		next, err = s.Reorder(actor, rapid.SliceOfN(who, 0, 6).Draw(t, "order"), anybody)
	case "topic":
		next, err = s.Retitle(actor, rapid.SampledFrom([]string{"u", "", "a\nb"}).Draw(t, "topic"))
	case "end":
		next, err = s.End(actor)
	case "resume":
		next, err = s.Resume(actor)
	}
	return what, next, err
}

func TestAnySequenceOfActsKeepsTheInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, err := floor.Open("t", "", "dan", []string{"ann", "bob"}, anybody)
		if err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 30).Draw(t, "acts") {
			before := deep(s)
			what, next, err := act(t, s)
			if !reflect.DeepEqual(s, before) {
				t.Fatalf("%s changed its argument from %+v to %+v", what, before, s)
			}
			if err != nil {
				continue
			}
			invariants(t, what, next)
			if before.Ended && !next.Ended && what != "resume" || !before.Ended && next.Ended && what != "end" {
				t.Fatalf("%s: ended became %v", what, next.Ended)
			}
			kept := deep(next)
			for i := range next.Order {
				next.Order[i] = "scratch"
			}
			clear(next.Quieted)
			if !reflect.DeepEqual(s, before) {
				t.Fatalf("%s: the new state shares memory with its argument", what)
			}
			s = kept
		}
	})
}

func deep(s floor.State) floor.State {
	s.Order, s.Quieted = slices.Clone(s.Order), maps.Clone(s.Quieted)
	return s
}

func invariants(t *rapid.T, what string, s floor.State) {
	switch {
	case len(s.Order) < 2:
		t.Fatalf("%s: too few in the order: %q", what, s.Order)
	case s.Next < 0 || s.Next >= len(s.Order) || s.Current() != s.Order[s.Next]:
		t.Fatalf("%s: nobody holds the floor: %+v", what, s)
	case s.Order[0] != s.Moderator:
		t.Fatalf("%s: the moderator is not first: %q", what, s.Order)
	case s.Topic != "t" && s.Topic != "u":
		t.Fatalf("%s: topic %q", what, s.Topic)
	}
	for i, who := range s.Order {
		if slices.Contains(s.Order[:i], who) {
			t.Fatalf("%s: twice in the order: %q", what, s.Order)
		}
	}
	for who, turns := range s.Quieted {
		if turns <= 0 || !s.Has(who) || who == s.Moderator {
			t.Fatalf("%s: %q quieted for %d: %+v", what, who, turns, s)
		}
	}
}
