package home

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/yamldoc"
)

// Space is an entry of the registry.
type Space struct {
	Label string
	Root  string // absolute path
}

const spacesFile = "spaces.yaml"

// Spaces returns the registry in the order of its file. bad says of each item
// that was skipped what is wrong with it.
func (h Home) Spaces() (spaces []Space, bad []error, err error) {
	doc, err := h.doc(spacesFile)
	if err != nil {
		return nil, nil, err
	}
	labels, err := doc.Keys("spaces")
	if err != nil {
		return nil, nil, fault.New(fault.Corrupt, "%w", err)
	}
	for _, label := range labels {
		root, _, err := doc.String("spaces", label)
		if err == nil {
			err = checkSpace(label, root)
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("%s: %w", filepath.Join(h.dir, spacesFile), err))
			continue
		}
		spaces = append(spaces, Space{label, root})
	}
	return spaces, bad, nil
}

func checkSpace(label, root string) error {
	if !filepath.IsAbs(root) {
		return fault.New(fault.BadInput, "not an absolute path: %q of space %q", root, label)
	}
	return name.Check("space", label)
}

// Label returns what the registry calls a space, "" when it does not know it or
// cannot be read.
func (h Home) Label(root string) string {
	spaces, _, _ := h.Spaces()
	for _, s := range spaces {
		if s.Root == root {
			return s.Label
		}
	}
	return ""
}

// Available refuses a directory that cannot be a space here and a label that Add
// would refuse for it. bad is as of Spaces.
func (h Home) Available(label, dir string) (bad []error, err error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if filepath.Join(root, filepath.Base(h.dir)) == h.dir {
		return nil, fault.New(fault.Exists, "this machine's own files are in %q", h.dir).
			WithHint("make the space in another directory")
	}
	spaces, bad, err := h.Spaces()
	if err != nil || label == "" {
		return bad, err
	}
	for _, s := range spaces {
		if s.Label == label && s.Root != root {
			return bad, taken(label, s.Root)
		}
	}
	return bad, name.Check("space", label)
}

func taken(label, root string) error {
	return fault.New(fault.Exists, "label taken: %q is %s", label, root)
}

// Add registers a space and returns its label. An empty label is made from the
// name of the directory; a root that is registered keeps the label it has, and a
// label that another root has is refused with exists.
func (h Home) Add(ctx context.Context, label, root string) (string, error) {
	if label != "" {
		if err := name.Check("space", label); err != nil {
			return "", err
		}
	}
	err := h.change(ctx, spacesFile, func(doc *yamldoc.Doc) error {
		have, err := registered(doc)
		if err != nil {
			return err
		}
		for _, known := range slices.Sorted(maps.Keys(have)) {
			at := have[known]
			if !name.Valid(known) {
				continue // skipped by everybody
			}
			if at == root && label != "" && label != known {
				return fault.New(fault.Exists, "registered already as %q: %q", known, root).
					WithHint("substrate-spaces remove %s", known)
			}
			if at == root {
				label = known
				return nil
			}
		}
		if label == "" {
			label = fresh(filepath.Base(root), have)
		}
		if _, ok := have[label]; ok {
			return taken(label, have[label])
		}
		return doc.SetString(root, "spaces", label)
	})
	return label, err
}

func registered(doc *yamldoc.Doc) (map[string]string, error) {
	labels, err := doc.Keys("spaces")
	if err != nil {
		return nil, fault.New(fault.Corrupt, "%w", err)
	}
	taken := map[string]string{}
	for _, label := range labels {
		taken[label], _, _ = doc.String("spaces", label)
	}
	return taken, nil
}

// fresh makes a label of a directory's name.
func fresh(base string, taken map[string]string) string {
	words := strings.FieldsFunc(strings.ToLower(base), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	label := strings.Join(words, "-")
	label = strings.TrimRight(label[:min(len(label), name.Max-8)], "-")
	if label == "" {
		label = "space"
	}
	for i, stem := 2, label; ; i++ {
		if _, ok := taken[label]; !ok {
			return label
		}
		label = fmt.Sprintf("%s-%d", stem, i)
	}
}

// Remove takes a space out of the registry, by its label or its root, and returns
// what it was. The space itself is left alone.
func (h Home) Remove(ctx context.Context, labelOrRoot string) (Space, error) {
	var gone Space
	err := h.change(ctx, spacesFile, func(doc *yamldoc.Doc) error {
		taken, err := registered(doc)
		if err != nil {
			return err
		}
		for _, label := range slices.Sorted(maps.Keys(taken)) {
			if root := taken[label]; label == labelOrRoot || root == labelOrRoot {
				gone = Space{label, root}
				break
			}
		}
		if gone.Label == "" {
			return fault.New(fault.NotASpace, "not registered: %q", labelOrRoot)
		}
		return doc.Delete("spaces", gone.Label)
	})
	return gone, err
}
