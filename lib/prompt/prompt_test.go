package prompt_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/prompt"
)

const sound = `{"covenant":"the deal","pad":"","manifest":{"agent_name":"ann","language":"en","admin":{"karma":true},
	"llm":{"provider":"p","model":"m"}}}`

// resident are texts in place of ours.
func resident() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"principle.md":      file("---\nname: x\n---\nBe true."),
		"substrate.md":      file("---\r\nname: x\r\n---\r\n\r\nA body."),
		"procedures.md":     file("\ufeff---\nname: x\n---\nDo this.\n---\nand that\n"),
		"guidance/INDEX.md": file("---\nname: x\n---\nIn order:\n\n- two: the second\n- one: the first\n"),
		"guidance/one.md":   file("---\nname: one\n---\nFirst."),
		"guidance/two.md":   file("Second.\n"),
	}
}

// agent makes an agent's directory and returns what its prompt is composed from.
func agent(t *testing.T, files map[string]string) prompt.Input {
	t.Helper()
	b := bodytest.At(t, filepath.Join(t.TempDir(), "ann"), files)
	if files["init.json"] == "" {
		bodytest.Write(t, b.Path("init.json"), sound)
	}
	return again(t, prompt.Input{Body: b, Resident: resident(), Host: preset.Host{
		Home: b.Network(), Now: time.Now, Look: func(string) (string, bool) { return "", false },
		Dial:    func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("no network") },
		Program: func(string) bool { return false },
	}})
}

// again reads the configuration once more, as a refresh does.
func again(t *testing.T, in prompt.Input) prompt.Input {
	t.Helper()
	r := in.Host.Read(in.Body.Dir(), preset.AtRefresh)
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	in.Config = r.Config
	return in
}

