//go:build crash && linux && amd64

package cmd_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/alarm"
	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/notice"
)

// A network of agents, whose programs are the real ones.
type agents struct {
	*testing.T
	top string
	env []string
}

func newAgents(t *testing.T, top string, names ...string) *agents {
	t.Helper()
	begin(t)
	a := &agents{T: t, top: top}
	a.env = append(a.env, "HOME="+top, "TZ=UTC", "PATH="+shared.dir+":"+os.Getenv("PATH"))
	for _, name := range names {
		a.write(name+"/init.json", `{"manifest": {"llm": {"provider": "p", "model": "m"}, "admin": {"karma": true}}, "covenant": "c", "pad": ""}`)
	}
	return a
}

func (a *agents) path(rel string) string { return filepath.Join(a.top, rel) }

func (a *agents) write(rel, text string) {
	a.Helper()
	if err := os.MkdirAll(filepath.Dir(a.path(rel)), 0o755); err != nil {
		a.Fatal(err)
	}
	if err := os.WriteFile(a.path(rel), []byte(text), 0o755); err != nil {
		a.Fatal(err)
	}
}

func (a *agents) read(rel string) string {
	a.Helper()
	data, err := os.ReadFile(a.path(rel))
	if err != nil && !os.IsNotExist(err) {
		a.Fatal(err)
	}
	return string(data)
}

func (a *agents) body(name string) body.Body {
	a.Helper()
	b, err := body.Open(a.path(name))
	if err != nil {
		a.Fatal(err)
	}
	return b
}

func (a *agents) invoke(args ...string) *invocation {
	return &invocation{args: args, dir: a.top, env: a.env}
}

// start starts an agent and waits until it says that it is there, unless that is not waited for.
func (a *agents) start(name, mind string, wait bool) *exec.Cmd {
	a.Helper()
	cmd := a.invoke("agent", a.path(name), "--mind", mind).cmd()
	errs := &strings.Builder{}
	cmd.Stderr = errs
	out, err := cmd.StdoutPipe()
	if err != nil {
		a.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	if wait {
		if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
			cmd.Wait()
			a.Fatalf("%s does not start: %q: %v\n%s", name, line, err, errs)
		}
	}
	return cmd
}

// end ends an agent the good way.
func (a *agents) end(cmd *exec.Cmd) {
	a.Helper()
	cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		a.Errorf("SIGTERM: %v: %s", err, cmd.Stderr)
	}
}

// until waits for something to be so.
func (a *agents) until(what string, so func() bool) {
	a.Helper()
	for deadline := time.Now().Add(time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			a.Fatalf("not %s", what)
		}
	}
}

func (a *agents) events(name, kind string) (all []map[string]any) {
	a.Helper()
	for line := range strings.Lines(a.read(name + "/logs/events.jsonl")) {
		var e map[string]any
		if json.Unmarshal([]byte(line), &e) == nil && e["type"] == kind { // a torn line is skipped
			all = append(all, e)
		}
	}
	return all
}

// The mind writes down what it was shown and in which turn, and then puts it away.
const bookkeeper = `#!/bin/sh
jq -r '
  if .type == "turn" then (if .prompt == "" then empty else "prompt \(.prompt)" end)
  elif .channel == "system" then (.data.events[] | "event \(.event_id) \(.ref_id)")
  elif .channel == "email" then (.data.emails[] | "mail \(.id)")
  elif (.channel | startswith("mcp.")) then (.data.events[] | "drop \(.id)"), "channel \(.channel) \(.version)"
  else empty end' | {
  drops=
  while read -r kind id more; do
    echo "$SUBSTRATE_TURN_ID $kind $id $more" >>ledger
    case $kind in
      event) substrate-notify dismiss-event "$id" ;;
      mail) substrate-mail dismiss "$id" ;;
      drop) drops="$drops $id" ;;
      channel)
        if substrate-notify dismiss-channel "$id" --expect "$more"; then
          for drop in $drops; do echo "$SUBSTRATE_TURN_ID gone $drop" >>ledger; done
        fi
        ;;
    esac
  done
} >/dev/null 2>&1
`

// A trial puts things before an agent and kills it, again and again.
type trial struct {
	*agents
	b      body.Body
	n      int
	wanted map[string]bool // "kind id" of what was put
	alarms []string        // refs of those that were set
	sleeps []string
}

func (tr *trial) check(err error) {
	tr.Helper()
	if err != nil {
		tr.Fatal(err)
	}
}

