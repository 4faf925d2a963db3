package home_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/home"
)

// machine returns a home of its own with these files in it.
func machine(t *testing.T, files map[string]string) home.Home {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("SUBSTRATE_HOME", dir)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	h, err := home.Open()
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// holds checks the text of one of its files.
func holds(t *testing.T, h home.Home, file, want string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(h.Dir(), file))
	if err != nil || string(got) != want {
		t.Errorf("%s: got %q, %v; want %q", file, got, err, want)
	}
}

func TestOpenFindsTheDirectory(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ substrate, home, want string }{
		{"/a/b", "/root", "/a/b"},
		{"/a/b", "", "/a/b"},
		{"rel", "/root", filepath.Join(here, "rel")},
		{"", "/home/dan", "/home/dan/.substrate"},
	} {
		t.Setenv("SUBSTRATE_HOME", c.substrate)
		t.Setenv("HOME", c.home)
		if h, err := home.Open(); err != nil || h.Dir() != c.want {
			t.Errorf("%+v: got %s, %v", c, h.Dir(), err)
		}
	}
}

func TestWithoutAHomeDirectoryOpenRefuses(t *testing.T) {
	t.Setenv("SUBSTRATE_HOME", "")
	for _, bad := range []string{"", "rel"} {
		t.Setenv("HOME", bad)
		if h, err := home.Open(); !fault.Is(err, fault.Usage) {
			t.Errorf("HOME=%q: got %s, %v", bad, h.Dir(), err)
		}
	}
}

func TestReadingMakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "none")
	t.Setenv("SUBSTRATE_HOME", dir)
	h, err := home.Open()
	if err != nil {
		t.Fatal(err)
	}
	if spaces, bad, err := h.Spaces(); len(spaces)+len(bad) > 0 || err != nil {
		t.Errorf("got %v, %v, %v", spaces, bad, err)
	}
	if crew, bad, err := h.Crew(); len(crew)+len(bad) > 0 || err != nil {
		t.Errorf("got %v, %v, %v", crew, bad, err)
	}
	if who, err := h.Identity(); who != "" || err != nil {
		t.Errorf("got %q, %v", who, err)
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the directory was made")
	}
	if err := h.SetCursor(t.Context(), "dan", "/p", "design", home.Cursor{}); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("made for a change: got %v, %v", info, err)
	}
}

func TestACorruptFileIsRefusedAndUntouched(t *testing.T) {
	for what, text := range map[string]string{
		"conflict marks": "<<<<<<< HEAD\nspaces:\n=======\n>>>>>>> x\n",
		"binary":         "\x00\x01\x02",
		"another type":   "spaces: [a, b]\n",
		"a list":         "- a\n",
	} {
		h := machine(t, map[string]string{"spaces.yaml": text})
		if _, _, err := h.Spaces(); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%s: read: got %v", what, err)
		}
		if _, err := h.Add(t.Context(), "x", "/x"); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%s: add: got %v", what, err)
		}
		if _, err := h.Remove(t.Context(), "x"); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%s: remove: got %v", what, err)
		}
		holds(t, h, "spaces.yaml", text)
		if got := h.Label("/x"); got != "" {
			t.Errorf("%s: got label %q", what, got)
		}
		left, _ := filepath.Glob(filepath.Join(h.Dir(), ".tmp-*"))
		if len(left) > 0 {
			t.Errorf("%s: left behind: %v", what, left)
		}
	}
}

func TestACorruptFileDisablesOnlyItself(t *testing.T) {
	h := machine(t, map[string]string{"spaces.yaml": "\x00", "identity.yaml": "name: dan\n"})
	if who, err := h.Identity(); who != "dan" || err != nil {
		t.Errorf("got %q, %v", who, err)
	}
}
