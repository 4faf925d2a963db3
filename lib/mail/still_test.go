package mail

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestStillHoldsUntilSomethingChanges(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	s := still{paths: []string{dir, path}}
	if s.holds() {
		t.Error("it holds before the first look")
	}
	s.begin()
	if s.holds() {
		t.Error("it holds right after a change")
	}
	old := func() { // long ago; the time of the change itself cannot be set
		s.begin()
		s.sure = true
	}
	for what, change := range map[string]func() error{
		"made":    func() error { return os.WriteFile(path, nil, 0o644) },
		"written": func() error { return os.WriteFile(path, []byte("longer than before"), 0o644) },
		"touched": func() error { return os.Chtimes(path, time.Time{}, noon) },
		"removed": func() error { return os.RemoveAll(path) },
	} {
		if what != "made" {
			if err := os.WriteFile(path, []byte("x"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		old()
		for range 3 {
			if !s.holds() {
				t.Errorf("%s: it does not hold before", what)
			}
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if s.holds() {
			t.Errorf("%s: it holds", what)
		}
	}
	old()
	s.doubt()
	if s.holds() {
		t.Error("it holds in doubt")
	}
	old()
	for n := 0; s.holds(); n++ {
		if n > heldTimes {
			t.Fatal("it holds for ever")
		}
	}
}
