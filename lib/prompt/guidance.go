package prompt

import (
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// listed is a line of INDEX.md that names a section.
var listed = regexp.MustCompile(`(?m)^- ([a-z0-9][a-z0-9-]*): `)

// Guidance returns what a mind is to be reminded of: the sections of a catalog in
// the order of its INDEX.md. A catalog that is missing, or does not agree with its
// index, is an error: a mind without guidance would look like one that has none.
func Guidance(resident fs.FS) (record.Guidance, error) {
	_, sections, err := readGuidance(resident)
	return record.Guidance{Type: "guidance", Sections: sections}, err
}

func readGuidance(resident fs.FS) (index string, sections []record.GuidanceSection, err error) {
	bad := func(format string, args ...any) (string, []record.GuidanceSection, error) {
		return "", nil, fault.New(fault.Corrupt, "guidance catalog: "+format, args...)
	}
	text, err := fs.ReadFile(resident, "guidance/INDEX.md")
	if err != nil {
		return bad("%w", err)
	}
	files, err := fs.Glob(resident, "guidance/*.md")
	if err != nil {
		return bad("%w", err)
	}
	index = Strip(string(text))
	known := map[string]bool{"INDEX": true}
	for _, match := range listed.FindAllStringSubmatch(index, -1) {
		id := match[1]
		if known[id] {
			return bad("listed twice: %q", id)
		}
		known[id] = true
		text, err := fs.ReadFile(resident, "guidance/"+id+".md")
		if err != nil {
			return bad("%w", err)
		}
		sections = append(sections, record.GuidanceSection{ID: id, Text: strings.TrimSpace(Strip(string(text)))})
	}
	if len(sections) == 0 {
		return bad("its INDEX.md lists nothing")
	}
	for _, file := range files {
		if id := strings.TrimSuffix(path.Base(file), ".md"); !known[id] {
			return bad("not listed in its INDEX.md: %q", id)
		}
	}
	return index, sections, nil
}

// Strip returns a text without the front matter at its beginning.
func Strip(text string) string {
	_, rest := front(text)
	return rest
}

// front parts the front matter of a text, between two lines ---, from the rest.
func front(text string) (matter, rest string) {
	text = strings.TrimPrefix(text, "\ufeff")
	first, after, found := strings.Cut(text, "\n")
	if !found || strings.TrimRight(first, " \t\r") != "---" {
		return "", text
	}
	for at := 0; at < len(after); {
		line, _, more := strings.Cut(after[at:], "\n")
		end := at + len(line)
		if more {
			end++
		}
		if strings.TrimRight(line, " \t\r") == "---" {
			return after[:at], strings.TrimLeft(after[end:], "\r\n")
		}
		at = end
	}
	return "", text // it never ends, so it is none
}
