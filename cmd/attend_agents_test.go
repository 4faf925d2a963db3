//go:build agents && linux

package cmd_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// key is what the agents take for the key of their model: it must not show anywhere.
const key = "sk-fake-4e1f0c"

// endpoint is where the model is. There is nothing else in the network.
const endpoint = "127.0.0.1:9911"

// An agentProgram is one that somebody else wrote: how it is run and set up.
type agentProgram struct {
	run   string
	reply string
	env   []string
	files map[string]string // below the home directory
}

var agentPrograms = map[string]agentProgram{
	// It posts by its shell tool, as a real model would. Its shell is a login shell unless told otherwise, and
	// that forgets the PATH that the attendee gave it.
	"codex": {
		run:   `exec codex exec --skip-git-repo-check "$SUBSTRATE_PROMPT"`,
		reply: "self",
		env:   []string{"FAKE_KEY=" + key},
		files: map[string]string{".codex/config.toml": `
model = "fake-1"
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
allow_login_shell = false
[analytics]
enabled = false
[model_providers.fake]
name = "fake"
base_url = "http://` + endpoint + `/v1"
env_key = "FAKE_KEY"
wire_api = "responses"
`},
	},
	// What it prints is its answer and nothing else.
	"opencode": {
		run:   `exec opencode run "$SUBSTRATE_PROMPT"`,
		reply: "stdout",
		env: []string{
			"FAKE_KEY=" + key, "OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
		},
		files: map[string]string{".config/opencode/opencode.json": `{
  "model": "fake/fake-1", "small_model": "fake/fake-1", "permission": "allow", "autoupdate": false,
  "provider": {"fake": {
    "npm": "@ai-sdk/openai-compatible", "name": "fake", "models": {"fake-1": {"name": "fake-1"}},
    "options": {"baseURL": "http://` + endpoint + `/v1", "apiKey": "{env:FAKE_KEY}"}
  }}
}`},
	},
	"claude": {
		run:   `exec claude -p "$SUBSTRATE_PROMPT" --model fake-1 --output-format text`,
		reply: "stdout",
		env: []string{
			"ANTHROPIC_BASE_URL=http://" + endpoint, "ANTHROPIC_API_KEY=" + key, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
			"DISABLE_AUTOUPDATER=1", "DISABLE_TELEMETRY=1", "DISABLE_ERROR_REPORTING=1",
		},
	},
	"gemini": {
		run:   `exec gemini -m gemini-2.5-flash -y -p "$SUBSTRATE_PROMPT"`,
		reply: "stdout",
		env:   []string{"GOOGLE_GEMINI_BASE_URL=http://" + endpoint, "GEMINI_API_KEY=" + key, "GEMINI_CLI_TRUST_WORKSPACE=true"},
		files: map[string]string{".gemini/settings.json": `{
  "security": {"auth": {"selectedType": "gemini-api-key"}}, "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false}
}`},
	},
}

// alone runs the test again where the only network is the loopback, and returns true in there.
func alone(t *testing.T) bool {
	if os.Getenv("SUBSTRATE_TEST_ALONE") != "" {
		all, err := net.Interfaces()
		if err != nil || len(all) != 1 || all[0].Name != "lo" {
			t.Fatalf("not alone: %v %v", all, err)
		}
		return true
	}
	flags := "-n"
	if os.Geteuid() != 0 {
		flags = "-rn"
	}
	cmd := exec.Command("unshare", flags, "sh", "-c", `ip link set lo up && exec "$@"`, "sh",
		os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=14m")
	cmd.Env = append(os.Environ(), "SUBSTRATE_TEST_ALONE=1")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
	return false
}

// fakeModel starts the model and returns its log, as a function.
func fakeModel(t *testing.T) func() []map[string]any {
	t.Helper()
	dir := t.TempDir()
	program, log := filepath.Join(dir, "fake-model"), filepath.Join(dir, "log")
	build := exec.Command("go", "build", "-o", program, "./testdata/fake-model")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cmd := exec.Command(program, endpoint, log)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	for end := time.Now().Add(soon); ; time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", endpoint); err == nil {
			c.Close()
			break
		} else if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	return func() (requests []map[string]any) {
		data, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), key) {
			t.Errorf("the model's log has the key")
		}
		for line := range strings.Lines(string(data)) {
			var r map[string]any
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Fatal(err)
			}
			requests = append(requests, r)
		}
		return requests
	}
}

// settle gives an agent a home directory, and returns an environment in which nothing is of whoever runs the test.
func (p agentProgram) settle(s *stage, home string) []string {
	s.t.Helper()
	for file, text := range p.files {
		file = filepath.Join(home, file)
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			s.t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			s.t.Fatal(err)
		}
	}
	return append([]string{
		"HOME=" + home, "SUBSTRATE_HOME=" + s.env, "PATH=" + os.Getenv("AGENTS_PATH") + ":" + os.Getenv("PATH"), "TERM=dumb", "LANG=C.UTF-8",
	}, p.env...)
}

