package mail

import (
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
	"github.com/substrate-tools/substrate/lib/notice"
)

// letter puts a message into the outbox of a human the way that another program does.
func letter(t *testing.T, human Box, id, text string) {
	t.Helper()
	bodytest.Write(t, human.path(Outbox, id, messageFile), text)
}

func TestPollerTakesWhatIsForItFromAHumansOutbox(t *testing.T) {
	net := network(t)
	human, ann, bob := agent(t, net, "human"), agent(t, net, "ann"), agent(t, net, "bob")
	letter(t, human, "6f1c", `{"to":"ann","from":"somebody","subject":"hi","message":"m","x_unknown":{"kept":1}}`)
	letter(t, human, "7f1c", `{"to":["zoe"],"subject":"hi","message":"m"}`)
	letter(t, human, "8f1c", `{"to":["bob"],"cc":["ann","eve"],"bcc":["zoe"],"subject":"both","message":"m"}`)
	os.Remove(ann.body.Path(body.HeartbeatFile)) // it is there: it is looking
	p := NewPoller(ann, DefaultSubscriptions)
	got := poll(t, p, noon)
	if len(got.Messages) != 2 || len(got.Failed) > 0 || got.Unread != 2 || !got.Changed {
		t.Fatalf("got %+v", got)
	}
	m := get(t, ann, Inbox, "6f1c")
	if m.From() != "human" || m.Text("id") != "6f1c" || m.Sub("x_unknown").Number("kept") != 1 ||
		m.Sub("identity").Text("agent_name") != "Hugh" || !m.ReceivedAt().Equal(noon) {
		t.Errorf("%s", m.Compact())
	}
	// Whoever takes a message delivers it to all.
	if ids := in(t, bob, Inbox); !slices.Equal(ids, []string{"8f1c"}) {
		t.Errorf("bob has %q", ids)
	}
	if s := get(t, human, Sent, "8f1c"); s.status() != partial || len(bounces(t, human)) != 2 {
		t.Errorf("%s; told %+v", s.Compact(), bounces(t, human))
	}
	if ids := in(t, human, Outbox); !slices.Equal(ids, []string{"7f1c"}) {
		t.Errorf("the outbox has %q", ids)
	}
	for range 3 {
		if got := poll(t, p, noon); len(got.Messages) > 0 || got.Changed {
			t.Errorf("and then %+v", got)
		}
	}
	temporaries(t, human, ann, bob)
}

