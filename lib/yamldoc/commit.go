package yamldoc

import (
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"
)

var errForm = errors.New("the form of the document does not allow it, or an alias would change with it")

// commit makes root the document. The text is changed where root differs; when that does not read
// back as root, all is written anew. The document stays as it was when neither does.
func (d *Doc) commit(root *yaml.Node) error {
	err := errForm
	for _, render := range []func(*yaml.Node) (string, bool){d.splice, d.encode} {
		text, ok := render(root)
		if !ok {
			continue
		}
		next, parseErr := Parse(d.path, []byte(d.bom+text))
		if parseErr != nil {
			err = fmt.Errorf("%w: %v", errForm, parseErr)
		} else if same(root, next.root, map[[2]*yaml.Node]bool{}) {
			next.after = d.after
			*d = *next
			return nil
		}
	}
	return err
}

// same reports whether two trees mean the same, with the same anchors. Pairs of what aliases name
// are compared once.
func same(a, b *yaml.Node, seen map[[2]*yaml.Node]bool) bool {
	if a.Kind != b.Kind || a.Value != b.Value || a.Anchor != b.Anchor || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.AliasNode {
		pair := [2]*yaml.Node{a.Alias, b.Alias}
		if seen[pair] {
			return true
		}
		seen[pair] = true
		return same(a.Alias, b.Alias, seen)
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i], seen) {
			return false
		}
	}
	return a.ShortTag() == b.ShortTag()
}
