package home

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/yamldoc"
)

const identityFile = "identity.yaml"

// Person returns who the person at this machine is: the name of Identity, and a
// kind, human where the file has none. It refuses with unknown_participant when
// nobody is remembered.
func (h Home) Person() (store.Member, error) {
	who, err := h.Identity()
	if err != nil {
		return store.Member{}, err
	}
	if who == "" {
		return store.Member{}, fault.New(fault.UnknownParticipant, "no identity is remembered in %q",
			filepath.Join(h.dir, identityFile)).WithHint("substrate-identity NAME")
	}
	doc, err := h.doc(identityFile)
	if err != nil {
		return store.Member{}, err
	}
	kind, _, err := doc.String("kind")
	if err != nil {
		return store.Member{}, fault.New(fault.Corrupt, "%w", err)
	}
	m := store.Member{Name: who, Kind: cmp.Or(kind, "human")}
	return m, m.Check()
}

// Remember sets who the person at this machine is. A kind that every reader
// assumes, human, is not written: the key is ours alone.
func (h Home) Remember(ctx context.Context, m store.Member) error {
	if err := m.Check(); err != nil {
		return err
	}
	return h.change(ctx, identityFile, func(doc *yamldoc.Doc) error {
		if err := doc.SetString(m.Name, "name"); err != nil {
			return err
		}
		if m.Kind == "human" {
			return doc.Delete("kind")
		}
		return doc.SetString(m.Kind, "kind")
	})
}
