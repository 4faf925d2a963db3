package mail

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/fault"
)

func TestRefusedDraftLeavesNothing(t *testing.T) {
	net := network(t)
	ann, _ := agent(t, net, "ann"), agent(t, net, "bob")
	for _, c := range []struct {
		want  fault.Code
		says  string
		draft Draft
	}{
		{fault.BadInput, "no recipient", Draft{Message: "m"}},
		{fault.TooLarge, "101 recipients, more than 100", Draft{To: slices.Repeat([]string{"bob"}, 101), Message: "m"}},
		{fault.TooLarge, "message of 50001 characters, more than 50000",
			Draft{To: []string{"bob"}, Message: strings.Repeat("é", 50_001)}},
		{fault.BadInput, "message is no text", Draft{To: []string{"bob"}, Message: "\xff"}},
		{fault.BadInput, "message is no text", Draft{To: []string{"bob"}, Message: "a\x00b"}},
		{fault.BadInput, "a subject is one line", Draft{To: []string{"bob"}, Subject: "a\nb", Message: "m"}},
		{fault.TooLarge, "subject of 1001 characters", Draft{To: []string{"bob"}, Subject: strings.Repeat("s", 1001)}},
		{fault.BadInput, "message is empty", Draft{To: []string{"bob"}, Message: " \n"}},
		{fault.BadInput, "delay is negative", Draft{To: []string{"bob"}, Message: "m", Delay: -1}},
		{fault.BadInput, "no ID", Draft{To: []string{"bob"}, Message: "m", ID: "../x"}},
		{fault.BadInput, "no ID", Draft{To: []string{"bob"}, Message: "m", ID: ".x"}},
		{fault.BadInput, "id of 101 bytes", Draft{To: []string{"bob"}, Message: "m", ID: strings.Repeat("x", 101)}},
		{fault.BadInput, "no address", Draft{To: []string{"../bob"}, Message: "m"}},
		{fault.BadInput, "no address", Draft{CC: []string{"x/bob"}, Message: "m"}},
		{fault.BadInput, "no address", Draft{BCC: []string{`..\bob`}, Message: "m"}},
		{fault.BadInput, "no address", Draft{To: []string{".."}, Message: "m", Abs: true}},
		{fault.BadInput, "an address is empty", Draft{To: []string{""}, Message: "m"}},
		{fault.BadInput, "absolute address", Draft{To: []string{filepath.Join(net, "bob")}, Message: "m"}},
		{fault.BadInput, "cannot attach", Draft{To: []string{"bob"}, Attachments: []string{filepath.Join(net, "none")}}},
		{fault.BadInput, "cannot attach", Draft{To: []string{"bob"}, Attachments: []string{net}}},
		{fault.BadInput, "no name of a file", Draft{To: []string{"bob"}, Attachments: []string{net + "/.."}}},
	} {
		before := tree(t, net)
		_, _, err := ann.Send(ctx, c.draft, noon)
		if !fault.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("got %v, want %s: %s", err, c.want, c.says)
		}
		if after := tree(t, net); after != before {
			t.Errorf("%s: something was written:\n%s", c.says, after)
		}
	}
	if m := send(t, ann, Draft{To: []string{"bob"}, Message: strings.Repeat("é", 50_000)}, noon); m.status() != delivered {
		t.Errorf("a message of just as many characters as may be: %s", m.status())
	}
}

