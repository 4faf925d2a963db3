package prompt_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/prompt"
)

func section(p *prompt.Prompt, name string) string {
	for _, s := range p.Sections {
		if s.Name == name {
			return s.Text
		}
	}
	return ""
}

func TestACatalogHasNamePlaceAndDescription(t *testing.T) {
	in := agent(t, map[string]string{
		"init.json": `{"covenant":"","pad":"","manifest":{"llm":{"provider":"p","model":"m"},
			"capabilities":{"skills":{"paths":["../shared","~/mine","nosuch","~/one/SKILL"]}}}}`,
		"knowledge/b/KNOWLEDGE.md":         "---\nname: b\ndescription: >\n  on\n  two lines\n---\nTHE BODY",
		"knowledge/a/KNOWLEDGE.md":         "\ufeff---\r\nname: a\r\ndescription: \"a: b\"\r\n---\r\nTHE BODY",
		"knowledge/a/deeper/KNOWLEDGE.md":  "---\nname: hidden below a marker\ndescription: d\n---\n",
		"knowledge/group/x/y/KNOWLEDGE.md": "---\nname: y\ndescription: in groups\n---\n",
		"knowledge/.git/z/KNOWLEDGE.md":    "---\nname: dot\ndescription: d\n---\n",
		"knowledge/colon/KNOWLEDGE.md":     "---\nname: colon\ndescription: use it: for this\n---\n",
		"knowledge/nodesc/KNOWLEDGE.md":    "---\nname: n\n---\nTHE BODY",
		"knowledge/noname/KNOWLEDGE.md":    "---\ndescription: d\n---\n",
		"knowledge/nofront/KNOWLEDGE.md":   "THE BODY",
		"knowledge/binary/KNOWLEDGE.md":    "---\nname: n\xff\ndescription: d\n---\n",
		"knowledge/loose.md":               "x",
		"knowledge/group/loose.txt":        "x",
		".library/custom/s/SKILL.md":       "---\nname: own\ndescription: " + strings.Repeat("long ", 300) + "\n---\n",
		"../shared/t/SKILL.md":             "---\nname: shared\ndescription: d\n---\n",
		"../mine/u/SKILL.md":               "---\nname: own\ndescription: again\n---\n",
		"../one/SKILL/SKILL.md":            "---\nname: itself\ndescription: the path is the item\n---\n",
		"../shared/t/sub/SKILL.md":         "---\nname: no\ndescription: d\n---\n",
	})
	if err := os.Symlink("..", in.Body.Path("knowledge/group/loop")); err != nil {
		t.Fatal(err)
	}
	p := compose(t, in)
	net := in.Body.Network()
	want := "Facts of your own. Read the file before you rely on one.\n\n" +
		"- a (knowledge/a/KNOWLEDGE.md): a: b\n" +
		"- b (knowledge/b/KNOWLEDGE.md): on two lines\n" +
		"- colon (knowledge/colon/KNOWLEDGE.md): use it: for this\n" +
		"- y (knowledge/group/x/y/KNOWLEDGE.md): in groups"
	if got := section(p, "knowledge"); got != want {
		t.Errorf("got %s", got)
	}
	lines := strings.Split(section(p, "skills"), "\n")
	if len(lines) != 6 || len(lines[2]) > 1100 || !strings.HasPrefix(lines[2], "- own (.library/custom/s/SKILL.md): long long ") {
		t.Errorf("got %q", lines)
	}
	if !slices.Equal(lines[3:], []string{
		"- shared (" + net + "/shared/t/SKILL.md): d", "- own (" + net + "/mine/u/SKILL.md): again",
		"- itself (" + net + "/one/SKILL/SKILL.md): the path is the item",
	}) {
		t.Errorf("got %q", lines[3:])
	}
	if strings.Contains(p.String(), "THE BODY") {
		t.Error("a body is shown")
	}
	var said []string
	for _, f := range p.Findings {
		said = append(said, strings.ReplaceAll(f.Message, net+"/", ""))
	}
	for _, problem := range []string{
		"no description: ann/knowledge/nodesc/KNOWLEDGE.md", "no name: ann/knowledge/noname/KNOWLEDGE.md",
		"no name: ann/knowledge/nofront/KNOWLEDGE.md", "not UTF-8: ann/knowledge/binary/KNOWLEDGE.md",
		"loose file: ann/knowledge/loose.md", "loose file: ann/knowledge/group/loose.txt", "no such directory: ann/nosuch",
		`two are named "own": ann/.library/custom/s/SKILL.md and mine/u/SKILL.md`,
	} {
		if !slices.Contains(said, problem) {
			t.Errorf("not told: %s", problem)
		}
	}
	if len(said) != 8 {
		t.Errorf("got %q", said)
	}
}

func TestACatalogOfACapabilityThatIsOffIsNotThere(t *testing.T) {
	in := agent(t, map[string]string{
		"init.json":                `{"covenant":"","pad":"","manifest":{"llm":{"provider":"p","model":"m"},"disable":["skills"],"capabilities":{"knowledge":null}}}`,
		"knowledge/b/KNOWLEDGE.md": "---\nname: b\ndescription: d\n---\n", ".library/custom/s/SKILL.md": "---\nname: s\ndescription: d\n---\n",
	})
	if p := compose(t, in); section(p, "knowledge")+section(p, "skills") != "" {
		t.Errorf("got %s", p)
	}
}

func TestGroupsThatAreTooDeepAreTold(t *testing.T) {
	in := agent(t, map[string]string{filepath.Join("knowledge", strings.Repeat("g/", 30), "k/KNOWLEDGE.md"): "---\nname: b\ndescription: d\n---\n"})
	p := compose(t, in)
	if section(p, "knowledge") != "" || len(p.Findings) != 1 || !strings.HasPrefix(p.Findings[0].Message, "too deep") {
		t.Errorf("got %s, %v", p, p.Findings)
	}
}

// An agent with no knowledge and no skills is sound.
func TestDirectoriesThatAreNotThere(t *testing.T) {
	if p := compose(t, agent(t, nil)); len(p.Findings) != 0 {
		t.Errorf("got %v", p.Findings)
	}
}
