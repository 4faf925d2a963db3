package prompt

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
)

//go:embed resident
var embedded embed.FS

// Resident are the texts that come with the programs: principle.md, substrate.md
// and procedures.md, and the catalog of guidance.
var Resident = func() fs.FS {
	texts, err := fs.Sub(embedded, "resident")
	if err != nil {
		panic(err) // cannot be: the name is valid
	}
	return texts
}()

// maxFile is the largest source of a section that is read, in bytes.
const maxFile = 4 << 20

// Input is what a prompt is composed from.
type Input struct {
	Body     body.Body
	Host     preset.Host
	Config   *preset.Config
	Resident fs.FS
	More     []Section // of whoever runs the mind: its tools, say
}

// Compose composes the prompt. It writes nothing, and where one source fails there
// is no prompt, rather than half of one.
func Compose(in Input) (*Prompt, error) {
	c := &composer{Input: in, p: &Prompt{body: in.Body}}
	for _, step := range []func() error{
		c.resident, c.guidance, c.fromInit, c.files, c.catalogs, c.identity, c.own, c.more,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.p.sort()
	return c.p, nil
}

// For composes the prompt of the agent in a directory, from what its configuration
// is now and with our texts.
func For(h preset.Host, dir string) (*Prompt, error) {
	b, err := body.Open(dir)
	if err != nil {
		return nil, err
	}
	r := h.Read(b.Dir(), preset.AtRefresh)
	if err := r.Err(); err != nil {
		return nil, err
	}
	return Compose(Input{Body: b, Host: h, Config: r.Config, Resident: Resident})
}

type composer struct {
	Input
	p *Prompt
}

// add adds a section that is made from something else and mirrored.
func (c *composer) add(name, text, source string) {
	c.p.Sections = append(c.p.Sections, Section{
		Name: name, Text: text, Source: source, file: mirror(name), mirror: text,
	})
}

func mirror(name string) string { return body.SystemDir + "/" + name + ".md" }

func (c *composer) find(level, check, message, fix string) {
	c.p.Findings = append(c.p.Findings, record.Finding{
		Type: "finding", Level: level, Check: check, Message: message, Fix: fix,
	})
}

// resident adds the texts that init.json has no say in.
func (c *composer) resident() error {
	for _, name := range []string{"principle", "substrate", "procedures"} {
		text, err := fs.ReadFile(c.Resident, name+".md")
		if err != nil {
			return fault.New(fault.Corrupt, "resident text: %w", err)
		}
		c.add(name, Strip(string(text)), "resident")
	}
	return nil
}

func (c *composer) guidance() error {
	index, _, err := readGuidance(c.Resident)
	if err != nil {
		return err
	}
	c.add("meta_guidance", index, "resident")
	return nil
}

// fromInit adds what init.json gives. Where it gives no covenant or base prompt,
// the one that was mirrored last stays in force.
func (c *composer) fromInit() error {
	for _, name := range []string{"base_prompt", "covenant", "comment"} {
		text, _, err := c.Config.Prompt(name)
		if err != nil {
			return fault.New(fault.Corrupt, "%w", err)
		}
		source := "init"
		if strings.TrimSpace(text) == "" && name != "comment" {
			source = "mirror"
			if text, err = c.read(mirror(name)); err != nil {
				return err
			}
		}
		c.add(name, c.valid(name, text), source)
	}
	return nil
}

// files adds what lies in system/ as a source.
func (c *composer) files() error {
	for _, name := range []string{"rules", "brief"} {
		text, err := c.read(mirror(name))
		if err != nil {
			return err
		}
		c.p.Sections = append(c.p.Sections, Section{Name: name, Text: c.valid(name, text), Source: "file"})
	}
	return nil
}

// own adds what the agent writes itself. A text in init.json takes the place of its
// character at each start; to the pad, in which it remembers, it is only a beginning.
func (c *composer) own() error {
	for _, it := range []struct{ section, name string }{{"character", "lingtai"}, {"pad", "pad"}} {
		given, _, err := c.Config.Prompt(it.name)
		if err != nil {
			return fault.New(fault.Corrupt, "%w", err)
		}
		have, err := c.read(mirror(it.name))
		if err != nil {
			return err
		}
		s := Section{Name: it.section, Text: have, Source: "file"}
		if strings.TrimSpace(given) != "" && (it.name == "lingtai" || strings.TrimSpace(have) == "") {
			given = c.valid(it.name, given)
			s = Section{Name: it.section, Text: given, Source: "init", file: mirror(it.name), mirror: given}
		}
		s.Text = c.valid(it.name, s.Text)
		c.p.Sections = append(c.p.Sections, s)
	}
	return nil
}

// more adds sections of others. One of ours is not to be replaced.
func (c *composer) more() error {
	for _, s := range c.More {
		if err := checkName(s.Name); err != nil {
			return err
		}
		for _, have := range c.p.Sections {
			if have.Name == s.Name {
				return fault.New(fault.Exists, "section is there already: %q", s.Name)
			}
		}
		c.add(s.Name, c.valid(s.Name, s.Text), "made")
	}
	return nil
}

// read returns a file of the agent's, "" when it is not there.
func (c *composer) read(file string) (string, error) {
	data, err := disk.ReadFile(c.Body.Path(file), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// valid replaces what is no text.
func (c *composer) valid(name, text string) string {
	if utf8.ValidString(text) && !strings.ContainsRune(text, 0) {
		return text
	}
	c.find("warn", name, "not UTF-8, or a NUL in it: replaced", "mend its source")
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "\ufffd")
}

// identity adds who the agent is. Nothing in it changes while it lives, so that
// what precedes it in a model's cache keeps its worth: no state, no times of a run.
func (c *composer) identity() error {
	m, conf := c.Body.Manifest(), c.Config
	name := conf.Text("manifest", "agent_name")
	if name == "" {
		name = m.Name()
	}
	address := fmt.Sprintf("Your address is %s, the name of your directory, %s.", c.Body.Address(), c.Body.Dir())
	lines := []string{address}
	if name != "" {
		lines = []string{"You are " + name + ".", address}
	}
	for _, it := range []struct{ says, value string }{
		{"You are also called", m.Text("nickname")}, {"Your identity is", m.AgentID()},
		{"You exist since", m.Text("created_at")}, {"Your language is", conf.Text("manifest", "language")},
	} {
		if it.value != "" {
			lines = append(lines, it.says+" "+it.value+".")
		}
	}
	var rights []string
	admin := conf.Object("manifest", "admin")
	for _, right := range []string{"karma", "nirvana"} {
		if on, _ := admin[right].(bool); on {
			rights = append(rights, right)
		}
	}
	if len(rights) > 0 {
		lines = append(lines, "Your rights over peers are "+strings.Join(rights, " and ")+".")
	}
	for i, line := range lines {
		lines[i] = record.OneLine(line)
	}
	c.add("identity", c.valid("identity", strings.Join(lines, "\n")), "made")
	return nil
}
