package yamldoc

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// A splicer turns the difference between two trees into the least replacements of text. It gives
// up, with failed, on a form it does not know; the edit is then written another way.
type splicer struct {
	*scanner
	after    map[string]string
	edits    []edit
	listStep int // by how much a list stands further in than its key
	mapStep  int
	failed   bool
}

// An edit replaces text[from:to].
type edit struct {
	from, to int
	text     string
	lines    bool // text is whole lines: what it follows must end in a line break
}

// A span is where one key of a mapping stands.
type span struct {
	line       int // where the line of the key begins
	colon      int // behind the colon
	start, end int // of the value
	limit      int // where the next key begins, or the mapping ends
	indent     int // columns before the key
}

func (d *Doc) splice(root *yaml.Node) (text string, ok bool) {
	s := &splicer{scanner: newScanner(d.text), after: d.after, listStep: -1, mapStep: -1}
	s.learn(d.root)
	limit := s.scanner.limit()
	switch {
	case block(d.root):
		s.mapping(d.root, root, limit, d.root)
	case d.root.Line == 0:
		s.insert(limit, s.block(root, 0))
	default: // in braces
		start := s.offset(d.root)
		end, ok := s.scanner.end(d.root, limit, 0)
		s.failed = s.failed || !ok
		s.replace(start, end, s.inline(root))
	}
	if s.failed {
		return "", false
	}
	return s.apply()
}

// learn takes the indentation that the document has. Without one it is that of yaml.v3, four
// columns; without any but lists that stand no further in than their key, it is that of the writers
// who do this.
func (s *splicer) learn(root *yaml.Node) {
	var walk func(n *yaml.Node)
	walk = func(n *yaml.Node) {
		for i, child := range n.Content {
			if !block(n) || !block(child) {
				continue
			}
			if n.Kind == yaml.MappingNode && i%2 == 1 {
				key := n.Content[i-1]
				switch {
				case child.Kind == yaml.MappingNode && s.mapStep < 0:
					s.mapStep = child.Content[0].Column - key.Column
				case child.Kind == yaml.SequenceNode && s.listStep < 0 && child.Anchor == "":
					s.listStep = child.Column - key.Column
				}
			}
			walk(child)
		}
	}
	walk(root)
	if s.mapStep <= 0 {
		if s.mapStep = s.listStep; s.listStep == 0 {
			s.mapStep = 2
		} else if s.listStep < 0 {
			s.mapStep = 4
		}
	}
	if s.listStep < 0 {
		s.listStep = s.mapStep
	}
}

func (s *splicer) apply() (string, bool) {
	slices.SortStableFunc(s.edits, func(a, b edit) int {
		if a.from != b.from {
			return a.from - b.from
		}
		return a.to - b.to
	})
	var b strings.Builder
	at := 0
	for _, e := range s.edits {
		if e.from < at {
			return "", false
		}
		b.WriteString(s.text[at:e.from])
		if done := b.String(); e.lines && e.text != "" && done != "" && !endsLine(done) {
			b.WriteString(s.eol)
		}
		b.WriteString(e.text)
		at = e.to
	}
	b.WriteString(s.text[at:])
	return b.String(), true
}

func (s *splicer) replace(from, to int, text string) {
	s.edits = append(s.edits, edit{from: from, to: to, text: text})
}

func (s *splicer) insert(at int, lines string) {
	s.edits = append(s.edits, edit{from: at, to: at, text: lines, lines: true})
}

// span returns where key i, counted in the content of a mapping, stands.
func (s *splicer) span(m *yaml.Node, i, limit int) span {
	key, value := m.Content[i], m.Content[i+1]
	at := s.offset(key)
	p := span{line: s.lines[s.row(at)], limit: limit, indent: key.Column - 1}
	if i+2 < len(m.Content) {
		p.limit = s.lines[s.row(s.offset(m.Content[i+2]))]
	}
	var ok bool
	if p.colon, ok = s.colon(key, p.limit); !ok || strings.Trim(s.text[p.line:at], " ") != "" {
		s.failed = true
		return p
	}
	if p.start, p.end = p.colon, p.colon; !bare(value) {
		p.start = s.offset(value)
		p.end, ok = s.end(value, p.limit, p.indent)
		s.failed = s.failed || !ok || p.end < p.start
	}
	return p
}

// behind returns where a key after this one goes: behind its value, and comment lines further in
// than its key.
func (s *splicer) behind(p span) int {
	at := s.next(p.end)
	for at < p.limit {
		line := s.line(s.row(at))
		rest := strings.TrimLeft(line, " ")
		if !strings.HasPrefix(rest, "#") || len(line)-len(rest) <= p.indent {
			break
		}
		at = s.next(at)
	}
	return min(at, p.limit)
}

// mapping makes want of a block mapping that ends at limit.
func (s *splicer) mapping(old, want *yaml.Node, limit int, root *yaml.Node) {
	was := make(map[*yaml.Node]int)
	for i := 0; i < len(old.Content); i += 2 {
		was[old.Content[i]] = i
	}
	prev, final := -1, len(old.Content)-2
	for i := 0; i < len(want.Content) && !s.failed; i += 2 {
		key, value := want.Content[i], want.Content[i+1]
		at, ok := was[key]
		if !ok {
			if prev < 0 {
				prev = final
			}
			to := s.behind(s.span(old, prev, limit))
			if _, placed := s.after[key.Value]; old == root && prev == final && !placed {
				to = limit
			}
			pair := &yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{key, value}}
			s.insert(to, s.block(pair, old.Content[0].Column-1))
			continue
		}
		delete(was, key)
		if prev = at; old.Content[at+1] != value {
			s.value(s.span(old, at, limit), old.Content[at+1], value)
		}
	}
	for _, i := range was {
		p := s.span(old, i, limit)
		s.replace(p.line, s.next(p.end), "")
	}
}

// value makes want of the value of a key.
func (s *splicer) value(p span, old, want *yaml.Node) {
	grow := len(want.Content) > 0 && (block(old) || len(old.Content) == 0)
	switch {
	case s.failed:
	case block(old) && old.Kind == want.Kind:
		if len(want.Content) == 0 {
			s.replace(p.colon, p.colon, " "+s.inline(want))
			s.failed = s.failed || old.Anchor != "" || old.Style&yaml.TaggedStyle != 0
		}
		if old.Kind == yaml.SequenceNode {
			s.list(p, old, want)
		} else {
			s.mapping(old, want, p.limit, nil)
		}
	case grow: // nothing, null, an alias or empty brackets become lines
		from := len(strings.TrimRight(s.text[:p.start], " \t"))
		anchor := ""
		if want.Anchor != "" {
			anchor = " &" + want.Anchor
		}
		s.replace(from, p.end, anchor)
		s.insert(s.next(p.end), s.block(want, p.indent+s.step(want)))
	case p.start == p.colon:
		s.replace(p.start, p.end, " "+s.inline(want))
	default:
		s.replace(p.start, p.end, s.inline(want))
	}
}
