package mail

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

func TestMessageIsDeliveredOnceWhole(t *testing.T) {
	net := network(t)
	ann, bob, eve := agent(t, net, "ann"), agent(t, net, "bob"), agent(t, net, "eve")
	bodytest.Write(t, filepath.Join(net, "report.txt"), "the report")
	d := Draft{
		To: []string{"bob"}, BCC: []string{"eve"}, Subject: "plan", Message: "do <it>\n",
		Attachments: []string{filepath.Join(net, "report.txt")},
	}
	m := send(t, ann, d, noon)
	if m.Folder != Sent || m.status() != delivered || !ourID.MatchString(m.ID) {
		t.Errorf("sent: %s %s %s", m.Folder, m.ID, m.status())
	}
	for _, x := range []Box{bob, eve} {
		got := get(t, x, Inbox, m.ID)
		if got.From() != "ann" || got.Subject() != "plan" || got.Body() != "do <it>\n" ||
			!got.SentAt().Equal(noon) || !got.ReceivedAt().Equal(noon) || got.Read ||
			got.Sub("identity").Text("agent_name") != "ann the Agent" {
			t.Errorf("%s got %s", x.body.Address(), got.Compact())
		}
		for _, key := range own {
			if got.Get(key) != nil {
				t.Errorf("%s is told %s: %s", x.body.Address(), key, got.Get(key))
			}
		}
		if a := got.Attachments(); len(a) != 1 || bodytest.Contents(t, a[0]) != "the report" {
			t.Errorf("attached: %q", a)
		}
	}
	if got := get(t, ann, Sent, m.ID).BCC(); !slices.Equal(got, []string{"eve"}) {
		t.Errorf("the sender's own record: bcc %q", got)
	}
	if ids := in(t, ann, Outbox); len(ids) > 0 || len(in(t, ann, Sent)) != 1 {
		t.Errorf("outbox %q, sent %q", ids, in(t, ann, Sent))
	}
	temporaries(t, ann, bob, eve)
}

func TestL64PeerWithoutFreshHeartbeatBounces(t *testing.T) {
	for what, heart := range map[string]func(t *testing.T, b Box){
		"absent":           func(t *testing.T, b Box) { os.Remove(b.body.Path(body.HeartbeatFile)) },
		"at the threshold": func(t *testing.T, b Box) { beat(t, b, noon.Add(-env.Threshold)) },
		"empty":            func(t *testing.T, b Box) { bodytest.Write(t, b.body.Path(body.HeartbeatFile), "") },
		"no number":        func(t *testing.T, b Box) { bodytest.Write(t, b.body.Path(body.HeartbeatFile), "NaN") },
	} {
		t.Run(what, func(t *testing.T) {
			net := network(t)
			ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
			heart(t, bob)
			before := tree(t, bob.body.Dir())
			m := send(t, ann, to("bob"), noon)
			if after := tree(t, bob.body.Dir()); after != before {
				t.Errorf("something is left on the recipient's side:\n%s\n%s", before, after)
			}
			if m.Folder != Sent || m.status() != bounced || m.plan()[0].Error != "bob is not running" {
				t.Errorf("in %s: %s", m.Folder, m.Compact())
			}
			told := bounces(t, ann)
			if len(told) != 1 || told[0].Ref != m.ID || !strings.Contains(told[0].Body, "bob is not running") {
				t.Errorf("told: %+v", told)
			}
			if errs := m.Bounces(); len(errs) != 1 || !fault.Is(errs[0], fault.Unreachable) {
				t.Errorf("errors: %v", errs)
			}
		})
	}
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	beat(t, bob, noon.Add(time.Millisecond-env.Threshold))
	if m := send(t, ann, to("bob"), noon); m.status() != delivered {
		t.Errorf("a heartbeat just below the threshold: %s", m.Compact())
	}
}

func TestL65NothingIsQueuedAcrossTheGap(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	os.Remove(bob.body.Path(body.HeartbeatFile))
	send(t, ann, to("bob"), noon)
	later := noon.Add(time.Minute)
	beat(t, bob, later)
	beat(t, ann, later)
	for _, p := range []*Poller{NewPoller(ann, nil), NewPoller(bob, []string{"../ann"})} {
		for range 3 {
			poll(t, p, later)
		}
	}
	if got := in(t, bob, Inbox); len(got) > 0 {
		t.Errorf("a later start shows %q", got)
	}
}

