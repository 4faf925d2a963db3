//go:build unix

package attend_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/attend"
	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// stage returns a space, with a machine of its own, in which dan moderates ann and bob.
func stage(t *testing.T, rooms ...string) *door.Door {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("SUBSTRATE_HOME", filepath.Join(dir, "home"))
	t.Chdir(dir)
	made, bad, err := door.Found(t.Context(), filepath.Join(dir, "s"), "", []store.Member{{Name: "dan", Kind: "human"}}, true)
	if err != nil || len(bad) > 0 {
		t.Fatal(bad, err)
	}
	if _, err := made.Join(t.Context(), store.Member{Name: "ann", Kind: "agent"}, store.Member{Name: "bob", Kind: "agent"}); err != nil {
		t.Fatal(err)
	}
	d, err := door.Flags{Space: made.Root, Wait: 10 * time.Second}.Open()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range rooms {
		if _, err := d.Rooms.Open(t.Context(), d.Key(name), room.Opening{Topic: "t", Moderator: "dan", Order: []string{"ann", "bob"}}); err != nil {
			t.Fatal(err)
		}
		say(t, d, name, "dan", "the question")
	}
	return d
}

func say(t *testing.T, d *door.Door, name, who, body string) {
	t.Helper()
	if _, err := d.Post(t.Context(), d.Key(name), room.Draft{As: who, Body: body}); err != nil {
		t.Fatal(err)
	}
}

func offer(t *testing.T, d *door.Door, name, who string) record.Offer {
	t.Helper()
	o, err := d.Offer(t.Context(), d.Key(name), room.Ask{For: who, Policy: room.Full})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func last(t *testing.T, d *door.Door, name string) string {
	t.Helper()
	view, err := d.Store.Read(t.Context(), d.Key(name), store.Part{Last: 1, Bodies: true, Passes: true})
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for e, err := range view.Entries {
		if err != nil {
			t.Fatal(err)
		}
		got = e.Author + ": " + e.Body
		if e.Pass {
			got = e.Author + " passes"
		}
	}
	return got
}

// take takes one turn in one attempt, and returns what was said of it to people.
func take(ctx context.Context, t *testing.T, d *door.Door, o record.Offer, agent home.Agent) (run record.Run, chatter, said string, err error) {
	t.Helper()
	machine, err := home.Open()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	who := &attend.Attendee{
		Name: o.For, Machine: machine, Chatter: &out,
		Adjust: func(a *home.Agent) { a.Run, a.Reply, a.Timeout, a.Attempts = agent.Run, agent.Reply, agent.Timeout, 1 },
		Say:    func(err error) { said += err.Error() + "\n" },
	}
	run, err = who.Offered(ctx, d, o)
	return run, out.String(), said, err
}

func TestTurnByStdout(t *testing.T) {
	for _, c := range []struct {
		run, outcome string
		status       int
		last         string
		said         string
	}{
		{"cat >/dev/null; echo an answer", attend.Posted, 0, "ann: an answer", ""},
		{"echo pass", attend.Passed, 0, "ann passes", ""},
		{"echo; echo '  '", attend.NoTurn, 0, "dan: the question", ""},
		{"true", attend.NoTurn, 0, "dan: the question", ""},
		{"echo half an answer; exit 3", attend.Failed, 3, "dan: the question", ""},
		{`printf 'a\377b'`, attend.Failed, 0, "dan: the question", "UTF-8"},
		{`printf 'a\000b'`, attend.Failed, 0, "dan: the question", "NUL"},
		{"head -c 9000000 /dev/zero | tr '\\0' x", attend.Failed, 0, "dan: the question", "8388608"},
		{"echo too slow; sleep 50", attend.TimedOut, 143, "dan: the question", ""},
	} {
		d := stage(t, "r")
		agent := home.Agent{Run: c.run, Reply: "stdout", Timeout: 5 * time.Second}
		if c.outcome == attend.TimedOut {
			agent.Timeout = 100 * time.Millisecond
		}
		run, chatter, said, err := take(t.Context(), t, d, offer(t, d, "r", "ann"), agent)
		if err != nil || run.Outcome != c.outcome || run.Status != c.status || run.Thread != "r" || run.For != "ann" || run.Version != 1 {
			t.Errorf("%q: %+v, %v", c.run, run, err)
		}
		if got := last(t, d, "r"); got != c.last {
			t.Errorf("%q: %q, want %q", c.run, got, c.last)
		}
		if chatter != "" || (said == "") != (c.said == "") || !strings.Contains(said, c.said) {
			t.Errorf("%q: %q, says %q", c.run, chatter, said)
		}
	}
}

// With reply self what is printed is for people, and what counts is the entry, whatever the status.
func TestTurnBySelf(t *testing.T) {
	d := stage(t, "r")
	posting := func(run string) (record.Run, string, error) {
		done := make(chan bool)
		go func() { // stands in for what the command does with the programs
			defer close(done)
			for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
				if _, err := os.Stat("now"); err == nil {
					d.Post(context.Background(), d.Key("r"), room.Draft{As: "ann", Body: "by itself"})
					os.Remove("now")
					return
				}
			}
		}()
		got, chatter, _, err := take(t.Context(), t, d, offer(t, d, "r", "ann"), home.Agent{Run: run, Reply: "self", Timeout: time.Minute})
		<-done
		return got, chatter, err
	}
	run, chatter, err := posting("echo chatter; : >now; while [ -e now ]; do sleep 0.01; done; exit 7")
	if err != nil || run.Outcome != attend.Posted || run.Status != 7 {
		t.Errorf("%+v, %v", run, err)
	}
	if got := last(t, d, "r"); got != "ann: by itself" || chatter != "chatter\n" {
		t.Errorf("%q, %q", got, chatter)
	}
}