func TestThirdIdenticalMessageInARowIsRefused(t *testing.T) {
	net := network(t)
	ann, bob, _ := agent(t, net, "ann"), agent(t, net, "bob"), agent(t, net, "eve")
	now := noon
	try := func(d Draft) error {
		now = now.Add(time.Millisecond)
		m, _, err := ann.Send(ctx, d, now)
		if err == nil && d.Delay == 0 {
			_, err = ann.Deliver(ctx, m.ID, now)
		}
		return err
	}
	other := to("bob")
	other.Message = "another"
	for i, step := range []struct {
		draft   Draft
		refused bool
	}{
		{to("bob"), false}, {to("eve"), false}, {to("bob"), false}, {to("bob"), true}, {to("eve", "bob"), true},
		{to("eve"), false}, {other, false}, {to("bob"), false}, {to("bob"), false}, {to("bob"), true},
		// What reached nobody may be sent again.
		{to("zoe"), false}, {to("zoe"), false}, {to("zoe"), false}, {to("zoe"), false},
	} {
		err := try(step.draft)
		if refused := fault.Is(err, fault.Denied); refused != step.refused || err != nil && !refused {
			t.Errorf("step %d: %v, refused should be %v", i, err, step.refused)
		}
	}
	// What waits counts as well.
	slow := to("bob")
	slow.Message, slow.Delay = "later", time.Hour
	if err := try(slow); err != nil {
		t.Fatal(err)
	}
	again := to("bob")
	again.Message = "later"
	if err := try(again); err != nil {
		t.Fatal(err)
	}
	if err := try(again); !fault.Is(err, fault.Denied) {
		t.Errorf("third, of which one waits: %v", err)
	}
	if n := len(in(t, bob, Inbox)); n != 6 {
		t.Errorf("bob has %d", n)
	}
}

func TestKnownIDIsOneMessage(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	d := to("bob")
	d.ID = "run-42"
	for i := range 4 { // more often than identical messages may be sent
		m, known, err := ann.Send(ctx, d, noon)
		if err != nil || known != (i > 0) || m.ID != "run-42" {
			t.Fatalf("%v %v %s", err, known, m.ID)
		}
		if _, err := ann.Deliver(ctx, m.ID, noon); err != nil {
			t.Fatal(err)
		}
	}
	if got := in(t, bob, Inbox); !slices.Equal(got, []string{"run-42"}) {
		t.Errorf("bob has %q", got)
	}
	for what, change := range map[string]func(*Draft){
		"text":       func(d *Draft) { d.Message = "other" },
		"subject":    func(d *Draft) { d.Subject = "other" },
		"recipients": func(d *Draft) { d.CC = []string{"eve"} },
		"files": func(d *Draft) {
			bodytest.Write(t, filepath.Join(net, "f"), "")
			d.Attachments = []string{filepath.Join(net, "f")}
		},
	} {
		other := d
		change(&other)
		if _, _, err := ann.Send(ctx, other, noon); !fault.Is(err, fault.Exists) {
			t.Errorf("other %s: %v", what, err)
		}
	}
}

