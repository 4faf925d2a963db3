package courier

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRefusalsAreBoundedAndSurviveDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.refused")
	r := &refusals{path: path}
	const n = 3*mostRefusals + 10
	for i := range n {
		r.add(fmt.Sprint("id ", i), fmt.Sprintf("refused (stale): %d\nand more", i))
	}
	check := func(r *refusals) {
		t.Helper()
		if said, ok := r.of(fmt.Sprint("id ", n-1)); !ok || said != fmt.Sprintf(`refused (stale): %d\nand more`, n-1) {
			t.Errorf("the last: %q, %v", said, ok)
		}
		if _, ok := r.of(fmt.Sprint("id ", n-mostRefusals)); !ok {
			t.Error("one that is to be remembered is not")
		}
		if _, ok := r.of("id 5"); ok || len(r.known) != len(r.order) || len(r.order) > mostRefusals {
			t.Errorf("%d are remembered", len(r.known))
		}
	}
	check(r)
	data, err := os.ReadFile(path)
	if lines := strings.Count(string(data), "\n"); err != nil || lines < mostRefusals || lines > 2*mostRefusals {
		t.Errorf("%d lines, %v", lines, err)
	}
	for _, damage := range []string{"", "half of a li", "\x00\x00\n", strings.Repeat("0", 32) + " recorded as x\n"} {
		if err := os.WriteFile(path, []byte(string(data)+damage), 0o600); err != nil {
			t.Fatal(err)
		}
		r := &refusals{path: path}
		check(r)
		r.add("one more", "refused (stale): x")
		if said, ok := (&refusals{path: path}).of("one more"); !ok || said != "refused (stale): x" {
			t.Errorf("after %q: %q, %v", damage, said, ok)
		}
	}
	if _, ok := (&refusals{path: filepath.Join(path, "nowhere")}).of("id 5"); ok {
		t.Error("without a file")
	}
	(&refusals{path: filepath.Join(path, "nowhere")}).add("x", "refused (stale): x")
}
