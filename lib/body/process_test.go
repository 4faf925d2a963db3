package body_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/substrate-tools/substrate/lib/body/bodytest"
)

func TestCommandLinesOfARun(t *testing.T) {
	b := bodytest.New(t, nil)
	link := filepath.Join(t.TempDir(), "link")
	do(t, os.Symlink(b.Dir(), link))
	other := t.TempDir()
	for _, c := range []struct {
		args []string
		want bool
		cwd  string
	}{
		{[]string{"substrate-agent", b.Dir()}, true, ""},
		{[]string{"/usr/bin/substrate-agent", "--mind", "./mind", link}, true, ""},
		{[]string{"substrate-agent", "--mind=./mind", b.Dir() + "/"}, true, ""},
		{[]string{"substrate-agent", b.Dir(), "--mind", "./mind"}, true, ""},
		{[]string{"substrate-agent", other, "--mind", b.Dir()}, false, ""},
		{[]string{"substrate-agent", "."}, false, ""}, // where it leads is not known
		{[]string{"substrate-agent", "."}, true, b.Dir()},
		{[]string{"substrate-agent", filepath.Base(b.Dir()), "--mind", "x"}, true, filepath.Dir(b.Dir())},
		{[]string{"substrate-agent", ".", "--mind", "x"}, false, other},
		{[]string{"lingtai-agent", "run", "."}, true, link},
		{[]string{"substrate-agent"}, false, ""},
		{[]string{"substrate-agents", b.Dir()}, false, ""},
		{[]string{"grep", "substrate-agent", b.Dir()}, false, ""},
		{[]string{"python3", "-m", "lingtai", "run", b.Dir()}, true, ""},
		{[]string{"/venv/bin/python", "/venv/bin/lingtai-agent", "run", link}, true, ""},
		{[]string{"lingtai-agent", "run", other}, false, ""},
		{[]string{"lingtai-agent", "check", b.Dir()}, false, ""},
		{[]string{"docker", "run", b.Dir()}, false, ""},
		{[]string{"sh", "-c", "substrate-agent " + b.Dir()}, false, ""},
		{nil, false, ""},
		{[]string{""}, false, ""},
	} {
		if got := b.Runs(c.args, c.cwd); got != c.want {
			t.Errorf("%q: got %v", c.args, got)
		}
	}
}
