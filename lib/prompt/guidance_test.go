package prompt_test

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/prompt"
)

// L-87: guidance is sections in the order of INDEX.md, one file each, without front
// matter.
func TestL87GuidanceIsOrderedSections(t *testing.T) {
	g, err := prompt.Guidance(resident())
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(g)
	if want := `{"type":"guidance","sections":[{"id":"two","text":"Second."},{"id":"one","text":"First."}]}`; string(got) != want || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

// The edge test: a catalog that is missing or does not agree with itself is a hard
// error, of the guidance and of the prompt.
func TestACatalogThatIsMissingIsAnError(t *testing.T) {
	for what, spoil := range map[string]func(fstest.MapFS){
		"no catalog": func(m fstest.MapFS) {
			delete(m, "guidance/INDEX.md")
			delete(m, "guidance/one.md")
			delete(m, "guidance/two.md")
		},
		"no index":   func(m fstest.MapFS) { delete(m, "guidance/INDEX.md") },
		"no section": func(m fstest.MapFS) { delete(m, "guidance/one.md") },
		"not listed": func(m fstest.MapFS) { m["guidance/three.md"] = m["guidance/one.md"] },
		"lists none": func(m fstest.MapFS) { m["guidance/INDEX.md"] = &fstest.MapFile{Data: []byte("nothing")} },
		"an index alone": func(m fstest.MapFS) {
			delete(m, "guidance/one.md")
			delete(m, "guidance/two.md")
			m["guidance/INDEX.md"] = &fstest.MapFile{Data: []byte("nothing")}
		},
		"listed twice": func(m fstest.MapFS) {
			m["guidance/INDEX.md"].Data = append(m["guidance/INDEX.md"].Data, "- one: again\n"...)
		},
	} {
		texts := resident()
		spoil(texts)
		if g, err := prompt.Guidance(texts); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%s: got %+v, %v", what, g, err)
		}
		in := agent(t, nil)
		in.Resident = texts
		if p, err := prompt.Compose(in); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%s: got %v, %v", what, p, err)
		}
	}
	texts := resident()
	delete(texts, "procedures.md")
	in := agent(t, nil)
	in.Resident = texts
	if p, err := prompt.Compose(in); !fault.Is(err, fault.Corrupt) {
		t.Errorf("a resident text: got %v, %v", p, err)
	}
}

// What comes with the programs is whole, brief, and names commands that there are.
func TestOurResidentTexts(t *testing.T) {
	g, err := prompt.Guidance(prompt.Resident)
	if err != nil || len(g.Sections) == 0 {
		t.Fatalf("got %+v, %v", g, err)
	}
	in := agent(t, nil)
	in.Resident = prompt.Resident
	p := compose(t, in)
	if n := len(p.String()); n > 8<<10 {
		t.Errorf("the prompt of a new agent has %d bytes", n)
	}
	err = fs.WalkDir(prompt.Resident, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(prompt.Resident, path)
		if err != nil {
			return err
		}
		if rest := prompt.Strip(string(text)); rest == string(text) || strings.TrimSpace(rest) == "" || strings.Contains(rest, "---") {
			t.Errorf("%s: no front matter, or nothing behind it", path)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestStrip(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"text":                      "text",
		"---\na: 1\n---\ntext":      "text",
		"---\na: 1\n---\n\n\ntext":  "text",
		"---\r\na: 1\r\n---\r\nt":   "t",
		"\ufeff---\na: 1\n---\nt":   "t",
		"---\n---\nt":               "t",
		"---\na: 1\n---":            "",
		"---\na: 1\ntext":           "---\na: 1\ntext",
		"---":                       "---",
		" ---\na: 1\n---\ntext":     " ---\na: 1\n---\ntext",
		"text\n---\na: 1\n---\n":    "text\n---\na: 1\n---\n",
		"---\na: '---'\n---\n---\n": "---\n",
	} {
		if got := prompt.Strip(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

func FuzzStrip(f *testing.F) {
	for _, s := range []string{"", "---\na\n---\nb", "---\r\n---", "\ufeff---\n---\n", "---\n--- \n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got := prompt.Strip(s); !strings.HasSuffix(s, got) {
			t.Fatalf("%q: %q is not its end", s, got)
		}
	})
}
