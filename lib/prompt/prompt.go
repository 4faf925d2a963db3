// Package prompt composes the system prompt of an agent: sections in a fixed order,
// of which each has one source. What is made from a source is mirrored in
// system/<section>.md and the whole in system/system.md, for people to read; a
// mirror is never read back, but for the covenant and the base prompt where
// init.json gives none.
package prompt

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// The sections, in their order. They stand in three batches, from what hardly ever
// changes to what changes most, so that a model's cache of the first ones holds.
var order = [3][]string{
	{"principle", "base_prompt", "covenant", "tools", "substrate", "procedures", "meta_guidance", "comment"},
	{"rules", "brief", "skills", "knowledge"},
	{"identity", "character", "pad"},
}

// raw is the one section without a head: it opens the prompt.
const raw = "principle"

// wholeFile is where the prompt is mirrored, below an agent's directory.
const wholeFile = "system/system.md"

// Section is a part of a prompt.
type Section struct {
	Name   string
	Text   string
	Source string // "resident", "init", "mirror", "file" or "made"

	batch  int
	mirror string // what its file is to hold
	file   string // "" when the file is its source
}

// Prompt is a prompt that was composed. Nothing is written yet.
type Prompt struct {
	Sections []Section        // in order; none is empty
	Findings []record.Finding // of sources that are not as they should be

	body    body.Body
	mirrors []Section // of all sections, empty ones too
}

// place returns the batch and position of a section; one that is not known stands
// behind what is known of its batch, which is the one before the last.
func place(name string) (batch, position int) {
	for batch, names := range order {
		if i := slices.Index(names, name); i >= 0 {
			return batch, i
		}
	}
	return len(order) - 2, len(order[len(order)-2])
}

// sort puts sections in their order and leaves out the empty ones.
func (p *Prompt) sort() {
	p.mirrors = p.Sections
	p.Sections = nil
	for _, s := range p.mirrors {
		if s.Text = strings.TrimSpace(s.Text); s.Text != "" {
			s.batch, _ = place(s.Name)
			p.Sections = append(p.Sections, s)
		}
	}
	slices.SortStableFunc(p.Sections, func(a, b Section) int {
		_, i := place(a.Name)
		_, j := place(b.Name)
		return (a.batch-b.batch)*1000 + i - j
	})
}

// Batches returns the prompt in parts; joined they are the whole, byte for byte.
func (p *Prompt) Batches() []string {
	parts := make([]string, len(order))
	for i, s := range p.Sections {
		text := s.Text + "\n"
		if s.Name != raw {
			text = "## " + s.Name + "\n\n" + text
		}
		if i > 0 {
			text = "\n" + text
		}
		parts[s.batch] += text
	}
	return parts
}

// String returns the whole prompt.
func (p *Prompt) String() string { return strings.Join(p.Batches(), "") }

// Record returns what the prompt is composed of.
func (p *Prompt) Record() record.Prompt {
	text := p.String()
	sum := sha256.Sum256([]byte(text))
	r := record.Prompt{
		Type: "prompt", Dir: p.body.Dir(), Bytes: len(text), SHA256: hex.EncodeToString(sum[:]),
		Sections: []record.PromptSection{},
	}
	for _, s := range p.Sections {
		r.Sections = append(r.Sections, record.PromptSection{
			Name: s.Name, Source: s.Source, Batch: s.batch + 1, Bytes: len(s.Text),
		})
	}
	return r
}

// Write writes the mirrors and, last, the whole. What is the same already is left
// alone.
func (p *Prompt) Write() (record.Prompt, error) {
	r := p.Record()
	if _, err := p.body.Make(body.SystemDir); err != nil {
		return r, err
	}
	for _, s := range p.mirrors {
		if s.file == "" {
			continue
		}
		if err := p.keep(s.file, s.mirror); err != nil {
			return r, err
		}
	}
	r.Path = p.body.Path(wholeFile)
	return r, p.keep(wholeFile, p.String())
}

// keep has a file hold a text. An empty text makes no file.
func (p *Prompt) keep(file, text string) error {
	path := p.body.Path(file)
	have, err := disk.ReadFile(path, maxFile)
	switch {
	case err == nil && string(have) == text:
		return nil
	case text == "" && !disk.Exists(path):
		return nil
	}
	return disk.Replace(path, []byte(text))
}

// checkName refuses a section whose name could not be that of its mirror.
func checkName(name string) error {
	plain := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' || r == '-' }
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return !plain(r) }) || name == "system" {
		return fault.New(fault.BadInput, "not a name for a section: %q", name)
	}
	return nil
}
