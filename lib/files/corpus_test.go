package files_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/store"
)

// TestCorpusManifest compares the manifest of each room of a real space with
// the hash that was made of it elsewhere.
func TestCorpusManifest(t *testing.T) {
	corpus, err := filepath.Abs("../../../shared/corpus")
	if err != nil {
		t.Fatal(err)
	}
	expected, err := os.ReadFile(filepath.Join(corpus, "expected.jsonl"))
	if err != nil {
		t.Skip("no corpus here: ", err)
	}
	for line := range bytes.Lines(expected) {
		var want struct {
			Thread  string
			Version int
			Lines   int    `json:"total_lines"`
			Visible int    `json:"visible_entries"`
			Passes  int    `json:"no_op_entries"`
			Index   string `json:"manifest_index_sha256"`
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		key := store.Key{Space: filepath.Join(corpus, "space"), Room: want.Thread}
		view, err := new(files.Store).Read(t.Context(), key, store.Part{})
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for e, err := range view.Entries {
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, fmt.Sprintf("%s %d %d %d %s", e.Name, e.StartLine, e.EndLine(), e.Bytes, e.SHA256))
		}
		sum := sha256.Sum256([]byte(strings.Join(rows, "\n")))
		got := want
		got.Version, got.Lines, got.Visible = view.Head.Version, view.Lines, len(rows)
		got.Passes, got.Index = view.Head.Version-view.Visible, hex.EncodeToString(sum[:])
		if got != want {
			t.Errorf("manifest of %s:\n got %+v\nwant %+v", want.Thread, got, want)
		}
	}
}
