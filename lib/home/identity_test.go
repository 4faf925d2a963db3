package home_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/store"
)

const identity = "identity.yaml"

func TestARememberedPersonComesBack(t *testing.T) {
	h := machine(t, nil)
	for _, want := range []store.Member{
		{Name: "dan", Kind: "human"}, {Name: "team/dan.2", Kind: "agent"}, {Name: "no", Kind: "other"},
		{Name: "0123", Kind: "human"}, {Name: "null", Kind: "human"}, {Name: "1e3", Kind: "human"},
	} {
		if err := h.Remember(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		if got, err := h.Person(); err != nil || got != want {
			t.Errorf("got %+v, %v; want %+v", got, err, want)
		}
		if who, err := h.Identity(); err != nil || who != want.Name {
			t.Errorf("identity: got %q, %v; want %q", who, err, want.Name)
		}
	}
}

func TestNobodyIsRemembered(t *testing.T) {
	h := machine(t, nil)
	if m, err := h.Person(); !fault.Is(err, fault.UnknownParticipant) || m != (store.Member{}) {
		t.Errorf("got %+v, %v", m, err)
	}
	if files, err := os.ReadDir(h.Dir()); err != nil || len(files) > 0 {
		t.Errorf("looking made %v, %v", files, err)
	}
}

func TestAHumanIsWrittenAsTheFormatSays(t *testing.T) {
	h := machine(t, nil)
	if err := h.Remember(t.Context(), store.Member{Name: "dan", Kind: "human"}); err != nil {
		t.Fatal(err)
	}
	holds(t, h, identity, "name: dan\n")
}

func TestTheRestOfTheIdentityFileSurvives(t *testing.T) {
	h := machine(t, map[string]string{identity: "# me, at work\nmail: d@x # private\nname: 'ann'  # for now\nkind: agent\nlist: [a, b]\n"})
	if err := h.Remember(t.Context(), store.Member{Name: "dan", Kind: "other"}); err != nil {
		t.Fatal(err)
	}
	holds(t, h, identity, "# me, at work\nmail: d@x # private\nname: 'dan'  # for now\nkind: other\nlist: [a, b]\n")
	if err := h.Remember(t.Context(), store.Member{Name: "dan", Kind: "human"}); err != nil {
		t.Fatal(err)
	}
	holds(t, h, identity, "# me, at work\nmail: d@x # private\nname: 'dan'  # for now\nlist: [a, b]\n")
}

func TestWhatIsNoPersonIsNotRemembered(t *testing.T) {
	const before = "name: ann\n"
	h := machine(t, map[string]string{identity: before})
	for _, m := range []store.Member{
		{Name: "", Kind: "human"}, {Name: "Dan", Kind: "human"}, {Name: "-", Kind: "human"}, {Name: "a b", Kind: "human"},
		{Name: "../dan", Kind: "human"}, {Name: "dan", Kind: ""}, {Name: "dan", Kind: "robot"},
		{Name: strings.Repeat("a", 300), Kind: "human"},
	} {
		if err := h.Remember(t.Context(), m); err == nil {
			t.Errorf("%+v was remembered", m)
		}
	}
	holds(t, h, identity, before)
}

func TestAnIdentityFileThatDoesNotParseIsLeftAlone(t *testing.T) {
	for _, text := range []string{"name: [", "\x00", "<<<<<<< ours\nname: a\n=======\n>>>>>>> theirs\n", "- a\n"} {
		h := machine(t, map[string]string{identity: text})
		if err := h.Remember(t.Context(), store.Member{Name: "dan", Kind: "human"}); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%q: got %v", text, err)
		}
		holds(t, h, identity, text)
	}
}

func TestABadPersonIsAnError(t *testing.T) {
	for text, code := range map[string]fault.Code{
		"name: Dan\n": fault.InvalidName, "name: [a]\n": fault.Corrupt,
		"name: dan\nkind: [a]\n": fault.Corrupt, "name: dan\nkind: robot\n": fault.BadInput,
	} {
		h := machine(t, map[string]string{identity: text})
		if m, err := h.Person(); !fault.Is(err, code) {
			t.Errorf("%q: got %+v, %v", text, m, err)
		}
	}
}

// Of twenty at once one is last, and what none of them touched is there.
func TestTwentyIdentitiesAtOnce(t *testing.T) {
	h := machine(t, map[string]string{identity: "keep: me\n"})
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			if err := h.Remember(t.Context(), store.Member{Name: fmt.Sprint("a", i), Kind: "agent"}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	got, err := h.Person()
	if err != nil || got.Kind != "agent" {
		t.Fatalf("got %+v, %v", got, err)
	}
	text, err := os.ReadFile(filepath.Join(h.Dir(), identity))
	if want := "keep: me\nname: " + got.Name + "\nkind: agent\n"; err != nil || string(text) != want {
		t.Errorf("got %q, %v; want %q", text, err, want)
	}
}
