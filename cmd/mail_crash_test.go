//go:build crash && linux && amd64

package cmd_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A postOffice is a network of agents: ann sends, bob and a human receive, zoe does not run.
type postOffice struct {
	*testing.T
	top string
}

const words = "the whole text, and the end of it"

func newPostOffice(t *testing.T) *postOffice {
	t.Helper()
	p := &postOffice{t, t.TempDir()}
	for name, admin := range map[string]string{"ann": "{}", "bob": "{}", "zoe": "{}", "human": "null"} {
		p.write(name+"/.agent.json", fmt.Sprintf(`{"agent_id":"20260101-000000-%x","admin":%s}`, name, admin))
	}
	for _, name := range []string{"ann", "bob"} {
		p.write(name+"/.agent.heartbeat", "99999999999") // ahead of the clock is alive
	}
	p.write("file", "what is attached")
	return p
}

func (p *postOffice) write(name, text string) {
	p.Helper()
	path := filepath.Join(p.top, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		p.Fatal(err)
	}
}

func (p *postOffice) invoke(who string, args ...string) *invocation {
	return &invocation{args: append([]string{"mail"}, args...), dir: filepath.Join(p.top, who), env: []string{
		"HOME=" + p.top, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "SUBSTRATE_LOCK_TIMEOUT=10s",
	}}
}

// letters returns the messages of a folder, each of which must be complete.
func (p *postOffice) letters(who, folder string) []letter {
	p.Helper()
	dir := filepath.Join(p.top, who, "mailbox", folder)
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		p.Fatal(err)
	}
	var read []string
	if data, err := os.ReadFile(filepath.Join(p.top, who, "mailbox", "read.json")); err == nil {
		if err := json.Unmarshal(data, &read); err != nil {
			p.Errorf("read.json of %s: %v %q", who, err, data)
		}
	}
	var all []letter
	for _, e := range entries {
		l := letter{ID: e.Name(), Read: slices.Contains(read, e.Name())}
		data, err := os.ReadFile(filepath.Join(dir, e.Name(), "message.json"))
		if err != nil || json.Unmarshal(data, &l) != nil {
			p.Errorf("%s of %s has a part of a message: %v %q", folder, who, err, data)
		}
		for _, name := range l.Attachments {
			data, err := os.ReadFile(filepath.Join(dir, e.Name(), "attachments", name))
			if err != nil || string(data) != "what is attached" {
				p.Errorf("%s of %s has a part of a file: %v %q", folder, who, err, data)
			}
		}
		all = append(all, l)
	}
	return all
}

type letter struct {
	ID          string `json:"-"`
	Read        bool   `json:"-"`
	Message     string
	Attachments []string
}

// whole fails unless everything in the folders is complete.
func (p *postOffice) whole() {
	p.Helper()
	for _, who := range []string{"ann", "bob", "human"} {
		for _, folder := range []string{"inbox", "outbox", "sent", "archive"} {
			p.letters(who, folder)
		}
	}
}

// copies returns how many messages of a text are in a folder.
func (p *postOffice) copies(who, folder string) int {
	p.Helper()
	n := 0
	for _, l := range p.letters(who, folder) {
		if l.Message == words {
			n++
		}
	}
	return n
}

func (p *postOffice) bounces() int {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(p.top, "ann", ".notification", "system.json"))
	if os.IsNotExist(err) {
		return 0
	}
	if err != nil || !json.Valid(data) {
		p.Errorf("notifications: %v %q", err, data)
	}
	return strings.Count(string(data), `"email.bounce"`)
}