// put puts something, while the agent runs or not.
func (tr *trial) put() {
	tr.Helper()
	tr.n++
	id := fmt.Sprintf("n%05d", tr.n)
	switch rand.IntN(6) {
	case 0, 1:
		e, published, err := notice.Open(tr.b).Publish(tr.Context(), notice.Event{Source: "test", Ref: id, Key: id, Body: id}, time.Now())
		if tr.check(err); published {
			tr.wanted["event "+e.ID] = true
		}
	case 2:
		if tr.b.PutNew(body.Prompt, id) == nil {
			tr.wanted["prompt "+id] = true
		}
	case 3:
		_, err := notice.Drop(tr.b, "room", notice.Dropped{ID: id, From: "f", Subject: "s", Body: "b"}, time.Now())
		tr.check(err)
		tr.wanted["drop "+id] = true
	case 4:
		tr.write("letter/message.json", fmt.Sprintf(`{"to": ["ann"], "subject": %q, "message": %q}`, id, id))
		tr.check(os.MkdirAll(tr.path("human/mailbox/outbox"), 0o755))
		tr.check(os.Rename(tr.path("letter"), tr.path("human/mailbox/outbox/"+id)))
		tr.wanted["mail "+id] = true
	case 5:
		if tr.b.PutNew(body.Sleep, id) == nil {
			tr.sleeps = append(tr.sleeps, id)
		}
	}
}

// arm sets the alarm, unless one is set.
func (tr *trial) arm() {
	tr.Helper()
	if _, err := os.Lstat(tr.b.Path(body.AlarmFile)); err == nil {
		return
	}
	d, _, err := alarm.ParseDelay([]byte(fmt.Sprintf("0.%06d", 1+rand.IntN(500_000))))
	tr.check(err)
	deadline, err := alarm.Arm(tr.Context(), tr.b, d, time.Now())
	tr.check(err)
	tr.alarms = append(tr.alarms, deadline)
}

// TestCrashAgentKilled kills an agent 200 times at any moment of its life, in its mind's turns and between
// them. Afterwards
// its lease is free each time, each thing that was put before it was in one turn, neither in none nor in
// two, each signal
// was taken once at most, and each alarm has fired once. Fault classes 5, 7 and 8.
func TestCrashAgentKilled(t *testing.T) {
	needsTool(t, "jq", "jq")
	tr := &trial{agents: newAgents(t, t.TempDir(), "ann"), wanted: map[string]bool{}}
	tr.write("human/.agent.json", `{"agent_name": "dan", "admin": null}`)
	tr.write("ann/mind", bookkeeper)
	tr.b = tr.body("ann")
	turns := 0
	for range 200 {
		cmd := tr.start("ann", "./mind", false)
		begun, life := time.Now(), time.Duration(rand.IntN(300))*time.Millisecond
		if rand.IntN(3) == 0 {
			life *= 8
		}
		for range 1 + rand.IntN(2) {
			tr.put()
		}
		if rand.IntN(4) == 0 {
			tr.arm()
		}
		time.Sleep(time.Until(begun.Add(life)))
		cmd.Process.Kill()
		cmd.Wait()
		lease, err := tr.b.Acquire(t.Context(), 0)
		if err != nil {
			t.Fatalf("the lease of a dead agent: %v", err)
		}
		lease.Release()
		if rand.IntN(3) == 0 {
			tr.put() // while it is dead
		}
	}
	cmd := tr.start("ann", "./mind", true)
	tr.until("all is said", func() bool {
		all, err := notice.Open(tr.b).Snapshot()
		s, _ := tr.b.Status()
		waiting, _ := filepath.Glob(tr.path("human/mailbox/outbox/*"))
		drops, _ := filepath.Glob(tr.path("ann/.mcp_inbox/*/*.json"))
		return err == nil && len(all.Channels)+len(waiting)+len(drops) == 0 && s.ActiveTurn == nil &&
			!tr.b.Pending(body.Prompt) && tr.read("ann/.alarm") == ""
	})
	tr.end(cmd)
	turns = len(tr.events("ann", "turn_start"))
	tr.ledger()
	t.Logf("%d things, %d alarms, %d sleeps; %d turns were begun, %d ended, %d were offered again",
		len(tr.wanted), len(tr.alarms), len(tr.sleeps), turns, len(tr.events("ann", "turn_end")), tr.again())
	if tr.again() == 0 {
		t.Error("no turn was ever cut off")
	}
}

