package yamldoc

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

// checkText refuses what is not text, with the place of the first offending byte: yaml.v3 gives
// none.
func (d *Doc) checkText() error {
	s := newScanner(d.text)
	for i, start := range s.lines {
		line := s.line(i)
		for _, marker := range []string{"<<<<<<<", "|||||||", "=======", ">>>>>>>"} {
			if rest, ok := strings.CutPrefix(line, marker); ok && (rest == "" || rest[0] == ' ') {
				return d.errorAt(i+1, 1, "merge conflict marker %s", marker)
			}
		}
		end := len(d.text)
		if i+1 < len(s.lines) {
			end = s.lines[i+1]
		}
		column := 1
		for at := start; at < end; column++ {
			r, size := utf8.DecodeRuneInString(d.text[at:])
			switch {
			case r == utf8.RuneError && size == 1:
				return d.errorAt(i+1, column, "invalid UTF-8, byte 0x%02x", d.text[at])
			case !printable(r), string(r) == bom && at == 0: // yaml.v3 would skip it uncounted
				return d.errorAt(i+1, column, "control character %+q", r)
			}
			at += size
		}
	}
	return nil
}

// printable reports whether YAML (1.2.2, section 5.1) allows r in a file.
func printable(r rune) bool {
	switch {
	case r == '\t', r == '\n', r == '\r', r == 0x85:
		return true
	case r < 0x20, r >= 0x7f && r < 0xa0, r == 0xfffe, r == 0xffff:
		return false
	}
	return true
}

// checkNode refuses what Parse refuses in a tree; open holds the anchors that n stands inside of.
func (d *Doc) checkNode(n *yaml.Node, depth int, open map[string]bool) error {
	switch {
	case depth > MaxDepth:
		return d.errorIn(n, "nested deeper than %d levels", MaxDepth)
	case n.Kind == yaml.AliasNode && open[n.Value]:
		return d.errorIn(n, "alias *%s stands inside its own anchor", n.Value)
	}
	if n.Anchor != "" && len(n.Content) > 0 && !open[n.Anchor] {
		open[n.Anchor] = true
		defer delete(open, n.Anchor)
	}
	seen := make(map[string]int)
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if child.Kind != yaml.ScalarNode {
				return d.errorIn(child, "a key that is %s", kind(child))
			}
			if depth == 1 && child.Value == "<<" && child.Style&quoted == 0 {
				return d.errorIn(child, "a merge key, which programs read differently: write the keys out")
			}
			if first := seen[child.Value]; first != 0 {
				return d.errorIn(child, "key %q is already on line %d", child.Value, first)
			}
			seen[child.Value] = max(child.Line, 1)
		}
		if err := d.checkNode(child, depth+1, open); err != nil {
			return err
		}
	}
	return nil
}

var (
	yamlError     = regexp.MustCompile(`(?s)^yaml: (?:line (\d+): )?(.*)$`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '(.*)' referenced`)
)

// located turns an error of yaml.v3, which names a line at most, into an *Error.
func (d *Doc) located(err error) error {
	m := yamlError.FindStringSubmatch(err.Error())
	if m == nil {
		return d.errorAt(1, 1, "%v", err)
	}
	line, _ := strconv.Atoi(m[1]) // it leaves out line 1
	line = max(line, 1)
	s := newScanner(d.text)
	switch a := unknownAnchor.FindStringSubmatch(m[2]); {
	case a != nil:
		if at := strings.Index(d.text, "*"+a[1]); at >= 0 {
			line, column := s.position(at)
			return d.errorAt(line, column, "%s", m[2])
		}
	case strings.Contains(m[2], " tab character"), strings.Contains(m[2], "cannot start any token"):
		// It names the line where the block starts, or the tab's.
		for i := line - 1; i < len(s.lines); i++ {
			text := s.line(i)
			if tab := strings.IndexByte(text, '\t'); tab >= 0 && strings.Trim(text[:tab], " ") == "" {
				return d.errorAt(i+1, tab+1, "tab in indentation")
			}
		}
	case strings.HasPrefix(m[2], "did not find expected"):
		line++ // what its parser reports, its scanner not, counts from 0
	}
	line = min(line, len(s.lines))
	text := s.line(line - 1)
	return d.errorAt(line, len(text)-len(strings.TrimLeft(text, " \t"))+1, "%s", m[2])
}