func TestTurnThatIsNone(t *testing.T) {
	d := stage(t, "r")
	agent := home.Agent{Run: ": >ran; echo x", Reply: "stdout", Timeout: time.Minute}
	o := offer(t, d, "r", "ann")
	say(t, d, "r", "ann", "was quicker")
	run, _, _, err := take(t.Context(), t, d, o, agent)
	f := fault.From(err)
	if f.Code != fault.NotYourTurn || f.Current != "bob" || run.Outcome != "" {
		t.Errorf("%+v, %+v", run, f)
	}
	if _, err := d.Moderate(t.Context(), d.Key("r"), "dan", room.End); err != nil {
		t.Fatal(err)
	}
	if _, _, _, err := take(t.Context(), t, d, offer(t, d, "r", "bob"), agent); !fault.Is(err, fault.Ended) {
		t.Errorf("ended: %v", err)
	}
	if _, err := os.Stat("ran"); err == nil {
		t.Error("the command ran")
	}
}

// A turn is what was offered: what comes in meanwhile does not get into it, and the reply to an older state is refused.
func TestTurnThatIsOvertaken(t *testing.T) {
	d := stage(t, "r")
	go func() {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
			if _, err := os.Stat("now"); err == nil {
				d.Moderate(context.Background(), d.Key("r"), "dan", room.Hand("bob"))
				os.Remove("now")
				return
			}
		}
	}()
	agent := home.Agent{Run: ": >now; while [ -e now ]; do sleep 0.01; done; echo late", Reply: "stdout", Timeout: time.Minute}
	run, _, said, err := take(t.Context(), t, d, offer(t, d, "r", "ann"), agent)
	if err != nil || run.Outcome != attend.Failed || !strings.Contains(said, "not your turn") {
		t.Errorf("%+v, %v, says %q", run, err, said)
	}
	if got := last(t, d, "r"); got != "dan: the question" {
		t.Errorf("got %q", got)
	}
}

func TestCheck(t *testing.T) {
	stage(t)
	machine, err := home.Open()
	if err != nil {
		t.Fatal(err)
	}
	who := func(adjust func(*home.Agent)) error {
		return (&attend.Attendee{Name: "ann", Machine: machine, Adjust: adjust}).Check()
	}
	if err := who(func(*home.Agent) {}); !fault.Is(err, fault.BadInput) || !strings.Contains(fault.From(err).Hint, "agents.yaml") {
		t.Errorf("no command: %v", err)
	}
	if err := who(func(a *home.Agent) { a.Run = "x" }); err != nil {
		t.Error(err)
	}
	if err := who(func(a *home.Agent) { a.Run, a.Reply = "x", "y" }); !fault.Is(err, fault.BadInput) {
		t.Errorf("a reply that is none: %v", err)
	}
}
