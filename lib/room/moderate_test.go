package room_test

import (
	"slices"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

func TestModerate(t *testing.T) {
	r, key := open(t)
	for _, c := range []struct {
		what    string
		act     room.Act
		current string
		status  string
	}{
		{"hand", room.Hand("bob"), "bob", "active"},
		{"quiet", room.Quiet("ann", 2), "bob", "active"},
		{"order", room.Order([]string{"bob", "ann", "eve"}), "bob", "active"},
		{"topic", room.Topic("another"), "bob", "active"},
		{"end", room.End, "bob", "ended"},
		{"resume", room.Resume, "dan", "active"},
	} {
		_, err := r.Moderate(t.Context(), key, "ann", c.act)
		refused(t, c.what+" by another", err, fault.NotModerator)
		got, err := r.Moderate(t.Context(), key, "dan", c.act)
		if err != nil || got.Current != c.current || got.Status != c.status || got.Version != 0 {
			t.Errorf("%s: got %+v, %v", c.what, got, err)
		}
		kept, err := r.Head(t.Context(), key)
		if err != nil || kept.Current != got.Current || kept.Status != got.Status || kept.Topic != got.Topic {
			t.Errorf("%s: kept %+v, %v", c.what, kept, err)
		}
	}
	got, err := r.Head(t.Context(), key)
	if err != nil || got.Topic != "another" || got.Quieted["ann"] != 2 ||
		!slices.Equal(got.TurnOrder, []string{"dan", "bob", "ann", "eve"}) {
		t.Errorf("got %+v, %v", got, err)
	}
	_, err = r.Moderate(t.Context(), key, "dan", room.Order([]string{"zoe", "ann"}))
	refused(t, "order with a stranger", err, fault.UnknownParticipant)
	_, err = r.Moderate(t.Context(), store.Key{Space: key.Space, Room: "none"}, "dan", room.End)
	refused(t, "no such room", err, fault.UnknownThread)
}

func registered(t *testing.T, r room.Rooms, space, who string) bool {
	t.Helper()
	members, err := r.Store.Members(t.Context(), space)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(members, func(m store.Member) bool { return m.Name == who })
}

func TestInviteRegistersOnlyWhenItMay(t *testing.T) {
	r, key := open(t)
	_, err := r.Invite(t.Context(), key, "ann", "zoe")
	refused(t, "by another", err, fault.NotModerator)
	_, err = r.Invite(t.Context(), key, "dan", "Zoe")
	refused(t, "no name", err, fault.InvalidName)
	_, err = r.Invite(t.Context(), store.Key{Space: key.Space, Room: "none"}, "dan", "zoe")
	refused(t, "no such room", err, fault.UnknownThread)
	if _, err := r.Moderate(t.Context(), key, "dan", room.End); err != nil {
		t.Fatal(err)
	}
	_, err = r.Invite(t.Context(), key, "dan", "zoe")
	refused(t, "ended", err, fault.Ended)
	if registered(t, r, key.Space, "zoe") || registered(t, r, key.Space, "Zoe") {
		t.Error("a refused invitation has registered somebody")
	}
	if _, err := r.Moderate(t.Context(), key, "dan", room.Resume); err != nil {
		t.Fatal(err)
	}

	got, err := r.Invite(t.Context(), key, "dan", "zoe")
	if err != nil || !slices.Equal(got.TurnOrder, []string{"dan", "ann", "bob", "zoe"}) || got.Current != "dan" {
		t.Errorf("got %+v, %v", got, err)
	}
	members, err := r.Store.Members(t.Context(), key.Space)
	if err != nil || !slices.Contains(members, store.Member{Name: "zoe", Kind: "agent"}) {
		t.Errorf("got %v, %v", members, err)
	}
	got, err = r.Invite(t.Context(), key, "dan", "eve")
	if err != nil || len(got.TurnOrder) != 5 {
		t.Errorf("got %+v, %v", got, err)
	}
	members, err = r.Store.Members(t.Context(), key.Space)
	if err != nil || len(members) != 5 || !slices.Contains(members, store.Member{Name: "eve", Kind: "other"}) {
		t.Errorf("who was registered stays as he is: %v, %v", members, err)
	}
}