func TestL66ResendingDeliversOnce(t *testing.T) {
	for _, same := range []bool{true, false} {
		net := network(t)
		ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
		os.Remove(bob.body.Path(body.HeartbeatFile))
		d := to("bob")
		m := send(t, ann, d, noon)
		beat(t, bob, noon)
		if same { // the message itself, by its ID
			d.ID = m.ID
			again, known, err := ann.Send(ctx, d, noon)
			if err != nil || !known || again.ID != m.ID {
				t.Fatalf("again: %v %v %q", err, known, again.ID)
			}
			for range 2 {
				if again, err = ann.Deliver(ctx, m.ID, noon); err != nil || again.status() != delivered {
					t.Fatalf("again: %v, %s", err, again.Compact())
				}
				if _, known, err = ann.Send(ctx, d, noon); err != nil || !known {
					t.Fatalf("once more: %v %v", err, known)
				}
			}
		} else { // or another with the same words
			send(t, ann, d, noon)
		}
		if got := in(t, bob, Inbox); len(got) != 1 {
			t.Errorf("bob has %q", got)
		}
		if told := bounces(t, ann); len(told) != 1 {
			t.Errorf("told: %+v", told)
		}
		temporaries(t, ann, bob)
	}
}

func TestBounceIsToldOnceForEachAttempt(t *testing.T) {
	ann := agent(t, network(t), "ann")
	d := to("nobody")
	d.ID = "key"
	for range 2 {
		if _, _, err := ann.Send(ctx, d, noon); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			m, err := ann.Deliver(ctx, "key", noon)
			if err != nil || m.plan()[0].Error != "No agent at nobody" {
				t.Fatalf("%v: %s", err, m.Compact())
			}
			if errs := m.Bounces(); len(errs) != 1 || !fault.Is(errs[0], fault.UnknownParticipant) {
				t.Errorf("errors: %v", errs)
			}
		}
	}
	if told := bounces(t, ann); len(told) != 2 {
		t.Errorf("told: %+v", told)
	}
	if got := in(t, ann, Sent); !slices.Equal(got, []string{"key"}) {
		t.Errorf("sent: %q", got)
	}
}

func TestHumanAlwaysReceives(t *testing.T) {
	for manifest, want := range map[string]string{
		`{"admin":null}`:               delivered,
		`{"agent_name":"Dan"}`:         delivered,
		`{"admin":{}}`:                 bounced,
		`{"admin":{"karma":true}}`:     bounced,
		`{"admin":null} and then some`: bounced, // an agent, and not known to be a human
	} {
		net := network(t)
		ann := agent(t, net, "ann")
		bodytest.Write(t, filepath.Join(net, "dan", body.ManifestFile), manifest)
		if m := send(t, ann, to("dan"), noon); m.status() != want {
			t.Errorf("%s: %s", manifest, m.status())
		}
	}
}

func TestHandshakeLooksInItsOrder(t *testing.T) {
	net := network(t)
	ann := agent(t, net, "ann")
	file := filepath.Join(net, "file")
	bodytest.Write(t, file, "x")
	d := to("bob")
	d.ID, d.Attachments = "key", []string{file}
	if _, _, err := ann.Send(ctx, d, noon); err != nil {
		t.Fatal(err)
	}
	// What is attached goes missing on the way: last, each step in its turn.
	if err := os.RemoveAll(ann.path(Outbox, "key", filesDir)); err != nil {
		t.Fatal(err)
	}
	os.Remove(file)
	try := func(want string) {
		t.Helper()
		before := ""
		if disk.Exists(filepath.Join(net, "bob")) {
			before = tree(t, filepath.Join(net, "bob"))
		}
		m, err := ann.Deliver(ctx, "key", noon)
		if err != nil || !strings.Contains(m.plan()[0].Error, want) {
			t.Errorf("%v, %q instead of %q", err, m.plan()[0].Error, want)
		}
		if before != "" && tree(t, filepath.Join(net, "bob")) != before {
			t.Errorf("%s: something is left on the recipient's side", want)
		}
		back := get(t, ann, Sent, "key")
		plan := back.plan()
		plan[0].Status, plan[0].Error = queued, ""
		if err := back.move(desk); err != nil || back.save(plan) != nil {
			t.Fatal(err)
		}
	}
	try("No agent at bob")
	if err := os.Mkdir(filepath.Join(net, "bob"), 0o755); err != nil {
		t.Fatal(err)
	}
	try("No agent at bob")
	bodytest.Write(t, filepath.Join(net, "bob", body.ManifestFile), `{"admin":{}}`)
	try("bob is not running")
	agent(t, net, "bob")
	try("cannot attach")
}

