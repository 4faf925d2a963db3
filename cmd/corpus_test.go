package cmd_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// corpus is a real space that other writers made, with the answers expected of it.
const corpus = "../shared/corpus"

// call runs a program and returns what it prints.
func call(t *testing.T, stdin, prog string, args ...string) []byte {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin, prog), args...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "SUBSTRATE_HOME="+t.TempDir())
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", prog, args, err, &stderr)
	}
	return out
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func TestCorpus(t *testing.T) {
	touchSources(t)
	expected, err := os.ReadFile(filepath.Join(root, corpus, "expected.jsonl"))
	if err != nil {
		t.Skip("no corpus here: ", err)
	}
	space := filepath.Join(root, corpus, "space")
	for line := range bytes.Lines(expected) {
		var want struct {
			Thread, Status, Current string
			Version                 int
			Text                    string `json:"text_sha256"`
			Last                    string `json:"last40_sha256"`
			From                    string `json:"from100_sha256"`
		}
		if err := json.Unmarshal(line, &want); err != nil {
			t.Fatal(err)
		}
		got := want
		if err := json.Unmarshal(call(t, "", "substrate-next", want.Thread, "--space", space), &got); err != nil {
			t.Fatal(err)
		}
		read := func(window ...string) string {
			return hash(call(t, "", "substrate-read", append(window, want.Thread, "--space", space, "--text")...))
		}
		got.Text, got.Last, got.From = read(), read("--last", "40"), read("--from", "100")
		if got != want {
			t.Errorf("%s:\n got %+v\nwant %+v", want.Thread, got, want)
		}
	}
}

// TestCorpusGoesOn resumes a room of another writer and posts in it: every byte
// that is written is as expected, and nothing else changes.
func TestCorpusGoesOn(t *testing.T) {
	touchSources(t)
	from := filepath.Join(root, corpus, "space")
	if _, err := os.Stat(from); err != nil {
		t.Skip("no corpus here: ", err)
	}
	space := t.TempDir()
	if err := os.CopyFS(space, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	room := filepath.Join(space, ".substrate/threads/beyond-x4")
	before := tree(t, filepath.Join(space, ".substrate"))
	call(t, "", "substrate-moderate", "resume", "beyond-x4", "--as", "claude/opus-4.8", "--space", space)
	call(t, " \n# Back\n\n---\n\n", "substrate-post", "beyond-x4", "--as", "claude/opus-4.8", "--id", "k 1", "--space", space)

	after := tree(t, filepath.Join(space, ".substrate"))
	stamp := regexp.MustCompile(`\d{8}T\d{9}Z`)
	written := map[string]string{}
	for path, data := range after {
		if old, ok := before[path]; (!ok || old != data) && !strings.HasPrefix(path, "cache/") {
			written[stamp.ReplaceAllString(path, "STAMP")] = mask(stamp.ReplaceAllString(data, "STAMP"))
		}
	}
	config := strings.Replace(before["threads/beyond-x4/config.yaml"], "status: ended", "status: active", 1)
	resumed := strings.Replace(config, "next_index: 2", "next_index: 1", 1)
	want := map[string]string{
		"threads/beyond-x4/config.yaml": config, // resumed at 1, moved on to 2
		"threads/beyond-x4/STAMP__claude%2Fopus-4.8.md": "---\nauthor: claude/opus-4.8\ntimestamp: TIME\n" +
			"id: \"k 1\"\n---\n\n# Back\n\n---\n",
		"threads/beyond-x4/transactions/STAMP__claude%2Fopus-4.8.committed": "entry: STAMP__claude%2Fopus-4.8.md\noutcome: committed\n",
		"threads/beyond-x4/transactions/STAMP__claude%2Fopus-4.8.yaml": "version: 1\nentry: STAMP__claude%2Fopus-4.8.md\n" +
			"before_config_sha256: " + hash([]byte(resumed)) + "\nafter_config_sha256: " + hash([]byte(config)) + "\nafter_config: |\n    " +
			strings.ReplaceAll(strings.TrimSuffix(config, "\n"), "\n", "\n    ") + "\n",
	}
	for path, data := range want {
		if written[path] != data {
			t.Errorf("%s:\n got %q\nwant %q", path, written[path], data)
		}
		delete(written, path)
	}
	for path := range written {
		t.Errorf("written besides: %s", path)
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			t.Errorf("gone: %s", path)
		}
	}
	if _, err := os.Lstat(filepath.Join(room, "transactions/.pending.yaml")); err == nil {
		t.Error("the pending pointer is left")
	}
}

var moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`)

// mask hides the time in an entry's front matter.
func mask(s string) string {
	head, rest, ok := strings.Cut(s, "\nid:")
	if !ok {
		return s
	}
	return moment.ReplaceAllString(head, "TIME") + "\nid:" + rest
}

// tree returns the content of every file below a directory.
func tree(t *testing.T, top string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(top, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(top, path)
		files[rel] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
