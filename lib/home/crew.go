package home

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/yamldoc"
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

// SetIdentity remembers the name of the person at this machine.
func (h Home) SetIdentity(ctx context.Context, who string) error {
	if err := name.Check("participant", who); err != nil {
		return err
	}
	return h.change(ctx, "identity.yaml", func(doc *yamldoc.Doc) error {
		return doc.SetString(who, "name")
	})
}

// Mate is somebody whom new spaces are seeded with.
type Mate struct{ Name, Kind string }

// Crew returns the participants that new spaces are seeded with. bad says of each
// item that was skipped what is wrong with it.
func (h Home) Crew() (crew []Mate, bad []error, err error) {
	doc, err := h.doc("participants.yaml")
	if err != nil {
		return nil, nil, err
	}
	items, err := doc.Items("participants")
	if err != nil {
		return nil, nil, fault.New(fault.Corrupt, "%w", err)
	}
	for _, item := range items {
		who, _ := item.String("name")
		kind, _ := item.String("kind")
		if kind == "" {
			kind = "other"
		}
		if err := name.Check("participant", who); err != nil {
			bad = append(bad, fmt.Errorf("%s:%d: %w", filepath.Join(h.dir, "participants.yaml"), item.Line, err))
			continue
		}
		crew = append(crew, Mate{who, kind})
	}
	return crew, bad, nil
}