func TestFailureOnTheRecipientsSideLeavesNothing(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	bodytest.Write(t, filepath.Join(net, "file"), "x")
	bodytest.Write(t, bob.path(Inbox), "no directory")
	before := tree(t, bob.body.Dir())
	d := to("bob")
	d.Attachments = []string{filepath.Join(net, "file")}
	if m := send(t, ann, d, noon); m.status() != bounced {
		t.Errorf("%s", m.Compact())
	}
	if after := tree(t, bob.body.Dir()); after != before {
		t.Errorf("left:\n%s\n%s", before, after)
	}
	if len(bounces(t, ann)) != 1 {
		t.Errorf("told: %+v", bounces(t, ann))
	}
}

func TestCanceledDeliveryIsNoBounce(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	m, _, err := ann.Send(ctx, to("bob"), noon)
	if err != nil {
		t.Fatal(err)
	}
	stopped, stop := context.WithCancel(ctx)
	stop()
	if _, err := NewOutgoing(ann).Deliver(stopped, noon); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(in(t, bob, Inbox)) > 0 || len(bounces(t, ann)) > 0 || len(in(t, ann, Sent)) > 0 {
		t.Error("it was settled")
	}
	if done, err := NewOutgoing(ann).Deliver(ctx, noon); err != nil || len(done.Messages) != 1 {
		t.Errorf("later: %v %+v", err, done)
	}
	if got := in(t, bob, Inbox); !slices.Equal(got, []string{m.ID}) {
		t.Errorf("bob has %q", got)
	}
}

func TestDelayedMessageWaitsInTheOutbox(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	d := to("bob")
	d.Delay = 90 * time.Second
	m, _, err := ann.Send(ctx, d, noon)
	if err != nil || m.Receipt().Status != queued || m.Receipt().DeliverAt != "2026-11-30T12:01:30.000Z" {
		t.Fatalf("%v, %+v", err, m.Receipt())
	}
	out := NewOutgoing(ann)
	for _, step := range []struct {
		at   time.Duration
		want int
	}{{0, 0}, {89 * time.Second, 0}, {90 * time.Second, 1}, {2 * time.Minute, 0}} {
		now := noon.Add(step.at)
		beat(t, bob, now)
		done, err := out.Deliver(ctx, now)
		if err != nil || len(done.Messages) != step.want {
			t.Errorf("after %v: %v, %d delivered", step.at, err, len(done.Messages))
		}
	}
	got := get(t, bob, Inbox, m.ID)
	if !got.SentAt().Equal(noon) || !got.ReceivedAt().Equal(noon.Add(90*time.Second)) {
		t.Errorf("%s", got.Compact())
	}
	// The recipient may be gone by then, like any other.
	d.Message = "another"
	if _, _, err := ann.Send(ctx, d, noon); err != nil {
		t.Fatal(err)
	}
	late := noon.Add(time.Hour)
	if done, err := out.Deliver(ctx, late); err != nil || done.Messages[0].status() != bounced {
		t.Errorf("%v, %+v", err, done)
	}
}

// interrupted leaves a message on the desk as a sender does that died after delivery
// and before it could note that.
func interrupted(t *testing.T, x Box, d Draft) Message {
	t.Helper()
	m := send(t, x, d, noon)
	plan := m.plan()
	for i := range plan {
		plan[i].Status, plan[i].Attempts = queued, 0
	}
	if err := m.move(desk); err != nil || m.save(plan) != nil {
		t.Fatal(err)
	}
	return m
}

func TestClass12InterruptedDeliveryDoublesNothing(t *testing.T) {
	for what, meanwhile := range map[string]func(bob Box, id string) error{
		"nothing": func(Box, string) error { return nil },
		"read": func(bob Box, id string) error {
			_, err := bob.Dismiss(ctx, []string{id})
			return err
		},
		"archived": func(bob Box, id string) error {
			_, err := bob.Archive(ctx, id)
			return err
		},
		"deleted": func(bob Box, id string) error {
			_, err := bob.Delete(ctx, id)
			return err
		},
		"gone to sleep for good": func(bob Box, _ string) error {
			return os.Remove(bob.body.Path(body.HeartbeatFile))
		},
	} {
		t.Run(what, func(t *testing.T) {
			net := network(t)
			ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
			m := interrupted(t, ann, to("bob"))
			if err := meanwhile(bob, m.ID); err != nil {
				t.Fatal(err)
			}
			before := tree(t, bob.body.Dir())
			done, err := NewOutgoing(ann).Deliver(ctx, noon)
			if err != nil || len(done.Messages) != 1 || done.Messages[0].status() != delivered {
				t.Fatalf("%v, %+v", err, done)
			}
			if after := tree(t, bob.body.Dir()); after != before {
				t.Errorf("the recipient's side has changed:\n%s\n%s", before, after)
			}
			if len(bounces(t, ann)) > 0 || len(in(t, ann, Sent)) != 1 {
				t.Errorf("told %+v, sent %q", bounces(t, ann), in(t, ann, Sent))
			}
		})
	}
}