// TestAgentsRoom has dan, scripted, and the agents take ten rounds in a room, with nobody at hand.
func TestAgentsRoom(t *testing.T) {
	names := strings.Fields(os.Getenv("AGENTS"))
	if len(names) == 0 {
		t.Skip("no AGENTS: make agents")
	}
	if !alone(t) {
		return
	}
	const rounds = 10
	requests := fakeModel(t)
	s := newStage(t)
	seats := []string{}
	for _, name := range names {
		seats = append(seats, name+"-b")
		s.do("join", name+"-b", "--kind", "agent")
	}
	turns := slices.Clone(seats)
	if len(turns) == 1 { // a room of three in any case: a filter takes the other seat
		turns = append(turns, "bob")
	}
	s.open(strings.Join(turns, ","), "r")
	attendees := map[string]*player{}
	for i, name := range names {
		p := agentPrograms[name]
		policy := []string{"full", "incremental"}[i%2]
		cmd := s.cmd("attend", seats[i], "--exec", p.run, "--reply", p.reply, "--context", policy, "--timeout", "2m")
		cmd.Env = p.settle(s, t.TempDir())
		attendees[seats[i]] = s.play(cmd)
	}
	if len(names) == 1 {
		attendees["bob"] = s.start("attend", "bob", "--exec", `grep -o 'ask-[0-9]*' | tail -n 1 | sed 's/^/bob answers /'`, "--reply", "stdout")
	}
	begun := time.Now()
	want := []string{}
	for n := range rounds {
		ask := fmt.Sprint("ask-", n+1)
		if out, errs, status := s.try("post", "r", "--as", "dan", "-m", ask, "--wait", "5m"); status != 0 {
			for seat, a := range attendees {
				t.Logf("%s: %s", seat, a.stderr())
			}
			t.Fatalf("round %d: %d %s%s", n+1, status, out, errs)
		}
		want = append(want, "dan: "+ask)
		for _, seat := range turns {
			want = append(want, seat+": "+seat+" answers "+ask)
		}
	}
	s.do("next", "r", "--for", "dan", "--wait", "5m")
	took := time.Since(begun)
	s.do("moderate", "end", "r", "--as", "dan")

	if got := s.bodies("r"); !slices.Equal(got, want) {
		t.Errorf("the room:\ngot  %q\nwant %q", got, want)
	}
	for seat, a := range attendees {
		runs, slowest := []map[string]any{}, 0.0
		for range rounds { // who posts by himself may still be talking
			runs = append(runs, a.next())
		}
		a.cmd.Process.Signal(syscall.SIGTERM)
		if _, more := a.end(); len(more) != 0 {
			t.Errorf("%s: more runs: %v", seat, more)
		}
		for _, run := range runs {
			slowest = max(slowest, run["took_ms"].(float64))
			if run["outcome"] != "posted" || run["status"] != 0.0 {
				t.Errorf("%s: %v", seat, run)
			}
		}
		if errs := a.stderr(); strings.Contains(errs, "substrate-attend:") || strings.Contains(errs, key) {
			t.Errorf("%s says: %s", seat, errs)
		}
		t.Logf("%s: %d turns, the slowest took %v ms", seat, len(runs), slowest)
	}
	said, called := 0, 0
	for _, r := range requests() {
		if r["unknown"] == true {
			t.Logf("the model was asked for what it does not know: %v", r)
		}
		if r["calls"] != nil {
			called++
		} else if r["says"] != nil {
			said++
		}
	}
	t.Logf("%d rounds of %d in %v; the model spoke %d times and called tools %d times", rounds, len(turns)+1, took.Round(time.Millisecond), said, called)
	if slices.Contains(names, "codex") && called != rounds {
		t.Errorf("codex called its shell %d times in %d rounds", called, rounds)
	}
	if out := s.do("doctor"); strings.Contains(out, `"level":"fail"`) {
		t.Errorf("doctor: %s", out)
	}
}

// TestAgentsNotice has agents at work on something else, with the hooks of scripts/recipes: at the end of that they
// notice that a room waits for them, and answer there, once.
func TestAgentsNotice(t *testing.T) {
	names := strings.Fields(os.Getenv("AGENTS"))
	if len(names) == 0 {
		t.Skip("no AGENTS: make agents")
	}
	if !alone(t) {
		return
	}
	fakeModel(t)
	recipes := filepath.Join(root, "scripts", "recipes")
	for _, name := range names {
		p := agentPrograms[name]
		var args []string
		switch name {
		case "codex":
			p.files = map[string]string{".codex/config.toml": fmt.Sprintf("notify = [%q, %q]\n", filepath.Join(recipes, "hook-codex-notify"), "ann") + p.files[".codex/config.toml"]}
			args = []string{"codex", "exec", "--skip-git-repo-check", "ask-77 is something else"}
		case "claude":
			hook := fmt.Sprintf(`[{"hooks": [{"type": "command", "command": "%s ann"}]}]`, filepath.Join(recipes, "hook-claude-stop"))
			p.files = map[string]string{".claude/settings.json": `{"hooks": {"Stop": ` + hook + `}}`}
			args = []string{"claude", "-p", "ask-77 is something else", "--model", "fake-1", "--allowedTools", "Bash"}
		default:
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.open("ann", "r")
			s.do("post", "r", "--as", "dan", "-m", "the question")
			cmd := s.cmd("watch")
			cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", `exec "$@" </dev/null >&2`, "sh"}, args...)
			env := p.settle(s, t.TempDir())
			for i, v := range env {
				if rest, ok := strings.CutPrefix(v, "PATH="); ok {
					env[i] = "PATH=" + bin + ":" + rest
				}
			}
			cmd.Env = env
			agent := s.play(cmd)
			if status, _ := agent.end(); status != 0 {
				t.Errorf("ended with %d: %s", status, agent.stderr())
			}
			if out, errs, status := s.try("next", "r", "--for", "dan", "--wait", "1m"); status != 0 {
				t.Fatalf("it has not noticed: %s%s; %s", out, errs, agent.stderr())
			}
			time.Sleep(3 * time.Second) // for a second answer, which would be refused and is not to be tried
			if got, want := s.bodies("r"), []string{"dan: the question", "ann: ann answers ask-77"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}
