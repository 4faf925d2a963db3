package yamldoc

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCorpus(t *testing.T) {
	root := filepath.Join("..", "..", "..", "shared", "corpus", "space", ".substrate")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no corpus: ", err)
	}
	n := 0
	must(t, filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.Name() != "config.yaml" {
			return err
		}
		n++
		data, err := os.ReadFile(path)
		must(t, err)
		d, err := Parse(path, data)
		must(t, err)
		check(t, d, string(data))
		if next, ok, err := d.Int("next_index"); err != nil {
			t.Error(err)
		} else if ok {
			must(t, d.SetInt(next, "next_index"))
			check(t, d, string(data))
			must(t, d.SetInt(next+1, "next_index"))
			must(t, d.SetInt(next, "next_index"))
			check(t, d, string(data))
		}
		quiet, err := d.Ints("quieted")
		must(t, err)
		more := map[string]int{"zoe": 1}
		maps.Copy(more, quiet)
		must(t, d.SetInts(more, "quieted"))
		must(t, d.SetInts(quiet, "quieted"))
		if !strings.Contains(string(data), "quieted") {
			must(t, d.Delete("quieted"))
		}
		check(t, d, string(data))
		return nil
	}))
	if n == 0 {
		t.Error("the corpus has no config.yaml")
	}
}
