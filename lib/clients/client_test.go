package clients_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/clients"
	"github.com/substrate-tools/substrate/lib/fault"
)

var command = []string{"/opt/bin/substrate-mcp", "--name", "ben"}

// applied sets our entry in a file with this text, and takes it out again.
func applied(t *testing.T, name, text string) (set, cut string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if text != "" {
		if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	client, err := clients.Named(name)
	if err != nil {
		t.Fatal(err)
	}
	backup, changed, err := client.Apply(file, command)
	if err != nil || !changed || (backup == "") != (text == "") {
		t.Fatalf("%s: %q, %v, %v", name, backup, changed, err)
	}
	if backup != "" {
		if kept, err := os.ReadFile(backup); err != nil || string(kept) != text {
			t.Errorf("the copy has %q, %v", kept, err)
		}
		if info, _ := os.Stat(file); info.Mode().Perm() != 0o640 {
			t.Errorf("mode %v", info.Mode())
		}
	}
	data, _ := os.ReadFile(file)
	if _, changed, err := client.Apply(file, command); changed || err != nil {
		t.Errorf("%s: again: %v, %v", name, changed, err)
	}
	if _, _, err := client.Apply(file, nil); err != nil {
		t.Fatal(err)
	}
	again, _ := os.ReadFile(file)
	left, _ := filepath.Glob(filepath.Join(filepath.Dir(file), ".tmp-*"))
	if len(left) > 0 {
		t.Errorf("left %v", left)
	}
	return string(data), string(again)
}

const (
	theirs = "{\n  // mine\n  \"theme\": \"dark\", /* not light */\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"} // keep\n  }, // done\n  \"z\": [1, 2,],\n}\n"
	entry  = `{"command": "/opt/bin/substrate-mcp", "args": ["--name", "ben"]}`
)

func TestJSONKeepsEverythingElse(t *testing.T) {
	for text, want := range map[string]string{
		theirs: "{\n  // mine\n  \"theme\": \"dark\", /* not light */\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"}, // keep\n" +
			"    \"substrate\": " + entry + "\n  }, // done\n  \"z\": [1, 2,],\n}\n",
		"":                                "{\n  \"mcpServers\": {\"substrate\": " + entry + "}\n}\n",
		"{}":                              `{"mcpServers": {"substrate": ` + entry + `}}`,
		`{"a":1}`:                         `{"a":1, "mcpServers": {"substrate": ` + entry + `}}`,
		"{\r\n\t\"mcpServers\": {},\r\n}": "{\r\n\t\"mcpServers\": {\"substrate\": " + entry + "},\r\n}",
		"{\n\t\"mcpServers\": {\n\t}\n}":  "{\n\t\"mcpServers\": {\n\t  \"substrate\": " + entry + "\n\t}\n}",
	} {
		got, cut := applied(t, "gemini", text)
		if got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
		if strings.Contains(cut, "substrate") || strings.Contains(text, "mcpServers") && cut != text {
			t.Errorf("%q: taken out: %q", text, cut)
		}
	}
}

func TestJSONReplacesOurOwnEntryAlone(t *testing.T) {
	before := "{\"mcpServers\": {\n  \"a\": 1,\n  \"substrate\": {\"command\": \"old\", // why\n  \"x\": [\"}\"]},\n  \"b\": 2\n}}"
	got, cut := applied(t, "cursor", before)
	if want := "{\"mcpServers\": {\n  \"a\": 1,\n  \"substrate\": " + entry + ",\n  \"b\": 2\n}}"; got != want {
		t.Errorf("got %q", got)
	}
	if want := "{\"mcpServers\": {\n  \"a\": 1,\n  \"b\": 2\n}}"; cut != want {
		t.Errorf("taken out: %q", cut)
	}
}

func TestTOMLKeepsEverythingElse(t *testing.T) {
	block := "[mcp_servers.substrate]\ncommand = \"/opt/bin/substrate-mcp\"\nargs = [\"--name\", \"ben\"]\n"
	other := "model = \"x\" # mine\nnotes = \"\"\"\n[mcp_servers.substrate]\n\"\"\"\nlist = [\n  [\"a\"],\n]\n\n[mcp_servers.other]\ncommand = 'y'\n"
	for text, want := range map[string]string{
		"":    block,
		other: other + "\n" + block,
		"[a]\n\n[mcp_servers.substrate]\ncommand = \"old\"\n[mcp_servers.substrate.env]\nK = \"v\"\n\n# of b\n[b]\n": "[a]\n\n" + block + "\n# of b\n[b]\n",
	} {
		got, cut := applied(t, "codex", text)
		if got != want {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
		if text == other && cut != other || strings.Contains(cut, "\ncommand = \"/opt") {
			t.Errorf("taken out: %q", cut)
		}
	}
}

func TestWhatDoesNotParseIsLeftAlone(t *testing.T) {
	for text, name := range map[string]string{
		"{": "claude", "[]": "claude", `{"mcpServers": []}`: "cursor", `{"a" 1}`: "vscode", "{} x": "gemini", `{"a": "`: "opencode",
		"mcp_servers = {}\n": "codex", "a = [\n": "codex", "mcp_servers.x.command = 'y'\n": "codex",
	} {
		file := filepath.Join(t.TempDir(), "config")
		os.WriteFile(file, []byte(text), 0o600)
		client, _ := clients.Named(name)
		if _, _, err := client.Apply(file, command); !fault.Is(err, fault.Corrupt) {
			t.Errorf("%q: %v", text, err)
		}
		if data, _ := os.ReadFile(file); string(data) != text {
			t.Errorf("%q became %q", text, data)
		}
		if all, _ := os.ReadDir(filepath.Dir(file)); len(all) != 1 {
			t.Errorf("left %v", all)
		}
	}
}

func TestALinkIsFollowed(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "real"), filepath.Join(dir, "link")
	os.WriteFile(target, []byte("{}"), 0o600)
	os.Symlink(target, link)
	client, _ := clients.Named("claude")
	if _, _, err := client.Apply(link, command); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
	if data, _ := os.ReadFile(target); !strings.Contains(string(data), "substrate") {
		t.Errorf("got %s", data)
	}
}
