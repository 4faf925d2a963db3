package prompt

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/yamldoc"
)

const (
	maxDepth       = 8    // of groups of skills within each other
	maxDescription = 1000 // bytes of one that are shown
	skillsDir      = ".library/custom"
	knowledgeDir   = "knowledge"
)

// catalogs adds what the agent knows: of each item its name, where it is and what
// it is about, never the item itself.
func (c *composer) catalogs() error {
	skills := &catalog{c: c, name: "skills", marker: "SKILL.md"}
	if c.Config.Has("skills") {
		if err := skills.root(c.Body.Path(skillsDir), false); err != nil {
			return err
		}
		paths, bad := c.Config.SkillPaths(c.Host)
		for _, err := range bad {
			c.find("warn", "skills", err.Error(), "mend manifest.capabilities.skills.paths")
		}
		for _, path := range paths {
			if err := skills.root(path, true); err != nil {
				return err
			}
		}
	}
	knowledge := &catalog{c: c, name: "knowledge", marker: "KNOWLEDGE.md"}
	if c.Config.Has("knowledge") {
		if err := knowledge.root(c.Body.Path(knowledgeDir), false); err != nil {
			return err
		}
	}
	c.add("skills", skills.text("Ways of working. Read the file before you follow one."), "made")
	c.add("knowledge", knowledge.text("Facts of your own. Read the file before you rely on one."), "made")
	return nil
}

// A catalog is a scan of directories for folders that hold a marker file.
type catalog struct {
	c      *composer
	name   string
	marker string
	lines  []string
	seen   map[string]bool // real paths of directories
	named  map[string]string
}

// text returns the catalog, "" when there is nothing in it.
func (t *catalog) text(intro string) string {
	if len(t.lines) == 0 {
		return ""
	}
	return intro + "\n\n" + strings.Join(t.lines, "\n")
}

// root scans a directory that may not be there, which is worth a word where it was
// configured.
func (t *catalog) root(dir string, configured bool) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir():
		if configured {
			t.c.find("warn", t.name, "no such directory: "+dir, "make it, or mend manifest.capabilities.skills.paths")
		}
		return nil
	case err != nil:
		return err
	}
	return t.scan(dir, 0)
}

// scan looks at a directory: an item when it holds the marker, else a group of
// items or of groups.
func (t *catalog) scan(dir string, depth int) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if t.seen == nil {
		t.seen, t.named = map[string]bool{}, map[string]string{}
	}
	if t.seen[real] {
		return nil
	}
	t.seen[real] = true
	if file := filepath.Join(dir, t.marker); disk.Exists(file) {
		return t.item(file)
	}
	if depth == maxDepth {
		t.c.find("warn", t.name, "too deep, not looked into: "+dir, "move it up")
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		switch {
		case strings.HasPrefix(e.Name(), "."):
		case err != nil:
			t.c.find("warn", t.name, "cannot be read: "+path, "mend or remove it")
		case info.IsDir():
			if err := t.scan(path, depth+1); err != nil {
				return err
			}
		default:
			t.c.find("warn", t.name, "loose file: "+path, "put it into a folder that has a "+t.marker)
		}
	}
	return nil
}

// item adds the line of one item, or says why it has none.
func (t *catalog) item(file string) error {
	data, err := disk.ReadFile(file, maxFile)
	if err != nil {
		return err
	}
	skip := func(why string) error {
		t.c.find("warn", t.name, why+": "+file, "give it front matter with name and description")
		return nil
	}
	if !utf8.Valid(data) {
		return skip("not UTF-8")
	}
	matter, _ := front(string(data))
	name, about := field(matter, "name"), field(matter, "description")
	switch {
	case name == "":
		return skip("no name")
	case about == "":
		return skip("no description")
	}
	if other := t.named[name]; other != "" {
		t.c.find("warn", t.name, fmt.Sprintf("two are named %q: %s and %s", name, other, file), "rename one")
	}
	t.named[name] = file
	line := fmt.Sprintf("- %s (%s): %s", name, t.place(file), record.Clip(about, maxDescription))
	t.lines = append(t.lines, record.OneLine(line))
	return nil
}

// field returns a text of front matter, on one line. Where it is not YAML, often for
// a colon in a description, the rest of the line that begins with the key is taken.
func field(matter, key string) string {
	value := ""
	if doc, err := yamldoc.Parse(key, []byte(matter)); err == nil {
		value, _, _ = doc.String(key)
	} else {
		for line := range strings.Lines(matter) {
			if rest, ok := strings.CutPrefix(line, key+":"); ok {
				value = rest
				break
			}
		}
	}
	return strings.Join(strings.Fields(value), " ")
}

// place returns where an item is: from the agent's directory when it is in it.
func (t *catalog) place(file string) string {
	if rel, err := filepath.Rel(t.c.Body.Dir(), file); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return file
}