func TestClass12SameIDFromTwoSendersIsTwoMessages(t *testing.T) {
	net := network(t)
	ann, eve, bob := agent(t, net, "ann"), agent(t, net, "eve"), agent(t, net, "bob")
	for range 2 { // and neither doubles when it is sent again
		for _, x := range []Box{ann, eve} {
			d := to("bob")
			d.ID = "key"
			if _, _, err := x.Send(ctx, d, noon); err != nil {
				t.Fatal(err)
			}
			if m, err := x.Deliver(ctx, "key", noon); err != nil || m.status() != delivered {
				t.Fatalf("%v, %s", err, m.Compact())
			}
		}
	}
	var from []string
	for _, id := range in(t, bob, Inbox) {
		from = append(from, get(t, bob, Inbox, id).From())
	}
	if slices.Sort(from); !slices.Equal(from, []string{"ann", "eve"}) {
		t.Errorf("from %q", from)
	}
}

func TestLeftoverOfADeadSenderIsCleared(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	for range 2 {
		m := interrupted(t, ann, to("bob"))
		if err := os.RemoveAll(bob.path(Inbox, m.ID)); err != nil {
			t.Fatal(err)
		}
		// As far as it got: half of the files, under the name that it always uses.
		staged := filepath.Base(stagedName(m))
		bodytest.Write(t, bob.path(staged, filesDir, "half"), "ha")
		bodytest.Write(t, ann.path(desk, ".tmp-0123456789abcdef", messageFile), "{")
		if done, err := NewOutgoing(ann).Deliver(ctx, noon); err != nil || len(done.Messages) != 1 {
			t.Fatalf("%v, %+v", err, done)
		}
		if disk.Exists(bob.path(Inbox, m.ID, filesDir)) {
			t.Error("the leftover became a part of the message")
		}
		temporaries(t, ann, bob)
		if _, err := bob.Delete(ctx, m.ID); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwentySendersToOneRecipientAllLandOnce(t *testing.T) {
	net := network(t)
	bob := agent(t, net, "bob")
	var all sync.WaitGroup
	for i := range 20 {
		x := agent(t, net, fmt.Sprintf("agent%02d", i))
		all.Go(func() {
			for n := range 5 {
				d := to("bob")
				d.Message = fmt.Sprint("from ", i, " number ", n)
				m, _, err := x.Send(ctx, d, noon)
				if err != nil {
					t.Error(err)
					return
				}
				// Two at once try to deliver it.
				var both sync.WaitGroup
				for range 2 {
					both.Go(func() {
						if m, err := x.Deliver(ctx, m.ID, noon); err != nil || m.status() != delivered {
							t.Errorf("%v %s", err, m.ID)
						}
					})
				}
				both.Wait()
			}
		})
	}
	all.Wait()
	got := map[string]int{}
	for _, id := range in(t, bob, Inbox) {
		got[get(t, bob, Inbox, id).Body()]++
	}
	if len(got) != 100 {
		t.Errorf("%d different messages", len(got))
	}
	for text, n := range got {
		if n != 1 {
			t.Errorf("%q is there %d times", text, n)
		}
	}
	temporaries(t, bob)
}

func TestDuplicateRecipientsGetOneCopy(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	if err := os.Symlink("bob", filepath.Join(net, "robert")); err != nil {
		t.Fatal(err)
	}
	m := send(t, ann, Draft{
		To: []string{"bob", "bob", "robert"}, CC: []string{bob.body.Dir()}, BCC: []string{"bob"}, Message: "m", Abs: true,
	}, noon)
	if got := in(t, bob, Inbox); len(got) != 1 || len(m.plan()) != 1 {
		t.Errorf("bob has %q; %s", got, m.Compact())
	}
}