func (tr *trial) again() (n int) {
	for _, e := range tr.events("ann", "turn_start") {
		if e["offer"] != 1.0 {
			n++
		}
	}
	return n
}

// ledger checks what the mind wrote down.
func (tr *trial) ledger() {
	tr.Helper()
	in := map[string][]string{} // the turns that a thing was in
	gone := map[string]string{} // the turn after which a drop was gone
	fired := map[string]int{}
	for line := range strings.Lines(tr.read("ann/ledger")) {
		f := strings.Fields(line)
		if len(f) < 3 {
			continue // torn
		}
		turn, what := f[0], f[1]+" "+f[2]
		switch {
		case f[1] == "gone":
			gone["drop "+f[2]] = turn
		case gone[what] != "" && gone[what] != turn:
			tr.Errorf("%s was dismissed in %s and is in %s", what, gone[what], turn)
		case !slices.Contains(in[what], turn):
			in[what] = append(in[what], turn)
			if len(f) > 3 && strings.HasPrefix(f[3], "sleep_alarm:") {
				fired[f[3]]++
			}
		}
	}
	for what := range tr.wanted {
		switch n := len(in[what]); {
		case n == 0:
			tr.Errorf("lost: %s", what)
		case n > 1 && !strings.HasPrefix(what, "drop ") && !strings.HasPrefix(what, "mail "):
			// Those are mirrors, which show all that is there each time.
			tr.Errorf("%d times: %s in %v", n, what, in[what])
		}
	}
	for ref, n := range fired {
		if n != 1 {
			tr.Errorf("an alarm rang %d times: %s", n, ref)
		}
	}
	if len(fired) != len(tr.alarms) {
		tr.Errorf("%d alarms rang, %d were set", len(fired), len(tr.alarms))
	}
	taken := map[any]int{}
	for _, e := range tr.events("ann", "sleep_received") {
		if taken[e["by"]]++; taken[e["by"]] > 1 {
			tr.Errorf("taken twice: .sleep %v", e["by"])
		}
	}
	letters, _ := os.ReadDir(tr.path("ann/mailbox/inbox"))
	mails := 0
	for what := range tr.wanted {
		if id, ok := strings.CutPrefix(what, "mail "); ok {
			mails++
			if !slices.ContainsFunc(letters, func(d os.DirEntry) bool { return d.Name() == id }) {
				tr.Errorf("lost: %s", what)
			}
		}
	}
	if len(letters) != mails {
		tr.Errorf("%d messages, %d were sent", len(letters), mails)
	}
	for _, pattern := range []string{"ann/.prompt*", "ann/.clear*"} {
		if left, _ := filepath.Glob(tr.path(pattern)); len(left) > 0 {
			tr.Errorf("left behind: %q", left)
		}
	}
}

// TestCrashAgentStopped stops an agent for half a minute, until its heartbeat is stale by far: nobody starts a
// second one, by whatever way, and it goes on where it was.
func TestCrashAgentStopped(t *testing.T) {
	a := newAgents(t, t.TempDir(), "ann", "bob")
	ann := a.start("ann", "cat >/dev/null", true)
	bob := a.start("bob", "cat >/dev/null; echo turn >>turns; sleep 5", true)
	run := func(args ...string) result { a.Helper(); return a.invoke(args...).run(t) }
	run("notify", "put", "cron", "--header", "h", "--body", "bob")
	a.until("in a turn", func() bool { return a.read("bob/turns") != "" })
	bob.Process.Signal(syscall.SIGSTOP)
	time.Sleep(30 * time.Second)
	if r := run("system", "lull", "bob", "--body", "ann"); r.status != 111 {
		t.Errorf("lull: %d, %s", r.status, r.stderr)
	}
	for range 3 {
		if r := run("system", "cpr", "bob", "--body", "ann"); r.status != 111 || !strings.Contains(r.stderr, fmt.Sprint("process ", bob.Process.Pid)) {
			t.Errorf("cpr: %d, %s", r.status, r.stderr)
		}
	}
	if r := run("agent", "bob", "--mind", "echo other >>turns"); r.status != 1 || !strings.Contains(r.stderr, "is there already") {
		t.Errorf("a second start: %d, %s", r.status, r.stderr)
	}
	bob.Process.Signal(syscall.SIGCONT)
	a.until("alive again", func() bool { return a.body("bob").Heartbeat().Alive(time.Now(), body.DefaultThreshold) })
	a.until("at the end of its turn", func() bool { return len(a.events("bob", "turn_end")) > 0 })
	if n := len(a.events("bob", "agent_start")); n != 1 || a.read("bob/turns") != "turn\n" {
		t.Errorf("%d starts, turns %q", n, a.read("bob/turns"))
	}
	a.end(bob)
	a.end(ann)
}

