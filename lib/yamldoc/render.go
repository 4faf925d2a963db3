package yamldoc

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// block renders a list or mapping as lines that begin at a column, from 0.
func (s *splicer) block(n *yaml.Node, indent int) string {
	var b strings.Builder
	pad := strings.Repeat(" ", indent)
	for i := 0; i < len(n.Content); i++ {
		item, lead := n.Content[i], pad+"- "
		if n.Kind == yaml.MappingNode {
			i++
			item, lead = n.Content[i], pad+s.inline(item)+": "
		}
		switch lines := n.Kind == yaml.MappingNode || item.Kind == yaml.MappingNode; {
		case !lines || !block(item) || item.Anchor != "" || item.Style&yaml.TaggedStyle != 0:
			b.WriteString(lead + s.inline(item) + s.eol)
		case n.Kind == yaml.MappingNode:
			b.WriteString(strings.TrimSuffix(lead, " ") + s.eol + s.block(item, indent+s.step(item)))
		default:
			b.WriteString(lead + strings.TrimLeft(s.block(item, indent+2), " "))
		}
	}
	return b.String()
}

func (s *splicer) step(n *yaml.Node) int {
	if n.Kind == yaml.SequenceNode {
		return s.listStep
	}
	return s.mapStep
}

// inline renders a value so that it can stand behind a key: a list or mapping in brackets.
func (s *splicer) inline(n *yaml.Node) string {
	c := *n
	c.HeadComment, c.LineComment, c.FootComment = "", "", ""
	if len(c.Content) > 0 || c.Kind != yaml.ScalarNode {
		c.Style |= yaml.FlowStyle
	}
	text, ok := marshal(&c)
	text = strings.TrimSuffix(text, "\n")
	// Comments between brackets break the line, and a key of more than 128 bytes would be written
	// as a block of its own.
	if s.failed = s.failed || !ok; strings.Contains(text, "\n") {
		text = strings.ReplaceAll(text, "\n", s.eol+"    ")
	}
	return text
}

func endsLine(s string) bool {
	return s == "" || strings.HasSuffix(s, "\n") || strings.HasSuffix(s, "\r")
}
