package home

import (
	"cmp"
	"fmt"
	"path/filepath"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/store"
)

// Identity returns the name that the person at this machine has given, "" when
// none. It is what an interactive flow offers; no program acts as somebody who
// was not named.
func (h Home) Identity() (string, error) {
	doc, err := h.doc("identity.yaml")
	if err != nil {
		return "", err
	}
	who, _, err := doc.String("name")
	if err != nil {
		return "", fault.New(fault.Corrupt, "%w", err)
	}
	if who != "" {
		err = name.Check("participant", who)
	}
	return who, err
}

// Crew returns the participants that new spaces are seeded with. bad says of each
// item that was skipped what is wrong with it.
func (h Home) Crew() (crew []store.Member, bad []error, err error) {
	doc, err := h.doc("participants.yaml")
	if err != nil {
		return nil, nil, err
	}
	items, err := doc.Items("participants")
	if err != nil {
		return nil, nil, fault.New(fault.Corrupt, "%w", err)
	}
	known := map[string]bool{}
	for _, item := range items {
		var m store.Member
		m.Name, _ = item.String("name")
		m.Kind, _ = item.String("kind")
		m.Kind = cmp.Or(m.Kind, "other")
		err := m.Check()
		if err == nil && known[m.Name] {
			err = fault.New(fault.Exists, "named twice: %q", m.Name)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s:%d: %w", filepath.Join(h.dir, "participants.yaml"), item.Line, err))
			continue
		}
		known[m.Name] = true
		crew = append(crew, m)
	}
	return crew, bad, nil
}