func compose(t *testing.T, in prompt.Input) *prompt.Prompt {
	t.Helper()
	p, err := prompt.Compose(in)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func names(p *prompt.Prompt) (all []string) {
	for _, s := range p.Sections {
		all = append(all, s.Name)
	}
	return all
}

// full is an agent with something in every section.
func full(t *testing.T) prompt.Input {
	in := agent(t, map[string]string{
		"init.json": `{"covenant":"the deal","base_prompt":"the base","comment":"a remark","lingtai":"a helper","pad":"to begin",
			"manifest":{"agent_name":"ann","llm":{"provider":"p","model":"m"}}}`,
		"system/rules.md": "a rule\n", "system/brief.md": "\n a brief", "knowledge/k/KNOWLEDGE.md": "---\nname: k\ndescription: about k\n---\nx",
		".library/custom/s/SKILL.md": "---\nname: s\ndescription: about s\n---\nx",
	})
	in.More = []prompt.Section{{Name: "weather", Text: "dry"}, {Name: "tools", Text: "a hammer"}, {Name: "extra", Text: "more"}, {Name: "void", Text: " \n"}}
	return in
}

func TestTheOrderOfSectionsAndTheirHeads(t *testing.T) {
	p := compose(t, full(t))
	want := []string{
		"principle", "base_prompt", "covenant", "tools", "substrate", "procedures", "meta_guidance", "comment", "rules", "brief", "skills",
		"knowledge", "weather", "extra", "identity", "character", "pad",
	}
	if !slices.Equal(names(p), want) {
		t.Fatalf("got %q", names(p))
	}
	text := p.String()
	if !strings.HasPrefix(text, "Be true.\n\n## base_prompt\n\nthe base\n\n## covenant\n\nthe deal\n\n## tools\n") || !strings.HasSuffix(text, "\n\n## pad\n\nto begin\n") {
		t.Errorf("got %s", text)
	}
	for _, name := range want[1:] {
		if strings.Count(text, "\n## "+name+"\n\n") != 1 {
			t.Errorf("%s has no head, or two", name)
		}
	}
	if !strings.Contains(text, "\n## procedures\n\nDo this.\n---\nand that\n\n## meta_guidance") || strings.Contains(text, "name: x") {
		t.Errorf("front matter: %s", text)
	}
}

// The edge tests: batches joined are the whole, byte for byte; each section is in
// exactly one; character directly after identity; an empty section has no head.
func TestBatchesJoinedAreTheWhole(t *testing.T) {
	for what, in := range map[string]prompt.Input{"full": full(t), "sparse": agent(t, nil)} {
		p := compose(t, in)
		batches := p.Batches()
		if strings.Join(batches, "") != p.String() || len(batches) != 3 {
			t.Errorf("%s: joined they are not the whole", what)
		}
		for _, s := range p.Sections {
			head := "## " + s.Name + "\n\n"
			if s.Name == "principle" {
				head = "Be true."
			}
			in := 0
			for _, b := range batches {
				in += strings.Count("\n"+b, "\n"+head)
			}
			if in != 1 {
				t.Errorf("%s: %s is in %d batches", what, s.Name, in)
			}
		}
	}
	if got := names(compose(t, agent(t, nil))); !slices.Equal(got, []string{"principle", "covenant", "substrate", "procedures", "meta_guidance", "identity"}) {
		t.Errorf("sparse: got %q", got)
	}
	p := compose(t, full(t))
	i := slices.Index(names(p), "identity")
	if p.Sections[i+1].Name != "character" || !strings.HasPrefix(p.Batches()[2], "\n## identity\n") {
		t.Errorf("got %q", names(p))
	}
}

// L-86: principle, substrate and procedures are ours whatever init.json says, and
// their mirrors are written over; covenant, pad, lingtai, base_prompt and comment are
// init.json's.
func TestL86WhoseTextsCount(t *testing.T) {
	in := agent(t, map[string]string{
		"init.json": `{"principle":"MINE","substrate":"MINE","procedures_file":"mine.md","brief":"MINE","soul":"MINE",
			"covenant":"the deal","base_prompt_file":"base.md","comment":"a remark","lingtai":"a helper","pad":"to begin",
			"manifest":{"llm":{"provider":"p","model":"m"}}}`,
		"mine.md": "MINE", "base.md": "the base",
		"system/principle.md": "MINE", "system/substrate.md": "MINE", "system/procedures.md": "MINE", "system/meta_guidance.md": "MINE",
		"system/covenant.md": "MINE", "system/comment.md": "MINE", "system/lingtai.md": "before",
	})
	p := compose(t, in)
	if _, err := p.Write(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(p.String(), "MINE") {
		t.Errorf("got %s", p)
	}
	for file, want := range map[string]string{
		"principle": "Be true.", "substrate": "A body.", "procedures": "Do this.\n---\nand that\n", "covenant": "the deal", "base_prompt": "the base",
		"comment": "a remark", "lingtai": "a helper", "pad": "to begin", "system": p.String(),
	} {
		if got := bodytest.Contents(t, in.Body.Path("system/"+file+".md")); got != want {
			t.Errorf("%s: got %q", file, got)
		}
	}
}

// L-05: a mirror is derived. Editing one alters no init.json, and the next composition
// writes it anew.
func TestL05MirrorsAreDerived(t *testing.T) {
	in := full(t)
	path := in.Body.Path("init.json")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	text := bodytest.Contents(t, in.Body.Path("init.json"))
	p := compose(t, in)
	if _, err := p.Write(); err != nil {
		t.Fatal(err)
	}
	mirrors, err := filepath.Glob(in.Body.Path("system", "*.md"))
	if err != nil || len(mirrors) != 19 {
		t.Fatalf("got %d: %q, %v", len(mirrors), mirrors, err)
	}
	for _, m := range mirrors {
		switch name := strings.TrimSuffix(filepath.Base(m), ".md"); name {
		case "rules", "brief", "pad": // sources
		default:
			bodytest.Write(t, m, "edited")
		}
	}
	next := compose(t, again(t, in))
	if next.String() != p.String() {
		t.Errorf("got %s", next)
	}
	if _, err := next.Write(); err != nil {
		t.Fatal(err)
	}
	for _, m := range mirrors {
		if data, err := os.ReadFile(m); err != nil || string(data) == "edited" {
			t.Errorf("%s is not written anew", m)
		}
	}
	after, err := os.Stat(path)
	if err != nil || bodytest.Contents(t, in.Body.Path("init.json")) != text || !after.ModTime().Equal(before.ModTime()) {
		t.Error("init.json has changed")
	}
}

func TestWhereInitGivesNoneTheMirrorStands(t *testing.T) {
	in := agent(t, map[string]string{
		"init.json":          `{"covenant":" ","pad":"","covenant_file":"gone.md","manifest":{"llm":{"provider":"p","model":"m"}}}`,
		"system/covenant.md": "of old", "system/base_prompt.md": "base of old", "system/comment.md": "comment of old",
		"system/lingtai.md": "who I am", "system/pad.md": "where I was",
	})
	p := compose(t, in)
	got := map[string]string{}
	for _, s := range p.Sections {
		got[s.Name] = s.Source + " " + s.Text
	}
	for name, want := range map[string]string{
		"covenant": "mirror of old", "base_prompt": "mirror base of old", "comment": "", "character": "file who I am", "pad": "file where I was",
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
	if _, err := p.Write(); err != nil {
		t.Fatal(err)
	}
	// A mirror of what is no longer there says so; what is a source stays.
	for file, want := range map[string]string{"comment": "", "covenant": "of old", "lingtai": "who I am", "pad": "where I was"} {
		if text := bodytest.Contents(t, in.Body.Path("system/"+file+".md")); text != want {
			t.Errorf("%s: got %q", file, text)
		}
	}
	if _, err := os.Stat(in.Body.Path("system/skills.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty section made a file: %v", err)
	}
}

// What an agent has written into its pad is not lost to a text in init.json.
func TestThePadIsOnlyBegunByInit(t *testing.T) {
	in := agent(t, map[string]string{"init.json": `{"covenant":"","pad":"to begin","manifest":{"llm":{"provider":"p","model":"m"}}}`})
	for _, step := range []struct{ pad, want string }{{"", "to begin"}, {" \n", "to begin"}, {"half done", "half done"}} {
		if step.pad != "" {
			bodytest.Write(t, in.Body.Path("system/pad.md"), step.pad)
		}
		if _, err := compose(t, in).Write(); err != nil {
			t.Fatal(err)
		}
		if got := bodytest.Contents(t, in.Body.Path("system/pad.md")); got != step.want {
			t.Errorf("%q: got %q", step.pad, got)
		}
	}
}

func TestIdentityHasNothingThatChanges(t *testing.T) {
	manifest := `{"agent_id":"20260706-131502-0a0b","agent_name":"other","nickname":"nan","address":"ann","created_at":"2026-07-06T13:15:02Z",
		"state":%q,"started_at":%q,"molt_count":%d,"admin":{"karma":true}}`
	in := agent(t, map[string]string{".agent.json": fmt.Sprintf(manifest, "idle", "2026-07-06T13:15:02Z", 1)})
	first := compose(t, in)
	bodytest.Write(t, in.Body.Path(".agent.json"), fmt.Sprintf(manifest, "active", "2026-08-01T00:00:00Z", 2))
	bodytest.Write(t, in.Body.Path(".agent.heartbeat"), "1")
	bodytest.Write(t, in.Body.Path(".status.json"), "{}")
	if second := compose(t, again(t, in)); second.String() != first.String() {
		t.Errorf("got %s, then %s", first, second)
	}
	want := "## identity\n\nYou are ann.\nYour address is ann, the name of your directory, " + in.Body.Dir() + ".\nYou are also called nan.\n" +
		"Your identity is 20260706-131502-0a0b.\nYou exist since 2026-07-06T13:15:02Z.\nYour language is en.\nYour rights over peers are karma.\n"
	if !strings.Contains(first.String(), want) {
		t.Errorf("got %s", first)
	}
}

func TestWhatIsNoTextIsReplacedAndTold(t *testing.T) {
	in := agent(t, map[string]string{"system/rules.md": "a\xffb\x00c", "system/pad.md": "\xff"})
	p := compose(t, in)
	if !strings.Contains(p.String(), "## rules\n\na\ufffdb\ufffdc\n") || len(p.Findings) != 2 {
		t.Errorf("got %s, %v", p, p.Findings)
	}
	if _, err := p.Write(); err != nil || bodytest.Contents(t, in.Body.Path("system/pad.md")) != "\xff" {
		t.Errorf("a source was written: %v", err)
	}
}

func TestSectionsOfOthers(t *testing.T) {
	in := agent(t, nil)
	for _, name := range []string{"", "../x", "a/b", "A", "x y", "system"} {
		in.More = []prompt.Section{{Name: name, Text: "x"}}
		if _, err := prompt.Compose(in); !fault.Is(err, fault.BadInput) {
			t.Errorf("%q: got %v", name, err)
		}
	}
	for _, name := range []string{"covenant", "substrate", "pad", "character"} {
		in.More = []prompt.Section{{Name: name, Text: "x"}}
		if _, err := prompt.Compose(in); !fault.Is(err, fault.Exists) {
			t.Errorf("%q: got %v", name, err)
		}
	}
}

// Class 13: where one source fails there is no half of a prompt.
func TestClass13NoHalfOfAPrompt(t *testing.T) {
	in := full(t)
	if _, err := compose(t, in).Write(); err != nil {
		t.Fatal(err)
	}
	whole := bodytest.Contents(t, in.Body.Path("system/system.md"))
	if err := os.Remove(in.Body.Path("system/rules.md")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(in.Body.Path("system/rules.md"), 0o755); err != nil {
		t.Fatal(err)
	}
	bodytest.Write(t, in.Body.Path("system/principle.md"), "edited")
	if p, err := prompt.Compose(in); err == nil {
		t.Errorf("got %s", p)
	}
	if bodytest.Contents(t, in.Body.Path("system/system.md")) != whole || bodytest.Contents(t, in.Body.Path("system/principle.md")) != "edited" {
		t.Error("something was written")
	}
}

func TestWhatIsTheSameIsNotWrittenAgain(t *testing.T) {
	in := full(t)
	if _, err := compose(t, in).Write(); err != nil {
		t.Fatal(err)
	}
	old := time.Unix(1, 0)
	files, err := filepath.Glob(in.Body.Path("system", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := compose(t, again(t, in)).Write(); err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || !info.ModTime().Equal(old) {
			t.Errorf("%s was written again: %v", f, err)
		}
	}
}

func TestTheRecordOfAPrompt(t *testing.T) {
	in := full(t)
	p := compose(t, in)
	r := p.Record()
	if r.Path != "" || r.Bytes != len(p.String()) || len(r.SHA256) != 64 || len(r.Sections) != len(p.Sections) {
		t.Errorf("got %+v", r)
	}
	if _, err := os.Stat(in.Body.Path("system/system.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("composing wrote")
	}
	batch := 1
	for _, s := range r.Sections {
		if s.Batch < batch || s.Batch > 3 || s.Bytes == 0 || s.Source == "" {
			t.Errorf("got %+v", s)
		}
		batch = s.Batch
	}
	if r, err := p.Write(); err != nil || r.Path != in.Body.Path("system/system.md") {
		t.Errorf("got %+v, %v", r, err)
	}
}