// TestCrashAgentTogether starts many on one workdir at the same moment, by several spellings of its path: one
// is its agent, and those that are not leave nothing behind. L-02.
func TestCrashAgentTogether(t *testing.T) {
	for round := range 5 {
		a := newAgents(t, t.TempDir(), "ann")
		if err := os.Symlink("ann", a.path("link")); err != nil {
			t.Fatal(err)
		}
		spellings := []string{"ann", a.path("ann"), "link", a.path("link"), "./ann/../link", a.path("ann") + "/"}
		done := make(chan bool)
		go func() {
			defer close(done)
			a.until("one is there", func() bool {
				return len(a.events("ann", "agent_start")) > 0 && a.body("ann").Heartbeat().Kind == body.Present
			})
			time.Sleep(500 * time.Millisecond)
			if held, err := a.body("ann").Held(t.Context()); !held || err != nil {
				t.Errorf("round %d: held %v, %v", round, held, err)
			}
			// Those that wait for the lease must not get it when the one that has it ends.
			time.Sleep(11 * time.Second)
			a.write("ann/.suspend", "")
		}()
		well, refused := 0, 0
		for _, r := range together(t, 12, func(i int) *invocation {
			return a.invoke("agent", spellings[i%len(spellings)], "--mind", fmt.Sprintf("echo %d >>minds", i))
		}) {
			switch {
			case r.status == 0:
				well++
			case (r.status == 1 || r.status == 111) && r.stdout == "" && strings.Contains(r.stderr, a.path("ann")):
				refused++
			default:
				t.Errorf("status %d: %s%s", r.status, r.stdout, r.stderr)
			}
		}
		<-done
		if well != 1 || refused != 11 || len(a.events("ann", "agent_start")) != 1 {
			t.Errorf("round %d: %d ran, %d were refused, %d starts", round, well, refused, len(a.events("ann", "agent_start")))
		}
	}
}

// TestCrashAgentRefreshStorm has many ask for a refresh and for cpr all the time: there is one agent
// afterwards, and each
// hand-over was followed by one start. Class 1.
func TestCrashAgentRefreshStorm(t *testing.T) {
	a := newAgents(t, t.TempDir(), "ann", "bob")
	ann, bob := a.start("ann", "cat >/dev/null", true), a.start("bob", "cat >/dev/null", true)
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); {
		together(t, 6, func(i int) *invocation {
			if i%3 == 2 {
				return a.invoke("system", "cpr", "bob", "--body", "ann")
			}
			return a.invoke("system", "refresh", "bob", "--body", "ann")
		})
	}
	b := a.body("bob")
	runs := func() int {
		n := 0
		all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, path := range all {
			line, _ := os.ReadFile(path)
			if b.Runs(strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), "") {
				n++
			}
		}
		return n
	}
	a.until("quiet", func() bool { // for as long as a tick
		return !b.Pending(body.Refresh) && !b.Pending(body.RefreshTaken) && b.Heartbeat().Alive(time.Now(), 3*time.Second)
	})
	a.until("one", func() bool { return runs() == 1 })
	handed := len(a.events("bob", "refresh_handed_over"))
	if starts := len(a.events("bob", "agent_start")); starts != handed+1 || handed < 2 {
		t.Errorf("%d starts after %d hand-overs", starts, handed)
	}
	if told := len(a.events("bob", "refreshed")); told != handed {
		t.Errorf("told %d times of %d", told, handed)
	}
	ids := map[string]bool{}
	ids[b.Manifest().AgentID()] = true
	bob.Wait()
	a.end(ann)
	a.write("bob/.suspend", "")
	a.until("gone", func() bool { return runs() == 0 })
	t.Logf("%d hand-overs", handed)
}