func TestClass13AttachmentsAreBaseNamesOnly(t *testing.T) {
	net := network(t)
	ann, bob, human := agent(t, net, "ann"), agent(t, net, "bob"), agent(t, net, "human")
	for _, name := range []string{"one/a.txt", "two/a.txt", "two/.profile", "b"} {
		bodytest.Write(t, filepath.Join(net, name), name)
	}
	m := send(t, ann, Draft{To: []string{"bob"}, Attachments: []string{
		filepath.Join(net, "one/a.txt"), filepath.Join(net, "two/a.txt"), filepath.Join(net, "two/.profile"),
	}}, noon)
	var got []string
	for _, path := range get(t, bob, Inbox, m.ID).Attachments() {
		got = append(got, strings.TrimPrefix(path, bob.path(Inbox, m.ID, filesDir))+" "+bodytest.Contents(t, path))
	}
	if want := []string{"/a.txt one/a.txt", "/a-2.txt two/a.txt", "/.profile two/.profile"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	// What another program's record says about paths leads nowhere on our side.
	bodytest.Write(t, human.body.Path("c.txt"), "of the human")
	letter(t, human, "x", fmt.Sprintf(`{"to":["bob"],"message":"m","attachments":[%q,"c.txt"]}`, net+"/one/../b"))
	letter(t, human, "y", `{"to":["bob"],"message":"m","attachments":["../../.."]}`)
	letter(t, human, "z", `{"to":["bob"],"message":"m","attachments":["a\u0000b"]}`)
	before := tree(t, net)
	poll(t, NewPoller(bob, DefaultSubscriptions), noon)
	for _, line := range strings.Split(tree(t, net), "\n") {
		if path, _, _ := strings.Cut(line, " "); !strings.Contains(before, path+" ") &&
			!strings.HasPrefix(path, bob.path()) && !strings.HasPrefix(path, human.path()) &&
			!strings.Contains(path, body.NoticeDir) {
			t.Errorf("something new outside the mailboxes: %s", path)
		}
	}
	if a := get(t, bob, Inbox, "x").Attachments(); len(a) != 2 || filepath.Base(a[0]) != "b" || bodytest.Contents(t, a[1]) != "of the human" {
		t.Errorf("attached: %q", a)
	}
	for _, id := range []string{"y", "z"} {
		if s := get(t, human, Sent, id); s.status() != bounced || bob.isEntry(Inbox, id) {
			t.Errorf("%s: %s", id, s.Compact())
		}
	}
	// Nor does what a received message says make us look elsewhere.
	bodytest.Write(t, bob.path(Inbox, "w", messageFile), `{"attachments":["/etc/passwd","../../init.json","..","sub/x"]}`)
	for _, path := range get(t, bob, Inbox, "w").Attachments() {
		if filepath.Dir(path) != bob.path(Inbox, "w", filesDir) {
			t.Errorf("leads to %s", path)
		}
	}
}

func TestClass13WritesAreWholeAndUTF8(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	text := "日本語 \U0001f600 <&> \u2028 \"q\" \\"
	m := send(t, ann, Draft{To: []string{"bob"}, Subject: "日本", Message: text}, noon)
	for _, x := range []Message{get(t, bob, Inbox, m.ID), get(t, ann, Sent, m.ID)} {
		if x.Body() != text || x.Subject() != "日本" {
			t.Errorf("%s", x.Compact())
		}
	}
	raw := bodytest.Contents(t, bob.path(Inbox, m.ID, messageFile))
	if !strings.Contains(raw, "日本語") || !strings.Contains(raw, "<&>") || !strings.HasSuffix(raw, "}\n") {
		t.Errorf("%s", raw)
	}
}

func TestClass12SameNameMisroute(t *testing.T) {
	top := network(t)
	here, there := filepath.Join(top, "here"), filepath.Join(top, "there")
	bob := agent(t, here, "bob")
	near := agent(t, here, "ann")
	far := agent(t, there, "ann")
	bodytest.Write(t, far.body.Path(body.ManifestFile), `{"agent_id":"20260101-000000-beef","admin":{}}`)
	// TestL67 follows the way back. Without one, an answer goes to nobody else.
	m := send(t, far, Draft{To: []string{bob.body.Dir()}, Message: "m", Abs: true}, noon)
	got := get(t, bob, Inbox, m.ID)
	got.Delete("_return_route")
	bodytest.Write(t, bob.path(Inbox, m.ID, messageFile), string(got.Compact()))
	if _, err := bob.Reply(m.ID); !fault.Is(err, fault.Stale) {
		t.Errorf("answered another ann: %v", err)
	}
	// A contact of that name, and an agent here: which is meant?
	name := "ann"
	if _, err := bob.AddContact(ctx, far.body.Dir(), Change{Name: &name}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := bob.Send(ctx, to("ann"), noon); !fault.Is(err, fault.Denied) || !strings.Contains(err.Error(), far.body.Dir()) {
		t.Errorf("sent to one of two: %v", err)
	}
	if _, err := bob.Reply(m.ID); !fault.Is(err, fault.Denied) {
		t.Errorf("answered one of two: %v", err)
	}
	if d := send(t, bob, Draft{To: []string{near.body.Dir()}, Message: "m", Abs: true}, noon); d.status() != delivered {
		t.Errorf("%s", d.Compact())
	}
	// A name that two agents go by.
	for _, x := range []Box{agent(t, here, "eve"), agent(t, here, "zoe")} {
		bodytest.Write(t, x.body.Path(body.ManifestFile), `{"agent_name":"Twin","admin":{}}`)
	}
	if _, _, err := bob.Send(ctx, to("Twin"), noon); !fault.Is(err, fault.Denied) {
		t.Errorf("sent to one of two of a name: %v", err)
	}
	if m := send(t, bob, to("bob the Agent"), noon); m.plan()[0].Address != "bob" {
		t.Errorf("a name that only one has: %s", m.Compact())
	}
}

func TestL67ReplyGoesWhereItCameFrom(t *testing.T) {
	top := network(t)
	here, there := filepath.Join(top, "here"), filepath.Join(top, "there")
	bob, near, far := agent(t, here, "bob"), agent(t, here, "ann"), agent(t, there, "ann")
	m := send(t, far, Draft{To: []string{bob.body.Dir()}, Subject: "plan", Message: "m", Abs: true}, noon)
	got := get(t, bob, Inbox, m.ID)
	route := got.Sub("_return_route")
	if got.From() != "ann" || route.Text("mode") != "abs" || route.Text("address") != far.body.Dir() ||
		route.Text("sender_agent_id") != far.body.Manifest().AgentID() {
		t.Errorf("%s", got.Compact())
	}
	answer := func(id, want string) Message {
		t.Helper()
		d, err := bob.Reply(id)
		if err != nil || d.Subject != want {
			t.Fatalf("%v, %q", err, d.Subject)
		}
		d.Message = "answer"
		return send(t, bob, d, noon)
	}
	a := answer(m.ID, "Re: plan")
	if len(in(t, near, Inbox)) > 0 || get(t, far, Inbox, a.ID).Body() != "answer" {
		t.Errorf("near has %q, far %q", in(t, near, Inbox), in(t, far, Inbox))
	}
	// And from beside: to beside, and Re: stays one.
	m = send(t, near, Draft{To: []string{"bob"}, Subject: "RE: plan", Message: "m"}, noon)
	if r := get(t, bob, Inbox, m.ID).Get("_return_route"); r != nil {
		t.Errorf("a way back for a neighbour: %s", r)
	}
	a = answer(m.ID, "RE: plan")
	if get(t, near, Inbox, a.ID).Body() != "answer" || len(in(t, far, Inbox)) != 1 {
		t.Errorf("near has %q, far %q", in(t, near, Inbox), in(t, far, Inbox))
	}
	// A human's too.
	human := agent(t, here, "human")
	letter(t, human, "h", `{"to":["bob"],"subject":"a\u001b[31m\nb","message":"m"}`)
	poll(t, NewPoller(bob, DefaultSubscriptions), noon)
	a = answer("h", "Re: a [31m b")
	if get(t, human, Inbox, a.ID).Body() != "answer" {
		t.Errorf("human has %q", in(t, human, Inbox))
	}
	// Who has gone and come back as another is not the sender.
	bodytest.Write(t, far.body.Path(body.ManifestFile), `{"agent_id":"20990101-000000-ffff","admin":{}}`)
	ids := in(t, bob, Inbox)
	slices.SortFunc(ids, func(a, b string) int { return get(t, bob, Inbox, a).SentAt().Compare(get(t, bob, Inbox, b).SentAt()) })
	for _, id := range ids {
		if get(t, bob, Inbox, id).Get("_return_route") != nil {
			if _, err := bob.Reply(id); !fault.Is(err, fault.Stale) {
				t.Errorf("answered another: %v", err)
			}
		}
	}
	for _, id := range []string{a.ID, "none", "../x"} {
		if _, err := bob.Reply(id); err == nil {
			t.Errorf("answered %q", id)
		}
	}
}
