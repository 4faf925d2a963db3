package clients

import (
	"errors"
	"regexp"
	"strings"
)

// tomlTable is our table in codex's configuration.
const tomlTable = "mcp_servers." + EntryName

var (
	tomlHeader = regexp.MustCompile(`^\s*\[\[?\s*([^\[\]#]+?)\s*\]\]?\s*(#.*)?$`)
	tomlInline = regexp.MustCompile(`^\s*"?mcp_servers"?\s*[.=]`)
)

// tomlSet puts our table in the place of the one that is there, or at the end.
func tomlSet(src, table string) (string, error) {
	from, to, err := tomlFind(src)
	switch {
	case err != nil:
		return "", err
	case from < to:
		return src[:from] + table + src[to:], nil
	case src == "":
		return table, nil
	case !strings.HasSuffix(src, "\n"):
		src += "\n"
	}
	return src + "\n" + table, nil
}

// tomlCut takes our table out, and the empty line before it.
func tomlCut(src string) (string, error) {
	from, to, err := tomlFind(src)
	if err != nil || from == to {
		return src, err
	}
	if strings.HasSuffix(src[:from], "\n\n") {
		from--
	}
	return src[:from] + src[to:], nil
}

// tomlFind returns where our table and those below it begin and end. Blank lines
// and comments after the last of its keys belong to what follows.
func tomlFind(src string) (from, to int, err error) {
	var state tomlState
	from, at, top, ours := -1, 0, true, false
	for line := range strings.SplitAfterSeq(src, "\n") {
		fresh := state.fresh()
		head := tomlHeader.FindStringSubmatch(strings.TrimRight(line, "\r\n"))
		switch text := strings.TrimSpace(line); {
		case fresh && head != nil:
			top = false
			name := strings.NewReplacer(`"`, "", `'`, "", " ", "", "\t", "").Replace(head[1])
			ours = name == tomlTable || strings.HasPrefix(name, tomlTable+".")
			if ours && from >= 0 && strings.TrimSpace(src[to:at]) != "" {
				return 0, 0, errors.New("our table is in more than one place")
			}
			if ours {
				if from < 0 {
					from = at
				}
				to = at + len(line)
			}
		case fresh && top && tomlInline.MatchString(line):
			return 0, 0, errors.New("mcp_servers is not written as tables")
		case ours && (!fresh || text != "" && !strings.HasPrefix(text, "#")):
			to = at + len(line)
		}
		if !fresh || head == nil {
			state.read(line)
		}
		at += len(line)
	}
	if from < 0 {
		return 0, 0, state.end()
	}
	return from, to, state.end()
}

// tomlState is what a line begins in: a string of several lines, or brackets.
type tomlState struct {
	quote string // the end that is waited for
	depth int
}

func (s *tomlState) fresh() bool { return s.quote == "" && s.depth == 0 }

func (s *tomlState) end() error {
	if s.fresh() {
		return nil
	}
	return errors.New("a string or a list has no end")
}

func (s *tomlState) read(line string) {
	for i := 0; i < len(line); i++ {
		rest := line[i:]
		switch {
		case s.quote != "":
			if strings.HasPrefix(rest, s.quote) {
				i += len(s.quote) - 1
				s.quote = ""
			} else if line[i] == '\\' && s.quote[0] == '"' {
				i++
			}
		case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, `'''`):
			s.quote = rest[:3]
			i += 2
		case line[i] == '"' || line[i] == '\'':
			s.quote = rest[:1]
		case line[i] == '#':
			return
		case line[i] == '[' || line[i] == '{':
			s.depth++
		case line[i] == ']' || line[i] == '}':
			s.depth--
		}
	}
	if len(s.quote) == 1 { // such a string ends with its line
		s.quote = ""
	}
}