// TestCrashAgentDiskFull: on a file system that is too small an agent does not start and leaves nothing
// half done; on one
// that fills up it lives on, and goes on where it was once there is room.
func TestCrashAgentDiskFull(t *testing.T) {
	needsRoot(t)
	refused, started := 0, 0
	for n := range 16 { // all but one of which init.json has
		a := newAgents(t, mount(t, "-t", "tmpfs", "-o", "size=64k", "tmpfs"), "ann")
		init := a.read("ann/init.json")
		fill(t, a.path("ballast"), a.top, n)
		cmd := a.invoke("agent", "ann", "--mind", "true").cmd()
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(5*time.Second, func() { cmd.Process.Signal(syscall.SIGTERM) }) // it lives
		cmd.Wait()
		if timer.Stop() {
			refused++
			if cmd.ProcessState.ExitCode() != 111 || !strings.Contains(errs.String(), "no space left") || out.String() != "" {
				t.Errorf("%d pages free: %v: %s%s", n, cmd.ProcessState, out.String(), errs.String())
			}
		} else {
			started++
		}
		b := a.body("ann")
		held, err := b.Held(t.Context())
		if held || err != nil || b.Heartbeat().Kind != body.Absent || a.read("ann/init.json") != init {
			t.Errorf("%d pages free: held %v, %v; heartbeat %s", n, held, err, b.Heartbeat().Kind)
		}
		for _, pattern := range []string{"ann/.tmp-[0-9a-f]*", "ann/*/.tmp-[0-9a-f]*"} {
			if temps, _ := filepath.Glob(a.path(pattern)); len(temps) > 0 {
				t.Errorf("%d pages free: left behind: %q", n, temps)
			}
		}
	}
	if refused == 0 || started == 0 {
		t.Errorf("%d starts were refused, %d were not", refused, started)
	}

	a := newAgents(t, mount(t, "-t", "tmpfs", "-o", "size=1m", "tmpfs"), "ann")
	init := a.read("ann/init.json")
	a.write("ann/mind", bookkeeper)
	b := a.body("ann")
	cmd := a.start("ann", "./mind", true)
	tr := &trial{agents: a, b: b, wanted: map[string]bool{}}
	publish := func(id string) error {
		e, _, err := notice.Open(b).Publish(t.Context(), notice.Event{Source: "test", Ref: id, Key: id, Body: id}, time.Now())
		if err == nil {
			tr.wanted["event "+e.ID] = true
		}
		return err
	}
	for n := range 6 {
		fill(t, a.path("ballast"), a.top, n)
		if err := publish(fmt.Sprint("full", n)); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Error(err)
		}
		time.Sleep(1500 * time.Millisecond)
		if held, err := b.Held(t.Context()); !held || err != nil {
			t.Fatalf("%d pages free: it has ended: %v", n, err)
		}
		if err := os.Remove(a.path("ballast")); err != nil {
			t.Fatal(err)
		}
		if err := publish(fmt.Sprint("room", n)); err != nil {
			t.Fatal(err)
		}
		a.until("alive", func() bool { return b.Heartbeat().Alive(time.Now(), 2*time.Second) })
		a.until("all is said", func() bool {
			all, err := notice.Open(b).Snapshot()
			return err == nil && len(all.Channels) == 0
		})
	}
	if a.read("ann/init.json") != init {
		t.Error("init.json was written")
	}
	a.until("idle", func() bool { s, _ := b.Status(); return s.ActiveTurn == nil })
	a.end(cmd)
	tr.ledger()
	t.Logf("%d of 12 were published; it said:\n%s", len(tr.wanted), cmd.Stderr)
}

// TestCrashAgentReadOnlyLogs: what cannot be logged costs a word, and not the agent.
func TestCrashAgentReadOnlyLogs(t *testing.T) {
	needsRoot(t)
	a := newAgents(t, t.TempDir(), "ann")
	a.write("ann/logs/events.jsonl", "")
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "ro", "tmpfs", a.path("ann/logs")).CombinedOutput(); err != nil {
		needs(t, false, "a mount", string(out))
	}
	t.Cleanup(func() { syscall.Unmount(a.path("ann/logs"), syscall.MNT_DETACH) })
	a.write("ann/mind", "#!/bin/sh\ncat >given; echo lost; echo turn >>turns\n")
	cmd := a.start("ann", "./mind", true)
	for n := range 2 {
		if r := a.invoke("notify", "put", "cron", "--header", fmt.Sprint(n), "--body", "ann").run(t); r.status != 0 {
			t.Fatal(r.stderr)
		}
		a.until("a turn was taken", func() bool { return strings.Count(a.read("ann/turns"), "turn") == n+1 })
	}
	a.until("idle", func() bool { s, _ := a.body("ann").Status(); return s.Runtime.State == "idle" })
	a.end(cmd)
	said := fmt.Sprint(cmd.Stderr)
	if strings.Count(said, "read-only file system") != 2 { // its events, and what its mind prints
		t.Errorf("said %q", said)
	}
}
