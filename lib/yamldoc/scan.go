package yamldoc

import (
	"sort"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// A scanner finds where values begin and end in a text: yaml.v3 tells only where they begin. It may
// be wrong about a text that is odd enough; an edit is therefore verified after it was made.
type scanner struct {
	text  string
	lines []int // where each line begins; the last may be empty
	eol   string
}

// newScanner splits a text into lines as yaml.v3 counts them. New lines end like the first.
func newScanner(text string) *scanner {
	s := &scanner{text: text, lines: []int{0}}
	for i := 0; i < len(text); {
		size := breakAt(text, i)
		if size == 0 {
			i++
			continue
		}
		if s.eol == "" {
			s.eol = text[i : i+size]
		}
		i += size
		s.lines = append(s.lines, i)
	}
	if s.eol != "\r\n" {
		s.eol = "\n"
	}
	return s
}

// breakAt returns the length of the line break at i, 0 when there is none.
func breakAt(text string, i int) int {
	switch rest := text[i:]; {
	case strings.HasPrefix(rest, "\r\n"), strings.HasPrefix(rest, "\u0085"):
		return 2
	case rest[0] == '\n', rest[0] == '\r':
		return 1
	case strings.HasPrefix(rest, "\u2028"), strings.HasPrefix(rest, "\u2029"):
		return 3
	}
	return 0
}

// line returns line i, from 0, without its break.
func (s *scanner) line(i int) string {
	end := len(s.text)
	if i+1 < len(s.lines) {
		end = s.lines[i+1]
	}
	return strings.TrimRight(s.text[s.lines[i]:end], "\r\n\u0085\u2028\u2029")
}

// row returns the line, from 0, that holds an offset.
func (s *scanner) row(at int) int { return sort.SearchInts(s.lines, at+1) - 1 }

// next returns where the line after the one that holds an offset begins, or the end of the text.
func (s *scanner) next(at int) int {
	if row := s.row(at); row+1 < len(s.lines) {
		return s.lines[row+1]
	}
	return len(s.text)
}

func (s *scanner) position(at int) (line, column int) {
	row := s.row(at)
	return row + 1, utf8.RuneCountInString(s.text[s.lines[row]:at]) + 1
}

func (s *scanner) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(s.lines) {
		return len(s.text)
	}
	at := s.lines[n.Line-1]
	for i := 1; i < n.Column && at < len(s.text); i++ {
		_, size := utf8.DecodeRuneInString(s.text[at:])
		at += size
	}
	return at
}

// limit returns where the document ends: at its end marker, or with the text.
func (s *scanner) limit() int {
	for i, start := range s.lines {
		rest, ok := strings.CutPrefix(s.line(i), "...")
		if ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
			return start
		}
	}
	return len(s.text)
}

// blanks skips white space within a line.
func (s *scanner) blanks(at, limit int) int {
	for at < limit && (s.text[at] == ' ' || s.text[at] == '\t') {
		at++
	}
	return at
}

// colon returns the offset behind the colon of a key.
func (s *scanner) colon(key *yaml.Node, limit int) (int, bool) {
	end, ok := s.end(key, limit, 0)
	end = s.blanks(end, limit)
	return end + 1, ok && end < limit && s.text[end] == ':'
}

// end returns where the text of a value ends, not later than limit, where what follows it begins.
// Indent is that of its key or dash, in columns.
func (s *scanner) end(n *yaml.Node, limit, indent int) (end int, ok bool) {
	at := s.offset(n)
	if block(n) {
		last := n.Content[len(n.Content)-1]
		if n.Kind == yaml.SequenceNode {
			return s.end(last, limit, s.dashColumn(n))
		}
		key := n.Content[len(n.Content)-2]
		colon, ok := s.colon(key, limit)
		if !ok || bare(last) {
			return colon, ok
		}
		return s.end(last, limit, key.Column-1)
	}
	for at < limit && (s.text[at] == '&' || s.text[at] == '!') {
		end = at + strings.IndexAny(s.text[at:limit]+" ", " \t\r\n")
		for at = s.blanks(end, limit); at < limit && breakAt(s.text, at) > 0; at = s.blanks(at, limit) {
			at += breakAt(s.text, at)
		}
	}
	switch {
	case n.Value == "" && n.Kind == yaml.ScalarNode && n.Style&^yaml.TaggedStyle == 0:
		return max(end, s.offset(n)), true
	case at >= limit:
		return 0, false
	case n.Kind == yaml.AliasNode:
		return at + strings.IndexAny(s.text[at:limit]+" ", " \t\r\n"), true
	case n.Kind != yaml.ScalarNode:
		return s.flowEnd(at, limit)
	case s.text[at] == '"' || s.text[at] == '\'':
		return s.quoteEnd(at, limit)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return s.blockEnd(at, limit, indent), true
	}
	return s.plainEnd(at, limit), true
}