// temps returns what is left half done anywhere.
func (p *postOffice) temps() (found []string) {
	filepath.WalkDir(p.top, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(filepath.Base(path), ".tmp-") {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// A mailing is a run of substrate-mail that is to be cut off at each of its points.
type mailing struct {
	name    string
	prepare func(*postOffice)
	who     string
	args    []string
	// after looks at what a run left that was cut off (said: it had printed its answer), goes on as a user does,
	// and checks what has come of it.
	after func(p *postOffice, again *invocation, said bool)
}

func mailings() []mailing {
	send := []string{"send", "bob", "human", "--id", "key", "--subject", "s", "-m", words, "--attach", "../file"}
	received := func(p *postOffice) {
		for _, id := range []string{"one", "two"} {
			p.write("bob/mailbox/inbox/"+id+"/message.json", fmt.Sprintf(`{"from":"ann","message":%q}`, words))
		}
		p.write("bob/mailbox/read.json", `["two"]`)
		p.write("bob/.notification/email.json", `{"data":{"count":7}}`)
	}
	return []mailing{
		{"send", nil, "ann", send, sentOnce(2)},
		{"send-bounce", nil, "ann", []string{"send", "zoe", "--id", "key", "-m", words}, bouncedAlone},
		{"send-again", func(p *postOffice) {
			// It was sent before, when the recipient was not there.
			p.write("human/.agent.json", `{"admin":{}}`)
			if r := p.invoke("ann", send...).run(p.T); r.status != 111 || p.copies("bob", "inbox") != 1 {
				p.Fatalf("status %d: %s", r.status, r.stderr)
			}
			p.write("human/.agent.json", `{"admin":null}`)
		}, "ann", send, sentOnce(2)},
		{"send-delayed", nil, "ann", append(slices.Clone(send), "--delay", "1h"), func(p *postOffice, again *invocation, _ bool) {
			if r := again.run(p.T); r.status != 0 || !strings.Contains(r.stdout, `"queued"`) {
				p.Errorf("again: status %d: %s%s", r.status, r.stdout, r.stderr)
			}
			if p.copies("ann", "outbox") != 1 || p.copies("bob", "inbox") != 0 {
				p.Errorf("outbox %d, inbox %d", p.copies("ann", "outbox"), p.copies("bob", "inbox"))
			}
		}},
		{"send-no-id", nil, "ann", []string{"send", "bob", "-m", words}, func(p *postOffice, _ *invocation, said bool) {
			before := p.copies("ann", "outbox") + p.copies("bob", "inbox")
			// Whatever the next command is, it goes on with what was left.
			if r := p.invoke("ann", "send", "bob", "-m", "other").run(p.T); r.status != 0 {
				p.Errorf("next: status %d: %s", r.status, r.stderr)
			}
			inbox, sent := p.copies("bob", "inbox"), p.copies("ann", "sent")
			if inbox != sent || inbox > 1 || inbox < min(before, 1) || said && inbox != 1 {
				p.Errorf("%d before; then inbox %d, sent %d; said: %v", before, inbox, sent, said)
			}
		}},
		{"reply", func(p *postOffice) {
			p.write("ann/mailbox/inbox/q/message.json", `{"from":"bob","subject":"Re: s"}`)
		}, "ann", []string{"reply", "q", "--id", "key", "-m", words}, sentOnce(1)},
		{"read", received, "bob", []string{"read", "one"}, func(p *postOffice, again *invocation, _ bool) {
			if r := again.run(p.T); r.status != 0 || !strings.Contains(r.stdout, words) {
				p.Errorf("again: status %d: %s", r.status, r.stderr)
			}
			for _, l := range p.letters("bob", "inbox") {
				if !l.Read {
					p.Errorf("%s is not read", l.ID)
				}
			}
		}},
		{"archive", received, "bob", []string{"archive", "one"}, func(p *postOffice, again *invocation, _ bool) {
			if r := again.run(p.T); r.status != 0 && !strings.Contains(r.stderr, "archived already") {
				p.Errorf("again: status %d: %s", r.status, r.stderr)
			}
			if p.copies("bob", "inbox") != 1 || p.copies("bob", "archive") != 1 {
				p.Errorf("inbox %d, archive %d", p.copies("bob", "inbox"), p.copies("bob", "archive"))
			}
		}},
		{"delete", received, "bob", []string{"delete", "one"}, func(p *postOffice, again *invocation, _ bool) {
			if r := again.run(p.T); r.status != 0 && !strings.Contains(r.stderr, "no such message") {
				p.Errorf("again: status %d: %s", r.status, r.stderr)
			}
			if all := p.letters("bob", "inbox"); len(all) != 1 || all[0].ID != "two" || !all[0].Read {
				p.Errorf("inbox: %v", all)
			}
		}},
		{"contact", func(p *postOffice) {
			p.write("ann/mailbox/contacts.json", `[{"address":"bob","name":"old","note":"n","x":1}]`)
		}, "ann", []string{"contacts", "add", "bob", "--name", "new"}, func(p *postOffice, again *invocation, _ bool) {
			r := p.invoke("ann", "contacts").run(p.T)
			if strings.Count(r.stdout, "\n") != 1 || !strings.Contains(r.stdout, `"note":"n"`) {
				p.Errorf("contacts: %s%s", r.stdout, r.stderr)
			}
			if r := again.run(p.T); r.status != 0 || !strings.Contains(r.stdout, `"new"`) {
				p.Errorf("again: status %d: %s", r.status, r.stderr)
			}
		}},
	}
}

// sentOnce sends again, and wants exactly one copy at each recipient, whatever they did with it meanwhile.
func sentOnce(recipients int) func(*postOffice, *invocation, bool) {
	return func(p *postOffice, again *invocation, said bool) {
		p.Helper()
		if n := p.copies("bob", "inbox"); said && n != 1 {
			p.Errorf("it was said, and bob has %d", n)
		}
		deleted := p.copies("bob", "inbox") == 1 && rand.N(2) == 0
		if deleted { // before the sender goes on
			for _, l := range p.letters("bob", "inbox") {
				p.invoke("bob", "delete", l.ID).run(p.T)
			}
		}
		for range 2 {
			if r := again.run(p.T); r.status != 0 || !strings.Contains(r.stdout, `"status":"delivered","deliver_at"`) {
				p.Errorf("again: status %d: %s%s", r.status, r.stdout, r.stderr)
			}
		}
		want := map[string]int{"bob": 1, "human": recipients - 1}
		if deleted {
			want["bob"] = 0
		}
		for who, want := range want {
			if n := p.copies(who, "inbox"); n != want {
				p.Errorf("%s has %d, want %d", who, n, want)
			}
		}
		if p.copies("ann", "sent") != 1 || p.copies("ann", "outbox") != 0 {
			p.Errorf("sent %d, outbox %d", p.copies("ann", "sent"), p.copies("ann", "outbox"))
		}
		if temps := p.temps(); len(temps) > 0 {
			p.Errorf("left: %q", temps)
		}
	}
}

func bouncedAlone(p *postOffice, again *invocation, _ bool) {
	p.Helper()
	before := p.bounces()
	if r := again.run(p.T); r.status != 111 || !strings.Contains(r.stdout, `"bounced"`) {
		p.Errorf("again: status %d: %s%s", r.status, r.stdout, r.stderr)
	}
	if n := p.bounces(); n == 0 || n > before+1 || p.copies("ann", "sent") != 1 {
		p.Errorf("told %d times, before %d; sent %d", n, before, p.copies("ann", "sent"))
	}
	if _, err := os.Lstat(filepath.Join(p.top, "zoe", "mailbox")); err == nil {
		p.Errorf("something is left on the recipient's side")
	}
}

func (m mailing) office(t *testing.T) (*postOffice, *invocation) {
	t.Helper()
	p := newPostOffice(t)
	if m.prepare != nil {
		m.prepare(p)
	}
	return p, p.invoke(m.who, m.args...)
}

// TestCrashMail kills substrate-mail just before every call by which it changes a file and just after every one
// that changes a name, then sends again: nobody gets a part of a message, nobody gets it twice, nothing that was
// said is lost. The tracer is used in place of "strace -e inject=...:signal=KILL" for the reasons it gives.
func TestCrashMail(t *testing.T) {
	begin(t)
	t.Parallel()
	for _, m := range mailings() {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			p, c := m.office(t)
			end := trace(t, p.top, c, nil)
			if want := map[string]int{"send-bounce": 111}[m.name]; end.status != want || end.killed {
				t.Fatalf("status %d: %s", end.status, end.stderr)
			}
			kills := 0
			for n := 1; n <= len(end.points)+4; n++ {
				for _, a := range []act{{before: true}, {after: true}} {
					if a.after && n <= len(end.points) && !end.points[n-1].names() {
						continue
					}
					var hit point
					p, c := m.office(t)
					got := trace(t, p.top, c, func(pt point) act {
						if pt.n == n {
							hit = pt
							return a
						}
						return act{}
					})
					if !got.killed {
						break
					}
					kills++
					p.whole()
					m.after(p, c, got.stdout != "")
					p.whole()
					if t.Failed() {
						t.Fatalf("killed at %v (%+v) of\n%v", hit, a, got.points)
					}
				}
			}
			if kills < len(end.points) {
				t.Errorf("only %d kills at %d points", kills, len(end.points))
			}
			t.Logf("%d points, %d kills: %s", len(end.points), kills, tally(end.points))
		})
	}
}

// TestCrashMailFailures has every call fail in turn, as on a full or a broken disk: the answer says what was
// delivered, and to send again makes it one copy each.
func TestCrashMailFailures(t *testing.T) {
	begin(t)
	t.Parallel()
	for _, m := range mailings()[:3] {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			p, c := m.office(t)
			end := trace(t, p.top, c, nil)
			for _, errno := range []syscall.Errno{syscall.ENOSPC, syscall.EIO} {
				for n := 1; n <= len(end.points); n++ {
					var hit point
					p, c := m.office(t)
					before := p.bounces()
					got := trace(t, p.top, c, func(pt point) act {
						if pt.n == n {
							hit = pt
							return act{fail: errno}
						}
						return act{}
					})
					p.whole()
					for _, who := range []string{"bob", "human"} {
						said := strings.Contains(got.stdout, fmt.Sprintf(`{"address":%q,"status":"delivered"`, who))
						bounced := strings.Contains(got.stdout, fmt.Sprintf(`{"address":%q,"status":"bounced"`, who))
						if n := p.copies(who, "inbox"); said && n != 1 || bounced && n != 0 {
							t.Errorf("%s has %d: %s", who, n, got.stdout)
						}
						if bounced && p.bounces() == before {
							t.Errorf("the sender was not told that it bounced at %s", who)
						}
					}
					if got.status == 0 && got.stdout == "" || got.status != 0 && got.stderr == "" {
						t.Errorf("status %d, and nothing said", got.status)
					}
					if m.name == "send-bounce" {
						bouncedAlone(p, c, false)
					} else {
						sentOnce(2)(p, c, false)
					}
					if t.Failed() {
						t.Fatalf("%v at %v, status %d: %s%s\nof %v", errno, hit, got.status, got.stdout, got.stderr, got.points)
					}
				}
			}
			t.Logf("%d points", len(end.points))
		})
	}
}