func TestOneReaderWinsAMessage(t *testing.T) {
	net := network(t)
	human := agent(t, net, "human")
	var boxes []Box
	for i := range 8 {
		boxes = append(boxes, agent(t, net, fmt.Sprintf("agent%d", i)))
	}
	const letters = 10
	for i := range letters {
		letter(t, human, fmt.Sprint("id", i),
			`{"to":["agent0","agent1","agent2","agent3","agent4","agent5","agent6","agent7"],"message":"m"}`)
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for _, x := range boxes {
		p := NewPoller(x, DefaultSubscriptions)
		all.Go(func() {
			for range 200 {
				got, err := p.Poll(ctx, noon)
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				taken += len(got.Messages)
				left := letters - taken
				mu.Unlock()
				if left == 0 {
					return
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	all.Wait()
	if taken != letters {
		t.Errorf("%d claimed", taken)
	}
	for _, x := range boxes {
		if got := in(t, x, Inbox); len(got) != letters {
			t.Errorf("%s has %d", x.body.Address(), len(got))
		}
	}
}

func TestClaimOfADeadReaderIsFinishedByTheNext(t *testing.T) {
	net := network(t)
	human, ann, bob := agent(t, net, "human"), agent(t, net, "ann"), agent(t, net, "bob")
	letter(t, human, "a", `{"to":["ann"],"message":"m"}`)
	m := get(t, human, Outbox, "a")
	if err := m.move(desk); err != nil {
		t.Fatal(err)
	}
	poll(t, NewPoller(bob, DefaultSubscriptions), noon)
	if ids := in(t, ann, Inbox); !slices.Equal(ids, []string{"a"}) {
		t.Errorf("ann has %q", ids)
	}
	temporaries(t, human)
}

func TestClass12StarvedPoller(t *testing.T) {
	net := network(t)
	human, ann := agent(t, net, "human"), agent(t, net, "ann")
	// Many that are no use, before those that are, in both places.
	for i := range 3 * maxWork {
		id := fmt.Sprintf("%04d", i)
		if err := os.MkdirAll(ann.path(Inbox, "z"+id), 0o755); err != nil { // half-written, for ever
			t.Fatal(err)
		}
		letter(t, human, id, "{")
	}
	letter(t, human, "zz", `{"to":["ann"],"message":"m"}`)
	p := NewPoller(ann, DefaultSubscriptions)
	work := 0
	for ; work < 20 && poll(t, p, noon).Unread == 0; work++ {
	}
	if work == 20 {
		t.Errorf("the good message is still not there")
	}
	// A bound on what one poll takes, all the same.
	for i := range 2*maxWork + 1 {
		letter(t, human, fmt.Sprintf("x%04d", i), `{"to":["ann"],"message":"m"}`)
	}
	got := poll(t, NewPoller(ann, DefaultSubscriptions), noon)
	if len(got.Messages) > maxWork || !got.More {
		t.Errorf("%d at once, more: %v", len(got.Messages), got.More)
	}
}

func TestClass12BounceToPseudoSenders(t *testing.T) {
	net := network(t)
	human, ann := agent(t, net, "human"), agent(t, net, "ann")
	// A bounce is never mail: nothing bounces because of it, and nobody but the
	// sender hears of it, whatever the message says that it comes from.
	letter(t, human, "a", `{"to":["ann","nobody"],"from":"system","message":"m"}`)
	poll(t, NewPoller(ann, DefaultSubscriptions), noon)
	if told := bounces(t, human); len(told) != 1 || told[0].Ref != "a" {
		t.Errorf("human is told %+v", told)
	}
	if told := bounces(t, ann); len(told) > 0 {
		t.Errorf("ann is told %+v", told)
	}
	if ids := append(in(t, human, Inbox), in(t, human, Outbox)...); len(ids) > 0 {
		t.Errorf("mail came of it: %q", ids)
	}
	// A directory with a mailbox and nothing else is told nothing.
	bodytest.Write(t, filepath.Join(net, "door", body.MailDir, Outbox, "b", messageFile), `{"to":["ann","nobody"],"message":"m"}`)
	if got := poll(t, NewPoller(ann, []string{"../door"}), noon); len(got.Messages) != 1 {
		t.Errorf("got %+v", got)
	}
	if disk.Exists(filepath.Join(net, "door", body.NoticeDir)) {
		t.Error("notifications were made for a directory that is no agent's")
	}
}

func TestHalfWrittenIsNeverRead(t *testing.T) {
	net := network(t)
	ann := agent(t, net, "ann")
	whole := `{"from":"bob","message":"m"}`
	bodytest.Write(t, ann.path(".tmp-0123456789abcdef", messageFile), whole) // staging of ours
	bodytest.Write(t, ann.path(Inbox, ".staging-1", messageFile), whole)     // of another program
	bodytest.Write(t, ann.path(Inbox, "half", filesDir, "f"), "attached, and no message yet")
	bodytest.Write(t, ann.path(Inbox, "file"), whole)
	if err := os.Symlink("../.tmp-0123456789abcdef", ann.path(Inbox, "link")); err != nil {
		t.Fatal(err)
	}
	p := NewPoller(ann, nil)
	for range 3 * maxTries {
		if got := poll(t, p, noon); got.Unread > 0 || len(got.Aside)+len(got.Failed) > 0 || got.Changed {
			t.Fatalf("got %+v", got)
		}
	}
	if all, skipped, err := ann.Check(Filter{}); len(all)+len(skipped) > 0 || err != nil {
		t.Errorf("check: %v %v %v", all, skipped, err)
	}
	// It counts from when it is whole, although the directory of the inbox has not
	// changed by that.
	bodytest.Write(t, ann.path(Inbox, "half", messageFile), whole)
	for n := 0; poll(t, p, noon).Unread == 0; n++ {
		if n > maxPause {
			t.Fatal("never seen")
		}
	}
}

func TestUnparsableIsTriedTenTimesThenSetAside(t *testing.T) {
	net := network(t)
	ann, human := agent(t, net, "ann"), agent(t, net, "human")
	bad := map[Box]string{ann: Inbox, human: Outbox}
	for x, folder := range bad {
		bodytest.Write(t, x.path(folder, "bad", messageFile), `{"to":["ann"],"message":`)
		bodytest.Write(t, x.path(folder, "late", messageFile), `{`)
		bodytest.Write(t, x.path(folder, "good", messageFile), `{"to":["ann"],"message":"m"}`)
		bodytest.Write(t, x.path(dead, folder+"-bad", messageFile), `of another day`)
	}
	p := NewPoller(ann, DefaultSubscriptions)
	for n := range maxTries {
		if got := poll(t, p, noon); len(got.Aside) > 0 || len(got.Failed) == 0 {
			t.Fatalf("poll %d: %+v", n, got)
		}
	}
	for x, folder := range bad { // in time
		bodytest.Write(t, x.path(folder, "late", messageFile), `{"to":["ann"],"message":"late"}`)
	}
	got := poll(t, p, noon)
	if len(got.Aside) != 2 {
		t.Errorf("set aside: %v", got.Aside)
	}
	for x, folder := range bad {
		if x.isEntry(folder, "bad") || !x.isEntry(dead, folder+"-bad") || len(in(t, x, dead)) != 2 {
			t.Errorf("%s of %s: %q, aside %q", folder, x.body.Address(), in(t, x, folder), in(t, x, dead))
		}
	}
	if ids := in(t, ann, Inbox); len(ids) != 4 { // two of a name are two
		t.Errorf("ann has %q", ids)
	}
}

func TestPriorRuntimesMailboxWorksUnchanged(t *testing.T) {
	net := network(t)
	ann := agent(t, net, "ann")
	old := `{"_mailbox_id":"0b8e0c6e-1","from":"bob","to":"ann","subject":"old","message":"text","type":"normal",` +
		`"received_at":"2026-01-02T03:04:05Z","attachments":["` + ann.path(Inbox, "0b8e0c6e-1", filesDir, "a.txt") + `"]}`
	bodytest.Write(t, ann.path(Inbox, "0b8e0c6e-1", messageFile), old)
	bodytest.Write(t, ann.path(Inbox, "0b8e0c6e-1", filesDir, "a.txt"), "attached")
	bodytest.Write(t, ann.path(Inbox, "20260102T030406-0a1b", messageFile), `{"from":"bob","to":["ann"],"message":"newer"}`)
	bodytest.Write(t, ann.path(readFile), `["20260102T030406-0a1b", "gone"]`)
	bodytest.Write(t, ann.path(Sent, "f00d", messageFile), `{"to":["bob"],"message":"sent","status":"refused","sent_at":"2026-01-01"}`)
	bodytest.Write(t, ann.path(contactsFile), `[{"address":"bob","name":"Bob","note":"n","since":2020}]`)
	all, skipped, err := ann.Check(Filter{})
	if err != nil || len(skipped) > 0 || len(all) != 2 || all[0].ID != "20260102T030406-0a1b" || !all[0].Read || all[1].Read {
		t.Fatalf("%v %v %+v", err, skipped, all)
	}
	r := all[1].Record(-1)
	if r.ReceivedAt != "2026-01-02T03:04:05.000Z" || !slices.Equal(r.To, []string{"ann"}) ||
		len(r.Attachments) != 1 || bodytest.Contents(t, r.Attachments[0]) != "attached" {
		t.Errorf("%+v", r)
	}
	if _, err := ann.Dismiss(ctx, []string{"0b8e0c6e-1"}); err != nil {
		t.Fatal(err)
	}
	if got := bodytest.Contents(t, ann.path(readFile)); got != `["0b8e0c6e-1","20260102T030406-0a1b"]`+"\n" {
		t.Errorf("read.json: %s", got)
	}
	if _, err := ann.Archive(ctx, "0b8e0c6e-1"); err != nil {
		t.Fatal(err)
	}
	if got := bodytest.Contents(t, ann.path(Archive, "0b8e0c6e-1", messageFile)); got != old {
		t.Errorf("archived: %s", got)
	}
	if a := get(t, ann, Archive, "0b8e0c6e-1").Attachments(); len(a) != 1 || bodytest.Contents(t, a[0]) != "attached" {
		t.Errorf("attached: %q", a)
	}
	if sent := get(t, ann, Sent, "f00d").Record(-1); sent.Status != "refused" {
		t.Errorf("sent: %+v", sent)
	}
	note := "new"
	if _, err := ann.EditContact(ctx, "bob", Change{Note: &note}); err != nil {
		t.Fatal(err)
	}
	if got := bodytest.Contents(t, ann.path(contactsFile)); !strings.Contains(got, `"since": 2020`) {
		t.Errorf("contacts.json: %s", got)
	}
}

func TestPollWritesNothingWhereThereIsNothing(t *testing.T) {
	net := network(t)
	ann := agent(t, net, "ann")
	agent(t, net, "human")
	before := tree(t, net)
	p := NewPoller(ann, []string{"../human", "../nobody", ".", filepath.Join(net, "ann")})
	for range 3 {
		if got := poll(t, p, noon); got.Changed || len(got.Failed) > 0 {
			t.Errorf("got %+v", got)
		}
	}
	if after := tree(t, net); after != before {
		t.Errorf("polling changed something:\n%s\n%s", before, after)
	}
}

func TestPollWaitsForNobody(t *testing.T) {
	net := network(t)
	human, ann, bob := agent(t, net, "human"), agent(t, net, "ann"), agent(t, net, "bob")
	letter(t, human, "a", `{"to":["ann"],"message":"m"}`)
	unlock, err := human.take(ctx)
	if err != nil {
		t.Fatal(err)
	}
	send(t, bob, to("ann"), noon)
	p := NewPoller(ann, DefaultSubscriptions)
	begun := time.Now()
	if got := poll(t, p, noon); got.Unread != 1 || len(got.Failed) > 0 {
		t.Errorf("got %+v", got)
	}
	if took := time.Since(begun); took > LockWait/2 {
		t.Errorf("it took %v", took)
	}
	unlock()
	if got := poll(t, p, noon); got.Unread != 2 {
		t.Errorf("then %+v", got)
	}
}

func TestPollSweepsOldLeftovers(t *testing.T) {
	ann := agent(t, network(t), "ann")
	fresh, old := ann.path(".tmp-0000000000000001"), ann.path(".tmp-0000000000000002")
	bodytest.Write(t, filepath.Join(fresh, "f"), "")
	bodytest.Write(t, filepath.Join(old, "f"), "")
	now := time.Now()
	if err := os.Chtimes(old, now, now.Add(-2*leftAfter)); err != nil {
		t.Fatal(err)
	}
	poll(t, NewPoller(ann, nil), now)
	if !disk.Exists(fresh) || disk.Exists(old) {
		t.Errorf("fresh: %v, old: %v", disk.Exists(fresh), disk.Exists(old))
	}
}

// wakes returns the channels that are news to an agent, and puts them before it.
func wakes(t *testing.T, x Box) []string {
	t.Helper()
	store := notice.Open(x.body)
	all, err := store.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range store.Delivered().News(all) {
		if c.Wakes() {
			names = append(names, c.Name)
		}
	}
	if err := store.Deliver(ctx, all); err != nil {
		t.Fatal(err)
	}
	return names
}

func TestL36MailWakesWhoSleeps(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	p := NewPoller(bob, nil)
	poll(t, p, noon)
	if got := wakes(t, bob); len(got) > 0 {
		t.Errorf("woken by %q", got)
	}
	send(t, ann, to("bob"), noon)
	poll(t, p, noon)
	if got := wakes(t, bob); !slices.Equal(got, []string{"email"}) {
		t.Errorf("woken by %q", got)
	}
}

func TestClass7MailWakesOnceAndNeverAgain(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	p := NewPoller(bob, nil)
	// It comes while the agent dozes off: after it looked, and before it sleeps.
	poll(t, p, noon)
	wakes(t, bob)
	first := send(t, ann, to("bob"), noon)
	second := send(t, ann, Draft{To: []string{"bob"}, Message: "another"}, noon.Add(time.Second))
	poll(t, p, noon)
	if got := wakes(t, bob); !slices.Equal(got, []string{"email"}) {
		t.Fatalf("woken by %q", got)
	}
	for i := range 5 { // no loop, and none after a restart either
		if i == 3 {
			p = NewPoller(bob, nil)
		}
		if got := poll(t, p, noon.Add(time.Duration(i)*time.Minute)); got.Changed {
			t.Errorf("poll %d changed the channel", i)
		}
		if got := wakes(t, bob); len(got) > 0 {
			t.Errorf("woken again by %q", got)
		}
	}
	// What the agent does to its own mail is no news to it.
	for _, id := range []string{first.ID, second.ID} {
		if _, err := bob.Dismiss(ctx, []string{id}); err != nil || bob.Mirror(ctx, noon) != nil {
			t.Fatal(err)
		}
		poll(t, p, noon)
		if got := wakes(t, bob); len(got) > 0 {
			t.Errorf("woken by what it did itself: %q", got)
		}
	}
	if disk.Exists(bob.body.Path(body.NoticeDir, "email.json")) {
		t.Error("the mirror of no unread mail is still there")
	}
}

func TestMirrorShowsTheNewestTenUnread(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	var ids []string
	for i := range 12 {
		d := Draft{To: []string{"bob"}, Subject: fmt.Sprint("number ", i), Message: strings.Repeat("é", maxPreview+i)}
		beat(t, bob, noon.Add(time.Duration(i)*time.Second))
		ids = append(ids, send(t, ann, d, noon.Add(time.Duration(i)*time.Second)).ID)
	}
	p := NewPoller(bob, nil)
	poll(t, p, noon)
	shown := func() (m mirror) {
		t.Helper()
		c, err := notice.Open(bob.body).Read(channel)
		if err != nil || c.Err != nil {
			t.Fatal(err, c.Err)
		}
		m.Count = int(c.Data().Number("count"))
		for _, raw := range texts(c.Data().Get("emails")) {
			t.Errorf("a text: %s", raw)
		}
		o, err := body.ParseObject([]byte(`{"x":` + string(c.Data().Get("emails")) + `}`))
		if err != nil {
			t.Fatal(err)
		}
		m.Emails = decode[[]head](t, o.Get("x"))
		return m
	}
	m := shown()
	if m.Count != 12 || len(m.Emails) != maxShown || m.Emails[0].ID != ids[11] || m.Emails[9].ID != ids[2] ||
		len([]rune(m.Emails[0].Preview)) != maxPreview || !m.Emails[0].Cut {
		t.Errorf("%+v", m)
	}
	if _, err := bob.Dismiss(ctx, ids[3:]); err != nil {
		t.Fatal(err)
	}
	poll(t, p, noon)
	if m := shown(); m.Count != 3 || m.Emails[0].ID != ids[2] || m.Emails[2].ID != ids[0] {
		t.Errorf("%+v", m)
	}
	if _, err := bob.Dismiss(ctx, ids); err != nil {
		t.Fatal(err)
	}
	if got := poll(t, p, noon); !got.Changed || got.Unread != 0 || disk.Exists(bob.body.Path(body.NoticeDir, "email.json")) {
		t.Errorf("at none unread: %+v", got)
	}
}

func TestBadReadFileDoesNotBringBackWhatWasRead(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	m := send(t, ann, to("bob"), noon)
	if _, err := bob.Dismiss(ctx, []string{m.ID}); err != nil {
		t.Fatal(err)
	}
	p := NewPoller(bob, nil)
	poll(t, p, noon)
	bodytest.Write(t, bob.path(readFile), `["half`)
	if got := poll(t, p, noon); got.Unread != 0 || got.Changed || len(got.Failed) != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestMirrorIsNotMadeForAHuman(t *testing.T) {
	net := network(t)
	ann, human := agent(t, net, "ann"), agent(t, net, "human")
	send(t, ann, to("human"), noon)
	if err := human.Mirror(ctx, noon); err != nil || disk.Exists(human.body.Path(body.NoticeDir)) {
		t.Errorf("%v; notifications: %v", err, disk.Exists(human.body.Path(body.NoticeDir)))
	}
}

func TestMirrorThatLostOneAndGotAnotherIsNews(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	p := NewPoller(bob, nil)
	var ids []string
	for i := range 12 {
		now := noon.Add(time.Duration(i) * time.Second)
		beat(t, bob, now)
		ids = append(ids, send(t, ann, Draft{To: []string{"bob"}, Message: fmt.Sprint(i)}, now).ID)
	}
	poll(t, p, noon)
	wakes(t, bob)
	for _, step := range []struct {
		what string
		do   func()
		news bool
	}{
		{"the newest read, an older one shown", func() {
			if _, err := bob.Dismiss(ctx, ids[11:]); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"one read, a new one there", func() {
			if _, err := bob.Dismiss(ctx, ids[10:11]); err != nil {
				t.Fatal(err)
			}
			beat(t, bob, noon.Add(time.Minute))
			send(t, ann, Draft{To: []string{"bob"}, Message: "new"}, noon.Add(time.Minute))
		}, true},
	} {
		step.do()
		poll(t, p, noon)
		if got := wakes(t, bob); len(got) > 0 != step.news {
			t.Errorf("%s: woken by %q", step.what, got)
		}
	}
}