func (s *scanner) quoteEnd(at, limit int) (int, bool) {
	quote := s.text[at]
	for i := at + 1; i < limit; i++ {
		switch {
		case s.text[i] == '\\' && quote == '"':
			i++
		case s.text[i] != quote:
		case quote == '\'' && i+1 < limit && s.text[i+1] == quote:
			i++
		default:
			return i + 1, true
		}
	}
	return 0, false
}

// plainEnd ends at a comment or a colon; without one the value goes on through every line before
// limit.
func (s *scanner) plainEnd(at, limit int) int {
	end := at
	for at < limit && s.text[at] != '#' {
		stop := at
		for stop < limit && breakAt(s.text, stop) == 0 && !plainStop(s.text[stop:limit]) {
			stop++
		}
		end = at + len(strings.TrimRight(s.text[at:stop], " \t"))
		if stop < limit && breakAt(s.text, stop) == 0 {
			break
		}
		for at = stop; at < limit && breakAt(s.text, at) > 0; {
			at = s.blanks(at+breakAt(s.text, at), limit)
		}
	}
	return end
}

func plainStop(rest string) bool {
	switch rest[0] {
	case ' ', '\t':
		return len(rest) > 1 && rest[1] == '#'
	case ':':
		return len(rest) == 1 || strings.IndexByte(" \t\r\n", rest[1]) >= 0
	}
	return false
}

// blockEnd ends a literal or folded value, whose first line is its head. Comments behind it stand
// further out than its first line; blank lines behind it are its own only when the head says so
// with a +.
func (s *scanner) blockEnd(at, limit, indent int) int {
	head := s.line(s.row(at))
	end := s.lines[s.row(at)] + len(head)
	mark, _, _ := strings.Cut(s.text[at:end], " ")
	least, fixed := indent+1, strings.ContainsAny(mark, "123456789")
	for row := s.row(at) + 1; row < len(s.lines) && s.lines[row] < limit; row++ {
		line := s.line(row)
		deep := len(line) - len(strings.TrimLeft(line, " "))
		switch {
		case deep == len(line) && !strings.Contains(mark, "+"):
			continue
		case deep < len(line) && deep < least:
			return end
		case deep < len(line) && !fixed:
			least, fixed = deep, true
		}
		end = s.lines[row] + len(line)
	}
	return end
}

// flowEnd ends a list or mapping in brackets.
func (s *scanner) flowEnd(at, limit int) (int, bool) {
	depth, fresh := 0, true // fresh: a quote would open a quoted text here
	for i := at; i < limit; i++ {
		switch c := s.text[i]; {
		case c == '[' || c == '{':
			depth, fresh = depth+1, true
		case c == ']' || c == '}':
			if depth--; depth == 0 {
				return i + 1, true
			}
			fresh = false
		case c == ',' || c == ':':
			fresh = true
		case c == ' ' || breakAt(s.text, i) > 0 || c == '\t':
		case c == '#' && strings.IndexByte(" \t\r\n", s.text[i-1]) >= 0:
			i = min(s.next(i), limit) - 1
		case fresh && (c == '"' || c == '\''):
			end, ok := s.quoteEnd(i, limit)
			if !ok {
				return 0, false
			}
			i, fresh = end-1, false
		case fresh && (c == '&' || c == '!'):
			i += strings.IndexAny(s.text[i:limit]+" ", " \t\r\n,]}") - 1
		default:
			fresh = false
		}
	}
	return 0, false
}

// dash returns where the dash of a list item stands: on the line where the item begins or above.
func (s *scanner) dash(item *yaml.Node) (int, bool) {
	at := s.offset(item)
	for row := s.row(at); row >= 0; row-- {
		line := s.line(row)
		dash := s.lines[row] + len(line) - len(strings.TrimLeft(line, " "))
		if dash < at && strings.HasPrefix(s.text[dash:], "-") {
			return dash, true
		}
	}
	return 0, false
}

// dashColumn returns how many columns stand before the dashes of a block list. Where the list
// begins does not tell: its anchor may stand on the line of the key.
func (s *scanner) dashColumn(list *yaml.Node) int {
	dash, ok := s.dash(list.Content[0])
	if !ok {
		return max(list.Column-1, 0)
	}
	return dash - s.lines[s.row(dash)]
}
