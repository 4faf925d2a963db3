package body_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
)

func init() {
	children["log"] = func() {
		b, err := body.Open(os.Getenv("BODY_DIR"))
		for i := range 200 {
			if err == nil {
				err = b.Log("Ann").Append(noon, "tick", map[string]any{"n": i, "pad": strings.Repeat("x", 5000)})
			}
		}
		if err != nil {
			fmt.Println(err)
		}
	}
}

func events(t *testing.T, b body.Body) (lines []string) {
	t.Helper()
	text, err := os.ReadFile(b.Path(body.EventsFile))
	do(t, err)
	for line := range strings.Lines(string(text)) {
		lines = append(lines, line)
	}
	return lines
}

func TestAnEventIsOneWholeLine(t *testing.T) {
	b := bodytest.New(t, nil)
	fields := map[string]any{"new": "idle", "api_key": "hunter2", "deep": []any{map[string]any{"token": "hunter2"}}, "ts": "no", "max_tokens": 5}
	do(t, b.Log("Ann").Append(noon, "agent_state", fields))
	do(t, b.Log("").Append(noon, "x\ny", nil))
	lines := events(t, b)
	want := fmt.Sprintf(`{"type":"agent_state","address":%q,"agent_name":"Ann","ts":1796040000.000000,"api_key":"[redacted: api_key]",`+
		`"deep":[{"token":"[redacted: token]"}],"max_tokens":5,"new":"idle"}`+"\n", b.Address())
	if len(lines) != 2 || lines[0] != want {
		t.Errorf("got %q", lines)
	}
	if !strings.Contains(lines[1], `"type":"x\ny"`) || !strings.Contains(lines[1], `"agent_name":null`) {
		t.Errorf("got %q", lines[1])
	}
	if fields["api_key"] != "hunter2" || fields["deep"].([]any)[0].(map[string]any)["token"] != "hunter2" {
		t.Error("the fields themselves were redacted")
	}
}

func TestATornTailStaysALineOfItsOwn(t *testing.T) {
	b := bodytest.New(t, map[string]string{body.EventsFile: `{"type":"cut sho`})
	do(t, b.Log("").Append(noon, "a", nil))
	do(t, b.Log("").Append(noon, "b", nil))
	lines := events(t, b)
	if len(lines) != 3 || lines[0] != `{"type":"cut sho`+"\n" || !strings.Contains(lines[1], `"a"`) || !strings.Contains(lines[2], `"b"`) {
		t.Errorf("got %q", lines)
	}
}

func TestProcessesLogWholeLines(t *testing.T) {
	b := bodytest.New(t, nil)
	var cmds []*exec.Cmd
	for range 4 {
		cmd := child(t, "log", b.Dir())
		do(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	for _, cmd := range cmds {
		do(t, cmd.Wait())
	}
	seen := map[float64]int{}
	for _, line := range events(t, b) {
		var e struct{ N float64 }
		if strings.TrimSpace(line) == "" {
			continue
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %.80q", err, line)
		}
		seen[e.N]++
	}
	for i := range 200 {
		if seen[float64(i)] != 4 {
			t.Errorf("event %d is there %d times", i, seen[float64(i)])
		}
	}
}

func TestALogThatCannotBeWrittenWarnsOnce(t *testing.T) {
	b := bodytest.New(t, map[string]string{"logs": ""}) // a file in its place, which stops root too
	log := b.Log("Ann")
	if err := log.Append(noon, "a", nil); err == nil || !strings.HasPrefix(err.Error(), "events are not logged: ") {
		t.Errorf("got %v", err)
	}
	for range 3 {
		if err := log.Append(noon, "b", nil); err != nil {
			t.Errorf("again: %v", err)
		}
	}
	do(t, os.Remove(b.Path("logs")))
	do(t, log.Append(noon, "c", nil))
	if lines := events(t, b); len(lines) != 1 {
		t.Errorf("got %q", lines)
	}
	do(t, os.Remove(b.Path(body.EventsFile)))
	do(t, os.Mkdir(b.Path(body.EventsFile), 0o700))
	if err := log.Append(noon, "d", nil); err == nil {
		t.Error("a new failure is not said")
	}
	// What cannot be said in JSON is a failure of the log, not of the agent.
	if err := b.Log("").Append(noon, "e", map[string]any{"n": math.NaN()}); err == nil {
		t.Error("logged NaN")
	}
}

func TestALogInAReadOnlyDirectory(t *testing.T) {
	b := bodytest.New(t, map[string]string{body.EventsFile: ""})
	do(t, os.Chmod(b.Path(body.EventsFile), 0o400))
	do(t, os.Chmod(b.Path("logs"), 0o500))
	t.Cleanup(func() { os.Chmod(b.Path("logs"), 0o700) })
	log := b.Log("")
	first, second := log.Append(noon, "a", nil), log.Append(noon, "b", nil)
	if second != nil {
		t.Errorf("again: %v", second)
	}
	// Root may write there all the same.
	if (first == nil) != (os.Geteuid() == 0) {
		t.Errorf("got %v", first)
	}
}
