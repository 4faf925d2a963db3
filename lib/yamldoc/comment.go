package yamldoc

import "gopkg.in/yaml.v3"

// Commented reports whether a comment belongs to a top-level key or to anything in its value: one that would be
// lost, or lose its sense, if the key were deleted.
func (d *Doc) Commented(key string) bool {
	at := index(d.root, key)
	return at >= 0 && (hasComment(d.root.Content[at]) || hasComment(d.root.Content[at+1]))
}

// hasComment does not follow aliases, whose comments belong where they point.
func hasComment(n *yaml.Node) bool {
	if n.HeadComment+n.LineComment+n.FootComment != "" {
		return true
	}
	for _, child := range n.Content {
		if hasComment(child) {
			return true
		}
	}
	return false
}
