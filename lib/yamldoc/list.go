package yamldoc

import (
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// A chunk is the text of one list item, in whole lines.
type chunk struct {
	head string // the comment lines right above it
	body string
	gap  string // blank lines, and comments apart from the next item
	stay bool
}

// list makes want of the block list that is the value of p.
func (s *splicer) list(p span, old, want *yaml.Node) {
	from, to, chunks := s.chunks(p, old)
	if s.failed {
		return
	}
	was := make(map[*yaml.Node]*chunk)
	for i, item := range old.Content {
		was[item] = &chunks[i]
		chunks[i].stay = slices.Contains(want.Content, item)
	}
	rest := "" // comments of nobody in particular do not go with an item
	for i := range chunks {
		switch c := &chunks[i]; {
		case c.stay:
			c.head, rest = rest+c.head, ""
		case strings.Contains(c.gap, "#"):
			rest += c.gap
		}
	}
	var b strings.Builder
	column := s.dashColumn(old)
	put := func(lines string) {
		if lines != "" && !endsLine(b.String()) {
			b.WriteString(s.eol)
		}
		b.WriteString(lines)
	}
	for _, item := range want.Content {
		if c := was[item]; c != nil {
			put(c.head + c.body)
			put(c.gap)
			continue
		}
		put(s.block(&yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{item}}, column))
	}
	put(rest)
	s.edits = append(s.edits, edit{from: from, to: to, text: b.String(), lines: true})
}

// chunks cuts a list into its items; from and to are where the first begins and the last ends.
func (s *splicer) chunks(p span, list *yaml.Node) (from, to int, chunks []chunk) {
	n, column := len(list.Content), s.dashColumn(list)
	dashes := make([]int, n+1) // where the line of each item begins
	for i, item := range list.Content {
		dash, ok := s.dash(item)
		dashes[i] = s.lines[s.row(dash)]
		s.failed = s.failed || !ok || dash-dashes[i] != column || i > 0 && dashes[i] <= dashes[i-1]
	}
	dashes[n] = p.limit
	floor, head := s.next(p.colon), 0
	for i := 0; i < n && !s.failed; i++ {
		end, ok := s.end(list.Content[i], dashes[i+1], column)
		if s.failed = s.failed || !ok || dashes[i] < floor; s.failed {
			break
		}
		head = dashes[i]
		for row := s.row(head) - 1; row >= 0 && s.lines[row] >= floor; row-- {
			if !strings.HasPrefix(strings.TrimLeft(s.line(row), " "), "#") {
				break
			}
			head = s.lines[row]
		}
		if i == 0 {
			from = head
		} else {
			chunks[i-1].gap = s.text[floor:head]
		}
		floor = min(s.next(end), p.limit)
		chunks = append(chunks, chunk{head: s.text[head:dashes[i]], body: s.text[dashes[i]:floor]})
	}
	return from, floor, chunks
}
