package home_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/store"
)

func TestIdentityIsTheNameAsWritten(t *testing.T) {
	for text, want := range map[string]string{
		"# me\nname: dan\nmore: 1\n": "dan", "name: no\n": "no", "name: 0123\n": "0123", "name: \"team/dan\"\n": "team/dan", "more: 1\n": "",
	} {
		h := machine(t, map[string]string{"identity.yaml": text})
		if got, err := h.Identity(); got != want || err != nil {
			t.Errorf("%q: got %q, %v", text, got, err)
		}
	}
}

func TestABadIdentityIsAnError(t *testing.T) {
	for text, code := range map[string]fault.Code{"name: Dan\n": fault.InvalidName, "name: [a]\n": fault.Corrupt, "\x00": fault.Corrupt} {
		h := machine(t, map[string]string{"identity.yaml": text})
		if who, err := h.Identity(); !fault.Is(err, code) {
			t.Errorf("%q: got %q, %v", text, who, err)
		}
	}
}

func TestCrew(t *testing.T) {
	h := machine(t, map[string]string{"participants.yaml": `participants:
- name: dan
  kind: human
- name: Bad Name
  kind: agent
- just text
- name: ci
- kind: agent
- name: r2
  kind: robot
- name: dan
  kind: agent
`})
	crew, bad, err := h.Crew()
	if err != nil || !slices.Equal(crew, []store.Member{{Name: "dan", Kind: "human"}, {Name: "ci", Kind: "other"}}) {
		t.Errorf("got %v, %v", crew, err)
	}
	for i, at := range []string{"participants.yaml:4: ", "participants.yaml:6: ", "participants.yaml:8: ", "participants.yaml:9: ", "participants.yaml:11: "} {
		if len(bad) != 5 || !strings.Contains(bad[i].Error(), at) {
			t.Errorf("%s is not named: %v", at, bad)
		}
	}
	h = machine(t, map[string]string{"participants.yaml": "participants: dan\n"})
	if _, _, err := h.Crew(); !fault.Is(err, fault.Corrupt) {
		t.Errorf("got %v", err)
	}
}
