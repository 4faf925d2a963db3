package door_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

var me = []store.Member{{Name: "dan", Kind: "human"}}

// machine gives the test a machine of its own with these files, and returns a
// directory to make spaces in.
func machine(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	home := filepath.Join(dir, "home")
	t.Setenv("SUBSTRATE_HOME", home)
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// found makes a space with a room.
func found(t *testing.T, dir string, rooms ...string) *door.Door {
	t.Helper()
	d, bad, err := door.Found(t.Context(), dir, "", me, true)
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	for _, name := range rooms {
		if _, err := d.Join(t.Context(), store.Member{Name: "ann", Kind: "agent"}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Open(t.Context(), d.Key(name), room.Opening{Topic: "t", Moderator: "dan", Order: []string{"ann"}}); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func TestFoundSeedsAndRegisters(t *testing.T) {
	dir := machine(t, map[string]string{"participants.yaml": "participants:\n- {name: dan, kind: agent}\n- {name: ci, kind: agent}\n"})
	d := found(t, filepath.Join(dir, "atlas"))
	s, err := d.Space(t.Context())
	if err != nil || s.Label != "atlas" || s.Root != filepath.Join(dir, "atlas") || s.Rooms != 0 || len(s.Participants) != 2 ||
		s.Participants[0].Kind != "human" || s.Participants[1].Name != "ci" {
		t.Errorf("got %+v, %v", s, err)
	}
	if _, _, err := door.Found(t.Context(), filepath.Join(dir, "atlas"), "", me, true); !fault.Is(err, fault.Exists) {
		t.Errorf("again: got %v", err)
	}
}

func TestFoundCompletesOrLeavesNothing(t *testing.T) {
	for what, c := range map[string]struct {
		files map[string]string
		label string
	}{
		"no label":         {nil, "Atlas!"},
		"label taken":      {map[string]string{"spaces.yaml": "spaces:\n  atlas: /elsewhere\n"}, "atlas"},
		"corrupt registry": {map[string]string{"spaces.yaml": "\x00"}, ""},
		"corrupt crew":     {map[string]string{"participants.yaml": "\x00"}, ""},
	} {
		dir := filepath.Join(machine(t, c.files), "atlas")
		if _, _, err := door.Found(t.Context(), dir, c.label, me, true); err == nil {
			t.Errorf("%s: made", what)
		}
		if _, err := os.Lstat(dir); err == nil {
			t.Errorf("%s: something was left", what)
		}
	}
}

func TestABadCrewMemberIsSkippedAndNamed(t *testing.T) {
	dir := machine(t, map[string]string{"participants.yaml": "participants:\n- {name: r2, kind: robot}\n- {name: ci, kind: agent}\n"})
	d, bad, err := door.Found(t.Context(), filepath.Join(dir, "atlas"), "", me, true)
	if err != nil || len(bad) != 1 || !strings.Contains(bad[0].Error(), "participants.yaml:2") {
		t.Fatalf("got %v, %v", bad, err)
	}
	if s, err := d.Space(t.Context()); err != nil || len(s.Participants) != 2 {
		t.Errorf("got %+v, %v", s, err)
	}
}

func TestOpenFindsTheNearestSpaceUpward(t *testing.T) {
	dir := machine(t, nil)
	d := found(t, filepath.Join(dir, "atlas"))
	below := filepath.Join(d.Root, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	if got, err := door.Open(""); err != nil || got.Root != d.Root {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := door.Open(below); !fault.Is(err, fault.NotASpace) {
		t.Errorf("a directory that was named is not searched from: %v", err)
	}
	t.Chdir(dir)
	if _, err := door.Open(""); !fault.Is(err, fault.NotASpace) {
		t.Errorf("got %v", err)
	}
}

func TestFindGoesThroughEveryRegisteredSpace(t *testing.T) {
	dir := machine(t, nil)
	found(t, filepath.Join(dir, "a"), "one", "two")
	found(t, filepath.Join(dir, "b"), "three")
	gone := found(t, filepath.Join(dir, "c"), "four")
	if err := os.RemoveAll(gone.Root); err != nil {
		t.Fatal(err)
	}
	var got, skipped []string
	for r, err := range (door.Query{All: true, For: "ann"}).Find(t.Context(), func(err error) { skipped = append(skipped, err.Error()) }) {
		if err != nil {
			t.Error(err)
		}
		got = append(got, r.Label+"/"+r.Thread)
	}
	if !slices.Equal(got, []string{"a/one", "a/two", "b/three"}) {
		t.Errorf("got %q", got)
	}
	if len(skipped) != 1 || !strings.Contains(skipped[0], gone.Root) {
		t.Errorf("skipped %q", skipped)
	}
}

func TestFindForANameNobodyHasIsAnError(t *testing.T) {
	d := found(t, filepath.Join(machine(t, nil), "a"), "one")
	n := 0
	for _, err := range (door.Query{Space: d.Root, For: "zoe"}).Find(t.Context(), nil) {
		if n++; !fault.Is(err, fault.UnknownParticipant) {
			t.Errorf("got %v", err)
		}
	}
	if n != 1 {
		t.Errorf("said %d things", n)
	}
}

func TestRemoveLeavesTheSpaceAlone(t *testing.T) {
	d := found(t, filepath.Join(machine(t, nil), "a"), "one")
	got, err := door.Remove(t.Context(), "a")
	if err != nil || got.Root != d.Root || got.Label != "a" || got.Rooms != 1 {
		t.Errorf("got %+v, %v", got, err)
	}
	if _, err := d.Head(t.Context(), d.Key("one")); err != nil {
		t.Error(err)
	}
	if _, err := door.Remove(t.Context(), "a"); !fault.Is(err, fault.NotASpace) {
		t.Errorf("again: got %v", err)
	}
	if got, err := door.Add(t.Context(), d.Root, "mine"); err != nil || got.Label != "mine" {
		t.Errorf("got %+v, %v", got, err)
	}
}
