package mail

import (
	"encoding/json"
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

func decode[T any](t *testing.T, data []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestReadFileWithBadJSON(t *testing.T) {
	for what, text := range map[string]string{
		"torn": `["a","b`, "an object": `{"a":1}`, "empty": ``, "binary": "\x00\xff", "number": `3`,
	} {
		t.Run(what, func(t *testing.T) {
			net := network(t)
			ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
			m := send(t, ann, to("bob"), noon)
			bodytest.Write(t, bob.path(readFile), text)
			all, skipped, err := bob.Check(Filter{Unread: true})
			if err != nil || len(all) != 1 || len(skipped) != 1 || bodytest.Contents(t, bob.path(readFile)) != text {
				t.Errorf("%v, %d unread, %v", err, len(all), skipped)
			}
			done, err := bob.Dismiss(ctx, []string{m.ID})
			if err != nil || !slices.Equal(done.Dismissed, []string{m.ID}) {
				t.Fatalf("%v %+v", err, done)
			}
			if got := bodytest.Contents(t, bob.path(readFile)); got != fmt.Sprintf("[%q]\n", m.ID) {
				t.Errorf("read.json: %s", got)
			}
			if got := bodytest.Contents(t, bob.path(readFile+".malformed")); got != text {
				t.Errorf("put aside: %q", got)
			}
		})
	}
}

func TestDismissSaysWhatItDid(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	first, second := send(t, ann, to("bob"), noon), send(t, ann, to("bob"), noon)
	if _, err := bob.Dismiss(ctx, []string{first.ID}); err != nil {
		t.Fatal(err)
	}
	done, err := bob.Dismiss(ctx, []string{second.ID, "none", first.ID, second.ID})
	if err != nil || !slices.Equal(done.Dismissed, []string{second.ID}) ||
		!slices.Equal(done.Already, []string{first.ID}) || !slices.Equal(done.NotFound, []string{"none"}) {
		t.Errorf("%v %+v", err, done)
	}
	before := tree(t, bob.body.Dir())
	if _, err := bob.Dismiss(ctx, []string{first.ID, "../../x"}); !fault.Is(err, fault.BadInput) {
		t.Errorf("got %v", err)
	}
	if tree(t, bob.body.Dir()) != before {
		t.Error("a refusal wrote something")
	}
}

func TestDismissalsAtOnceAreAllKept(t *testing.T) {
	bob := agent(t, network(t), "bob")
	var ids []string
	for i := range 20 {
		ids = append(ids, fmt.Sprint("id", i))
		bodytest.Write(t, bob.path(Inbox, ids[i], messageFile), `{}`)
	}
	var all sync.WaitGroup
	for _, id := range ids {
		all.Go(func() {
			if _, err := bob.Dismiss(ctx, []string{id}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	read, err := bob.read()
	slices.Sort(ids)
	if err != nil || !slices.Equal(read, ids) {
		t.Errorf("%v %q", err, read)
	}
}

func TestArchiveAndDelete(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	m := send(t, ann, to("bob"), noon)
	if r, err := bob.Archive(ctx, m.ID); err != nil || r.From != Inbox || r.To != Archive {
		t.Fatalf("%v %+v", err, r)
	}
	if len(in(t, bob, Inbox)) > 0 || get(t, bob, Archive, m.ID).Body() != "m" {
		t.Error("not moved")
	}
	for id, want := range map[string]fault.Code{m.ID: fault.Exists, "none": fault.UnknownEntry, "a/b": fault.BadInput, "": fault.BadInput} {
		if _, err := bob.Archive(ctx, id); !fault.Is(err, want) {
			t.Errorf("archive %q: %v", id, err)
		}
	}
	if _, err := ann.Delete(ctx, m.ID); !fault.Is(err, fault.Denied) || !ann.isEntry(Sent, m.ID) {
		t.Errorf("deleted what was sent: %v", err)
	}
	if r, err := bob.Delete(ctx, m.ID); err != nil || r.From != Archive || r.To != "" {
		t.Errorf("%v %+v", err, r)
	}
	if _, err := bob.Delete(ctx, m.ID); !fault.Is(err, fault.UnknownEntry) {
		t.Errorf("twice: %v", err)
	}
	second := send(t, ann, to("bob"), noon)
	if r, err := bob.Delete(ctx, second.ID); err != nil || r.From != Inbox {
		t.Errorf("%v %+v", err, r)
	}
	bodytest.Write(t, bob.path(Inbox, "bad", messageFile), "{") // also what nobody can read
	if _, err := bob.Delete(ctx, "bad"); err != nil || bob.isEntry(Inbox, "bad") {
		t.Errorf("%v", err)
	}
	temporaries(t, bob)
}

func TestDeletedAreRememberedInBounds(t *testing.T) {
	bob := agent(t, network(t), "bob")
	marks := make([]string, maxDeleted)
	for i := range marks {
		marks[i] = fmt.Sprint(i)
	}
	line, _ := json.Marshal(marks)
	bodytest.Write(t, bob.path(deletedFile), string(line))
	bodytest.Write(t, bob.path(Inbox, "a", messageFile), `{}`)
	mark := get(t, bob, Inbox, "a").mark()
	if _, err := bob.Delete(ctx, "a"); err != nil {
		t.Fatal(err)
	}
	if got := bob.deleted(); len(got) != maxDeleted || got[0] != "1" || got[maxDeleted-1] != mark {
		t.Errorf("%d, %q ... %q", len(got), got[0], got[len(got)-1])
	}
}

func TestCheckFilters(t *testing.T) {
	bob := agent(t, network(t), "bob")
	for i, text := range []string{
		`"from":"ann","subject":"Plan","message":"first"`,
		`"from":"eve","identity":{"agent_name":"Evelyn"},"subject":"plan B","message":"second"`,
		`"from":"ann","subject":"other","message":"Third","attachments":["f"]`,
	} {
		at := noon.Add(time.Duration(i) * time.Hour).Format(time.RFC3339)
		bodytest.Write(t, bob.path(Inbox, fmt.Sprint(i), messageFile), fmt.Sprintf(`{%s,"received_at":%q}`, text, at))
	}
	bodytest.Write(t, bob.path(readFile), `["0"]`)
	for what, c := range map[string]struct {
		filter Filter
		want   string
	}{
		"all":             {Filter{}, "2 1 0"},
		"oldest":          {Filter{Oldest: true}, "0 1 2"},
		"count":           {Filter{Count: 2}, "2 1"},
		"oldest count":    {Filter{Oldest: true, Count: 1}, "0"},
		"from":            {Filter{From: "ANN"}, "2 0"},
		"from by name":    {Filter{From: "evelyn"}, "1"},
		"subject":         {Filter{Subject: "plan"}, "1 0"},
		"contains":        {Filter{Contains: "third"}, "2"},
		"contains too":    {Filter{Contains: "PLAN b"}, "1"},
		"after":           {Filter{After: noon}, "2 1"},
		"before":          {Filter{Before: noon.Add(time.Hour)}, "0"},
		"unread":          {Filter{Unread: true}, "2 1"},
		"attachments":     {Filter{Attachments: true}, "2"},
		"several":         {Filter{From: "ann", Unread: true, Subject: "o"}, "2"},
		"none":            {Filter{From: "zoe"}, ""},
		"another folder":  {Filter{Folder: Archive}, ""},
		"the same folder": {Filter{Folder: Inbox, Count: 1}, "2"},
	} {
		all, skipped, err := bob.Check(c.filter)
		var ids []string
		for _, m := range all {
			ids = append(ids, m.ID)
		}
		if got := strings.Join(ids, " "); got != c.want || err != nil || len(skipped) > 0 {
			t.Errorf("%s: %q, %v, %v", what, got, err, skipped)
		}
	}
	if _, _, err := bob.Check(Filter{Folder: "../inbox"}); !fault.Is(err, fault.BadInput) {
		t.Errorf("got %v", err)
	}
	if _, _, err := bob.Check(Filter{Count: -1}); !fault.Is(err, fault.BadInput) {
		t.Errorf("got %v", err)
	}
	for i := range 12 {
		bodytest.Write(t, bob.path(Archive, fmt.Sprint("x", i), messageFile), `{}`)
	}
	if all, _, err := bob.Check(Filter{Folder: Archive}); len(all) != DefaultCount || err != nil {
		t.Errorf("%d by default, %v", len(all), err)
	}
}

func TestTextIsCutAtFiveHundredCharacters(t *testing.T) {
	bob := agent(t, network(t), "bob")
	for n, want := range map[int]bool{Preview: false, Preview + 1: true} {
		bodytest.Write(t, bob.path(Inbox, "a", messageFile), fmt.Sprintf(`{"message":%q}`, strings.Repeat("é", n)))
		m := get(t, bob, Inbox, "a")
		if r := m.Record(Preview); r.Cut != want || len([]rune(r.Message)) != Preview {
			t.Errorf("%d: cut %v, %d characters", n, r.Cut, len([]rune(r.Message)))
		}
		if r := m.Record(-1); r.Cut || len([]rune(r.Message)) != n {
			t.Errorf("whole: cut %v, %d characters", r.Cut, len([]rune(r.Message)))
		}
	}
}

func TestSearchLooksInInboxAndSent(t *testing.T) {
	net := network(t)
	ann, bob := agent(t, net, "ann"), agent(t, net, "bob")
	send(t, ann, Draft{To: []string{"bob"}, Subject: "alpha", Message: "x"}, noon)
	send(t, bob, Draft{To: []string{"ann"}, Subject: "y", Message: "ALPHA two"}, noon.Add(time.Second))
	bodytest.Write(t, bob.path(Archive, "a", messageFile), `{"subject":"alpha"}`)
	for pattern, want := range map[string]int{"alpha": 2, "^alpha$": 1, "al.*two": 1, "^ann$": 2, "beta": 0} {
		all, skipped, err := bob.Search(pattern, 0)
		if len(all) != want || len(skipped) > 0 || err != nil {
			t.Errorf("%s: %d, %v, %v", pattern, len(all), skipped, err)
		}
	}
	if all, _, err := bob.Search("alpha", 1); len(all) != 1 || all[0].Folder != Sent || err != nil {
		t.Errorf("%v, %+v", err, all)
	}
	for _, bad := range []string{"(", "", strings.Repeat("a", maxPattern+1)} {
		if _, _, err := bob.Search(bad, 0); !fault.Is(err, fault.BadInput) {
			t.Errorf("%.10q: %v", bad, err)
		}
	}
}

func TestContacts(t *testing.T) {
	ann := agent(t, network(t), "ann")
	text := func(s string) *string { return &s }
	if all, err := ann.Contacts(); len(all) > 0 || err != nil {
		t.Fatalf("%v %v", all, err)
	}
	for i := range 2 { // the second time it is changed
		r, err := ann.AddContact(ctx, "bob", Change{Name: text(fmt.Sprint("Bob ", i))})
		if err != nil || r.Name != fmt.Sprint("Bob ", i) || r.Address != "bob" {
			t.Fatalf("%v %+v", err, r)
		}
	}
	if _, err := ann.AddContact(ctx, "/far/eve", Change{Note: text("n")}); err != nil {
		t.Fatal(err)
	}
	if r, err := ann.EditContact(ctx, "bob", Change{Note: text("two\nlines")}); err != nil || r.Name != "Bob 1" || r.Note != "two\nlines" {
		t.Errorf("%v %+v", err, r)
	}
	before := bodytest.Contents(t, ann.path(contactsFile))
	if want := `[
  {
    "address": "bob",
    "name": "Bob 1",
    "note": "two\nlines"
  },
  {
    "address": "/far/eve",
    "name": "",
    "note": "n"
  }
]
`; before != want {
		t.Errorf("contacts.json:\n%s", before)
	}
	_, unknownEdit := ann.EditContact(ctx, "zoe", Change{})
	_, unknownRemove := ann.RemoveContact(ctx, "Bob 1") // by address alone
	_, badAddress := ann.AddContact(ctx, "a/b", Change{})
	_, badName := ann.AddContact(ctx, "zoe", Change{Name: text("a\nb")})
	for err, want := range map[error]fault.Code{
		unknownEdit: fault.UnknownParticipant, unknownRemove: fault.UnknownParticipant,
		badAddress: fault.BadInput, badName: fault.BadInput,
	} {
		if !fault.Is(err, want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if bodytest.Contents(t, ann.path(contactsFile)) != before {
		t.Error("a refusal wrote something")
	}
	if r, err := ann.RemoveContact(ctx, "bob"); err != nil || !r.Removed || r.Name != "Bob 1" {
		t.Errorf("%v %+v", err, r)
	}
	if all, err := ann.Contacts(); len(all) != 1 || err != nil {
		t.Errorf("%v %v", all, err)
	}
	for _, bad := range []string{`[{"address":"bob"}`, `{"bob":1}`, `[null]`, `[1]`} {
		bodytest.Write(t, ann.path(contactsFile), bad)
		if _, err := ann.AddContact(ctx, "eve", Change{}); !fault.Is(err, fault.Corrupt) || bodytest.Contents(t, ann.path(contactsFile)) != bad {
			t.Errorf("%s: %v", bad, err)
		}
		// Mail goes on all the same.
		if _, err := ann.Resolve("bob", false); err != nil {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestContactsAddedAtOnceAreAllKept(t *testing.T) {
	ann := agent(t, network(t), "ann")
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if _, err := ann.AddContact(ctx, fmt.Sprint("agent", i), Change{}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if got, err := ann.Contacts(); len(got) != 20 || err != nil {
		t.Errorf("%d, %v", len(got), err)
	}
}

func TestFindLooksEverywhere(t *testing.T) {
	bob := agent(t, network(t), "bob")
	for _, folder := range Folders {
		bodytest.Write(t, bob.path(folder, "in-"+folder, messageFile), `{}`)
		m, err := bob.Find("in-" + folder)
		if err != nil || m.Folder != folder || m.Read != (folder != Inbox) {
			t.Errorf("%s: %v %+v", folder, err, m)
		}
	}
	bodytest.Write(t, bob.path(Inbox, "bad", messageFile), `{`)
	for id, want := range map[string]fault.Code{
		"none": fault.UnknownEntry, "../inbox/in-inbox": fault.BadInput, ".tmp": fault.BadInput, "bad": fault.Corrupt,
		strings.Repeat("x", maxID+1): fault.BadInput,
	} {
		if _, err := bob.Find(id); !fault.Is(err, want) {
			t.Errorf("%.20q: %v", id, err)
		}
	}
}

func TestLinkInPlaceOfAMessageIsNotFollowed(t *testing.T) {
	net := network(t)
	bob := agent(t, net, "bob")
	bodytest.Write(t, filepath.Join(net, "secret"), `{"message":"secret"}`)
	if err := os.MkdirAll(bob.path(Inbox, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(net, "secret"), bob.path(Inbox, "a", messageFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := bob.Find("a"); !fault.Is(err, fault.Corrupt) {
		t.Errorf("got %v", err)
	}
	if all, skipped, err := bob.Check(Filter{}); len(all) > 0 || len(skipped) != 1 || err != nil {
		t.Errorf("%v %v %v", all, skipped, err)
	}
}

func TestHugeMessageOfAnotherProgramIsSkipped(t *testing.T) {
	bob := agent(t, network(t), "bob")
	bodytest.Write(t, bob.path(Inbox, "a", messageFile), `{"message":"`+strings.Repeat("x", maxFile)+`"}`)
	bodytest.Write(t, bob.path(Inbox, "b", messageFile), `{"from":"`+strings.Repeat("x", maxFile-100)+`"}`)
	if all, skipped, err := bob.Check(Filter{}); len(all) != 1 || len(skipped) != 1 || err != nil {
		t.Errorf("%d %v %v", len(all), skipped, err)
	}
	if got := poll(t, NewPoller(bob, nil), noon); got.Unread != 1 || !got.Changed {
		t.Errorf("%+v", got.Failed)
	}
}

func TestBusyLockIsSaid(t *testing.T) {
	net := network(t)
	ann, _ := agent(t, net, "ann"), agent(t, net, "bob")
	for _, lock := range []func() (func(), error){
		func() (func(), error) { return ann.take(ctx) },
		func() (func(), error) { return ann.lock(ctx) },
	} {
		unlock, err := lock()
		if err != nil {
			t.Fatal(err)
		}
		x := ann.Within(time.Millisecond)
		_, _, send := x.Send(ctx, to("bob"), noon)
		_, dismiss := x.Dismiss(ctx, []string{"a"})
		if fault.Is(send, fault.Busy) == fault.Is(dismiss, fault.Busy) {
			t.Errorf("send: %v; dismiss: %v", send, dismiss)
		}
		unlock()
	}
	if ids := in(t, ann, Outbox); len(ids) > 1 {
		t.Errorf("outbox: %q", ids)
	}
}

func TestTimesOfOthersAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-30T12:00:00Z": "2026-11-30T12:00:00.000Z", "2026-11-30T13:00:00.5+01:00": "2026-11-30T12:00:00.500Z",
		"2026-11-30T12:00:00.123456": "2026-11-30T12:00:00.123Z", "20261130T120000": "2026-11-30T12:00:00.000Z",
		"noon": "", "": "",
	} {
		if got := timeText(parseTime(text)); got != want {
			t.Errorf("%s: %s", text, got)
		}
	}
	if at := (Message{ID: "20261130T120000-abcd", Object: &body.Object{}}).Time(); !at.Equal(noon) {
		t.Errorf("from the ID: %v", at)
	}
}

func TestEmptyMailboxReads(t *testing.T) {
	ann := agent(t, network(t), "ann")
	before := tree(t, ann.body.Dir())
	for _, folder := range Folders {
		if all, skipped, err := ann.Check(Filter{Folder: folder}); len(all)+len(skipped) > 0 || err != nil {
			t.Errorf("%s: %v %v %v", folder, all, skipped, err)
		}
	}
	if _, err := ann.Find("a"); !fault.Is(err, fault.UnknownEntry) {
		t.Errorf("got %v", err)
	}
	if tree(t, ann.body.Dir()) != before || disk.Exists(ann.path()) {
		t.Error("a reader wrote something")
	}
}