// TestCrashMailSenders has twenty senders write to one recipient, each killed at random moments and started again
// until it is done.
func TestCrashMailSenders(t *testing.T) {
	begin(t)
	t.Parallel()
	p := newPostOffice(t)
	var all sync.WaitGroup
	var mu sync.Mutex
	killed := 0
	for i := range 20 {
		who := fmt.Sprintf("sender%02d", i)
		p.write(who+"/.agent.json", `{"admin":{}}`)
		all.Go(func() {
			for n := range 5 {
				for try := 0; ; try++ {
					cmd := p.invoke(who, "send", "bob", "--id", fmt.Sprint("id", n), "--attach", "../file",
						"--subject", fmt.Sprint(i, " ", n), "-m", words).cmd()
					if err := cmd.Start(); err != nil {
						t.Error(err)
						return
					}
					if try < 3 {
						time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
						cmd.Process.Kill()
					}
					if cmd.Wait() == nil {
						break
					}
					mu.Lock()
					killed++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	p.whole()
	if n := p.copies("bob", "inbox"); n != 100 {
		t.Errorf("bob has %d of 100", n)
	}
	if temps := p.temps(); len(temps) > 0 {
		t.Errorf("left: %q", temps)
	}
	if killed == 0 {
		t.Error("nobody was killed")
	}
	t.Logf("%d kills", killed)
}

// TestCrashMailStrace kills with strace too, which nobody here wrote: at entry of each call, counted in each
// thread. What it does not hit TestCrashMail does.
func TestCrashMailStrace(t *testing.T) {
	needsTool(t, "strace", "strace")
	begin(t)
	t.Parallel()
	m := mailings()[0]
	for _, call := range []string{"renameat", "renameat2", "linkat", "unlinkat", "fsync"} {
		kills := 0
		for n := 1; n <= 12; n++ {
			p, c := m.office(t)
			cmd := c.cmd()
			cmd.Args = append([]string{"strace", "-f", "-o", "/dev/null", "-e", "trace=" + call,
				"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", call, n), c.path()}, c.args[1:]...)
			var err error
			if cmd.Path, err = exec.LookPath("strace"); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			cmd.Stdout = &out
			if cmd.Run() != nil {
				kills++
			}
			p.whole()
			m.after(p, c, out.Len() > 0)
			if t.Failed() {
				t.Fatalf("killed at %s, number %d of a thread", call, n)
			}
		}
		// On a file system that renames exclusively nothing is linked.
		if kills == 0 && call != "linkat" {
			t.Errorf("never killed at %s", call)
		}
		t.Logf("%s: %d kills", call, kills)
	}
}
