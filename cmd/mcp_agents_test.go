//go:build agents && linux

package cmd_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// mcpSteps are the tools by which an agent takes a turn, and what each result has to say.
var mcpSteps = []struct{ tool, result string }{
	{"check_turn", `"your_turn":true`},
	{"read_thread", `"type":"window"`},
	{"write_entry", `"type":"posted"`},
}

// complaint is how codex, opencode and substrate-attend say that something went wrong.
var complaint = regexp.MustCompile(`(?mi)^\W*error\b|\(failed\)|substrate-attend:`)

// TestAgentsMCP has the agents take their turns by the tools of substrate-mcp, as substrate-mcp-install sets them up
// on a machine where nothing else is set. What they answer shows that results reach the model: nothing else of what
// they are told has the question in it, nor the version at which they write.
func TestAgentsMCP(t *testing.T) {
	names := strings.Fields(os.Getenv("AGENTS"))
	if len(names) == 0 {
		t.Skip("no AGENTS: make agents")
	}
	if !alone(t) {
		return
	}
	const rounds = 4
	requests := fakeModel(t)
	touchSources(t)
	home := t.TempDir()
	s := &stage{t, filepath.Join(home, "p"), filepath.Join(home, ".substrate")}
	if err := os.Mkdir(s.dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s.do("init", ".", "--as", "dan")
	seats, configs := []string{}, map[string]string{"codex": ".codex/config.toml", "opencode": ".config/opencode/opencode.json"}
	for _, name := range names {
		if configs[name] == "" {
			t.Logf("%s takes no turns by tools here", name)
			continue
		}
		seats = append(seats, name+"-b")
		s.do("join", name+"-b", "--kind", "agent")
	}
	if len(seats) == 0 {
		t.Skip("nobody here takes turns by tools")
	}
	s.open(strings.Join(seats, ","), "r")
	attendees := map[string]*player{}
	for _, seat := range seats {
		name := strings.TrimSuffix(seat, "-b")
		p := agentPrograms[name]
		env := p.settle(s, home)
		s.do("mcp-install", name, "--name", seat, "--file", filepath.Join(home, configs[name]), "--write")
		// No transcript on its standard input: it is to ask for it.
		run := strings.Replace(p.run, `PROMPT"`, `PROMPT Answer by check_turn, read_thread, write_entry." </dev/null`, 1)
		cmd := s.cmd("attend", seat, "--exec", run, "--attempts", "1", "--timeout", "2m")
		cmd.Env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "SUBSTRATE_") })
		attendees[seat] = s.play(cmd)
	}
	begun, want := time.Now(), []string{}
	for n := range rounds {
		ask := fmt.Sprint("ask-", 101+n)
		if out, errs, status := s.try("post", "r", "--as", "dan", "-m", ask, "--wait", "3m"); status != 0 {
			for seat, a := range attendees {
				t.Logf("%s: %s", seat, a.stderr())
			}
			t.Fatalf("round %d: %d %s%s; the model: %v", n+1, status, out, errs, requests())
		}
		want = append(want, "dan: "+ask)
		for _, seat := range seats {
			want = append(want, seat+": "+seat+" answers "+ask)
		}
	}
	s.do("next", "r", "--for", "dan", "--wait", "3m")
	took := time.Since(begun)
	s.do("moderate", "end", "r", "--as", "dan")

	if got := s.bodies("r"); !slices.Equal(got, want) {
		t.Errorf("the room:\ngot  %q\nwant %q", got, want)
	}
	for _, seat := range slices.Sorted(maps.Keys(attendees)) {
		a := attendees[seat]
		slowest := 0.0
		for range rounds {
			run := a.next()
			slowest = max(slowest, run["took_ms"].(float64))
			if run["outcome"] != "posted" || run["status"] != 0.0 {
				t.Errorf("%s: %v", seat, run)
			}
		}
		a.cmd.Process.Signal(syscall.SIGTERM)
		if _, more := a.end(); len(more) != 0 {
			t.Errorf("%s: more runs: %v", seat, more)
		}
		if errs := a.stderr(); complaint.MatchString(errs) || strings.Contains(errs, key) {
			t.Errorf("%s says: %s", seat, errs)
		}
		t.Logf("%s: %d turns by tools, the slowest took %v ms", seat, rounds, slowest)
	}

	turns := map[string][][]string{} // what the results of each turn were
	for _, r := range requests() {
		seat, _ := r["for"].(string)
		results := []string{}
		all, _ := r["results"].([]any)
		for _, one := range all {
			results = append(results, one.(string))
		}
		if len(results) < 2 && r["asked"] != "nothing" {
			t.Errorf("%s is told the question before it has read: %v", seat, r)
		}
		if r["calls"] != nil {
			if n := len(results); n >= len(mcpSteps) || !strings.HasSuffix(r["calls"].(string), mcpSteps[n].tool) {
				t.Errorf("%s: call %d: %v", seat, n+1, r["calls"])
			}
		} else if len(results) > 0 {
			turns[seat] = append(turns[seat], results)
		}
	}
	for _, seat := range seats {
		if len(turns[seat]) != rounds {
			t.Errorf("%s: the model took %d turns", seat, len(turns[seat]))
		}
		for _, results := range turns[seat] {
			if len(results) != len(mcpSteps) {
				t.Errorf("%s: results: %q", seat, results)
				continue
			}
			for i, result := range results {
				if !strings.Contains(result, mcpSteps[i].result) || strings.Contains(result, `"type":"error"`) {
					t.Errorf("%s: %s gives %q", seat, mcpSteps[i].tool, result)
				}
			}
		}
	}

	// The servers have the last word on what was called: exactly that, and none was refused.
	log, err := os.ReadFile(filepath.Join(s.env, "logs", "substrate-mcp.log"))
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]int{}
	for line := range strings.Lines(string(log)) {
		if _, call, ok := strings.Cut(line, " as "); ok {
			tool := strings.Fields(strings.TrimSuffix(line, " as "+call))
			who, _, _ := strings.Cut(call, " in ")
			served[tool[len(tool)-1]+" "+who]++
			if !strings.Contains(call, `in "r": ok,`) {
				t.Errorf("a server: %s", line)
			}
		}
	}
	due := map[string]int{"read_thread \"\"": rounds * len(seats)} // who reads is not asked
	for _, seat := range seats {
		due[fmt.Sprintf("check_turn %q", seat)] = rounds
		due[fmt.Sprintf("write_entry %q", seat)] = rounds
	}
	if !maps.Equal(served, due) {
		t.Errorf("the servers were called for %v, not %v: %s", served, due, log)
	}
	t.Logf("%d rounds of %d by tools in %v", rounds, len(seats)+1, took.Round(time.Millisecond))
	if out := s.do("doctor"); strings.Contains(out, `"level":"fail"`) {
		t.Errorf("doctor: %s", out)
	}
}
