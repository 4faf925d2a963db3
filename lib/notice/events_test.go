package notice_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
)

func bodies(t *testing.T, s notice.Store) (all []string) {
	t.Helper()
	for _, e := range notice.Events(read(t, s, notice.System)) {
		all = append(all, e.Body)
	}
	return all
}

func TestAnEvent(t *testing.T) {
	s := store(t, nil)
	e := publish(t, s, notice.Event{Source: "email.bounce", Ref: "r", Body: "<b>"})
	if !regexp.MustCompile(`^evt_[0-9a-f]+_[0-9a-f]{16}$`).MatchString(e.ID) || e.At != "2026-11-30T12:00:00.000Z" {
		t.Errorf("got %+v", e)
	}
	text, _ := os.ReadFile(file(s, "system"))
	want := fmt.Sprintf(`"data":{"events":[{"event_id":%q,"source":"email.bounce","ref_id":"r","body":"<b>","at":"2026-11-30T12:00:00.000Z"}]}`, e.ID)
	if !strings.Contains(string(text), want) || !strings.Contains(string(text), `"header":"1 system event"`) {
		t.Errorf("got %s", text)
	}
	publish(t, s, notice.Event{Source: "x", Priority: notice.High})
	publish(t, s, notice.Event{Source: "x", Priority: notice.Low})
	c := read(t, s, notice.System)
	if c.Object.Text("priority") != notice.High || c.Object.Text("header") != "3 system events" {
		t.Errorf("got %s", c.Object.Compact())
	}
	for _, bad := range []notice.Event{{}, {Source: "x", Priority: "urgent"}} {
		if _, _, err := s.Publish(t.Context(), bad, noon); !fault.Is(err, fault.BadInput) {
			t.Errorf("%+v: got %v", bad, err)
		}
	}
}

func TestTheNewestTwentyEventsAreKept(t *testing.T) {
	s := store(t, nil)
	for i := range 25 {
		publish(t, s, notice.Event{Source: "x", Body: fmt.Sprint(i)})
	}
	got := bodies(t, s)
	if len(got) != 20 || got[0] != "5" || got[19] != "24" {
		t.Errorf("got %q", got)
	}
	if header := read(t, s, notice.System).Object.Text("header"); header != "20 system events" {
		t.Errorf("got %q", header)
	}
}

func TestAKnownKeyIsNotPublishedAgain(t *testing.T) {
	s := store(t, nil)
	first := publish(t, s, notice.Event{Source: "x", Key: "k", Ref: "r"})
	again, published, err := s.Publish(t.Context(), notice.Event{Source: "y", Key: "k"}, noon)
	if err != nil || published || again != first {
		t.Errorf("got %+v, %v, %v", again, published, err)
	}
	if _, published, err := s.PublishOnce(t.Context(), notice.Event{Source: "x", Ref: "r"}, noon); published || err != nil {
		t.Errorf("got %v, %v", published, err)
	}
	publish(t, s, notice.Event{Source: "x", Ref: "r"}) // a ref may come often
	publish(t, s, notice.Event{Source: "x"})
	publish(t, s, notice.Event{Source: "x"}) // no key is no known key
	if got := len(bodies(t, s)); got != 4 {
		t.Errorf("got %d", got)
	}
}

func TestForeignEventsStayAsTheyAre(t *testing.T) {
	s := store(t, map[string]string{".notification/system.json": `{"data":{"events":[{"event_id":"a","n":1.50},7,"x",{}],"more":true}}`})
	publish(t, s, notice.Event{Source: "x", Body: "new"})
	text, _ := os.ReadFile(file(s, "system"))
	if !strings.Contains(string(text), `{"events":[{"event_id":"a","n":1.50},7,"x",{},{"event_id":"evt_`) || !strings.Contains(string(text), `"more":true`) {
		t.Errorf("got %s", text)
	}
	if got := notice.Events(read(t, s, notice.System)); len(got) != 2 || got[0].ID != "a" {
		t.Errorf("got %+v", got)
	}
	for _, odd := range []string{`{`, `[]`, `{"data":[]}`, `{"data":{"events":{}}}`, `{"data":{"events":null}}`} {
		s := store(t, map[string]string{".notification/system.json": odd})
		publish(t, s, notice.Event{Source: "x", Body: "new"})
		if got := bodies(t, s); len(got) != 1 {
			t.Errorf("%s: got %q", odd, got)
		}
	}
}

func TestClass4AStaleDismissalKeepsTheUnseenEvent(t *testing.T) {
	s := store(t, nil)
	publish(t, s, notice.Event{Source: "x", Body: "seen"})
	_, err := s.DismissChannel(t.Context(), notice.Dismissal{Channel: "system"})
	refused(t, "never delivered", err, fault.Stale, notice.StaleVersion)
	deliver(t, s)
	seen := read(t, s, "system").Version
	publish(t, s, notice.Event{Source: "x", Body: "unseen"})
	_, err = s.DismissChannel(t.Context(), notice.Dismissal{Channel: "system"})
	refused(t, "changed", err, fault.Stale, notice.StaleVersion)
	_, err = s.DismissChannel(t.Context(), notice.Dismissal{Channel: "system", Seen: &seen})
	refused(t, "changed since the caller saw it", err, fault.Stale, notice.StaleVersion)
	if got := bodies(t, s); len(got) != 2 {
		t.Errorf("got %q", got)
	}
	deliver(t, s)
	done, err := s.DismissChannel(t.Context(), notice.Dismissal{Channel: "system"})
	if err != nil || done != (notice.Cleared{Channel: "system", Cleared: true, Removed: 2}) || disk.Exists(file(s, "system")) {
		t.Errorf("got %+v, %v", done, err)
	}
	c := put(t, s, "cron") // what the caller saw itself will do
	if _, err := s.DismissChannel(t.Context(), notice.Dismissal{Channel: "cron", Seen: &c.Version}); err != nil {
		t.Error(err)
	}
	publish(t, s, notice.Event{Source: "x"})
	done, err = s.DismissChannel(t.Context(), notice.Dismissal{Channel: "system", Force: true})
	if err != nil || !done.Cleared || !done.Forced {
		t.Errorf("got %+v, %v", done, err)
	}
}

func TestL60GuardAndForce(t *testing.T) {
	const mail = `{"seen":[]}`
	for _, c := range []struct {
		channel           string
		delivered         bool
		force             bool
		reason            string
		code              fault.Code
		want              notice.Reason
		why               notice.Reason
		absent, malformed bool
	}{
		{channel: "goal", delivered: true, code: fault.Denied, want: notice.Protected},
		{channel: "goal", delivered: true, force: true, code: fault.Denied, want: notice.Protected},
		{channel: "goal", absent: true, force: true, code: fault.Denied, want: notice.Protected},
		{channel: "email", delivered: true, code: fault.Denied, want: notice.ProducerGuarded},
		{channel: "email", absent: true, code: fault.Denied, want: notice.ProducerGuarded},
		{channel: "email", delivered: true, force: true},
		{channel: "email", force: true},
		{channel: "email", force: true, absent: true, why: notice.AlreadyEmpty},
		{channel: "post-molt", delivered: true, code: fault.BadInput, want: notice.MissingAckReason},
		{channel: "post-molt", delivered: true, force: true, code: fault.BadInput, want: notice.MissingAckReason},
		{channel: "post-molt", delivered: true, reason: "read"},
		{channel: "post-molt", reason: "read", code: fault.Stale, want: notice.StaleVersion},
		{channel: "post-molt", reason: "read", force: true},
		{channel: "cron", delivered: true},
		{channel: "cron", code: fault.Stale, want: notice.StaleVersion},
		{channel: "cron", force: true},
		{channel: "cron", absent: true, why: notice.AlreadyEmpty},
		{channel: "mcp.telegram", delivered: true},
		{channel: "mcp.telegram", code: fault.Stale, want: notice.StaleVersion},
		{channel: "legacy", malformed: true, code: fault.Stale, want: notice.StaleVersion},
		{channel: "legacy", malformed: true, force: true},
	} {
		what := fmt.Sprintf("%+v", c)
		s := store(t, map[string]string{"mailbox/read.json": mail})
		switch {
		case c.malformed:
			do(t, os.MkdirAll(s.Body().Path(body.NoticeDir), 0o700))
			do(t, os.WriteFile(file(s, c.channel), []byte("{"), 0o600))
		case !c.absent:
			put(t, s, c.channel)
		}
		if c.delivered {
			deliver(t, s)
		}
		done, err := s.DismissChannel(t.Context(), notice.Dismissal{Channel: c.channel, Force: c.force, Reason: c.reason})
		if c.want != "" {
			refused(t, what, err, c.code, c.want)
			if disk.Exists(file(s, c.channel)) == c.absent {
				t.Errorf("%s: cleared all the same", what)
			}
			continue
		}
		want := notice.Cleared{Channel: c.channel, Cleared: c.why == "", Forced: c.force, Why: c.why}
		if want.Cleared {
			want.Removed = 1
		}
		if err != nil || done != want || disk.Exists(file(s, c.channel)) {
			t.Errorf("%s: got %+v, %v", what, done, err)
		}
		if text, _ := os.ReadFile(s.Body().Path("mailbox/read.json")); string(text) != mail {
			t.Errorf("%s: the producer's state is now %s", what, text)
		}
	}
	s := store(t, nil)
	_, err := s.DismissChannel(t.Context(), notice.Dismissal{Channel: "email"})
	if hint := fault.From(err).Hint; !strings.Contains(hint, "substrate-mail") {
		t.Errorf("the producer's verb is not named: %q", hint)
	}
}

func TestDismissingEvents(t *testing.T) {
	s := store(t, nil)
	is := func(what string, got notice.Cleared, err error, want notice.Cleared) {
		t.Helper()
		want.Channel = "system"
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", what, got, err)
		}
	}
	got, err := s.DismissEvent(t.Context(), "evt_1", noon)
	is("none", got, err, notice.Cleared{Why: notice.AlreadyEmpty})
	a := publish(t, s, notice.Event{Source: "x", Ref: "r", Body: "a"})
	publish(t, s, notice.Event{Source: "x", Ref: "r", Body: "b"})
	publish(t, s, notice.Event{Source: "x", Ref: "q", Body: "c"})
	publish(t, s, notice.Event{Source: "x", Body: "d"})
	got, err = s.DismissEvent(t.Context(), "evt_1", noon)
	is("another", got, err, notice.Cleared{Remaining: 4, Why: notice.NoMatchingEvent})
	got, err = s.DismissEvent(t.Context(), a.ID, noon)
	is("one", got, err, notice.Cleared{Cleared: true, Removed: 1, Remaining: 3})
	got, err = s.DismissEvent(t.Context(), a.ID, noon)
	is("again", got, err, notice.Cleared{Remaining: 3, Why: notice.NoMatchingEvent})
	publish(t, s, notice.Event{Source: "x", Ref: "q", Body: "e"})
	got, err = s.DismissRef(t.Context(), "q", noon)
	is("a ref", got, err, notice.Cleared{Cleared: true, Removed: 2, Remaining: 2})
	if all := bodies(t, s); len(all) != 2 || all[0] != "b" || all[1] != "d" {
		t.Errorf("got %q", all)
	}
	for _, e := range notice.Events(read(t, s, "system")) {
		_, err = s.DismissEvent(t.Context(), e.ID, noon)
		do(t, err)
	}
	if disk.Exists(file(s, "system")) {
		t.Error("the last event left the file")
	}
	_, err = s.DismissEvent(t.Context(), "", noon)
	refused(t, "no id", err, fault.BadInput, "")
	_, err = s.DismissRef(t.Context(), "", noon)
	refused(t, "no ref", err, fault.BadInput, "")
}

func TestOnesOwnDismissalIsNoNews(t *testing.T) {
	s := store(t, nil)
	a := publish(t, s, notice.Event{Source: "x", Body: "a"})
	b := publish(t, s, notice.Event{Source: "x", Body: "b"})
	publish(t, s, notice.Event{Source: "x", Body: "c"})
	deliver(t, s)
	_, err := s.DismissEvent(t.Context(), a.ID, noon)
	do(t, err)
	if got := news(t, s); got != "" {
		t.Errorf("got %q", got)
	}
	publish(t, s, notice.Event{Source: "x", Body: "unseen"})
	_, err = s.DismissEvent(t.Context(), b.ID, noon)
	do(t, err)
	if got := news(t, s); got != "system" {
		t.Errorf("the unseen event is lost: got %q", got)
	}
	_, err = s.DismissChannel(t.Context(), notice.Dismissal{Channel: "system"})
	refused(t, "unseen", err, fault.Stale, notice.StaleVersion)
}

func TestClass5WhatWasDismissedDoesNotComeBack(t *testing.T) {
	dir := store(t, nil).Body().Dir()
	open := func() notice.Store { // as after a restart: nothing is kept in memory
		b, err := body.Open(dir)
		do(t, err)
		return notice.Open(b)
	}
	mirror := func() bool {
		_, published, err := open().Publish(t.Context(), notice.Event{Source: "x", Key: "k"}, noon)
		do(t, err)
		return published
	}
	if !mirror() {
		t.Fatal("not published")
	}
	deliver(t, open())
	id := notice.Events(read(t, open(), "system"))[0].ID
	if _, err := open().DismissEvent(t.Context(), id, noon); err != nil || mirror() || disk.Exists(file(open(), "system")) {
		t.Errorf("one event came back: %v", err)
	}
	for i := range 3 {
		_, _, err := open().Publish(t.Context(), notice.Event{Source: "x", Key: fmt.Sprint(i)}, noon)
		do(t, err)
	}
	_, err := open().DismissChannel(t.Context(), notice.Dismissal{Channel: "system", Force: true})
	do(t, err)
	for i := range 3 {
		if _, published, err := open().Publish(t.Context(), notice.Event{Source: "x", Key: fmt.Sprint(i)}, noon); published || err != nil {
			t.Errorf("a cleared event came back: %v", err)
		}
	}
	if mirror() {
		t.Error("the first came back")
	}
	// The memory of it is bounded, and the oldest goes first.
	d := open().Delivered()
	for i := range 512 {
		d.Done = append(d.Done, fmt.Sprint("old", i))
	}
	text, err := json.Marshal(d)
	do(t, err)
	do(t, os.WriteFile(open().Body().Path(body.NoticeDir, ".delivered.json"), text, 0o600))
	publish(t, open(), notice.Event{Source: "x", Key: "last"})
	_, err = open().DismissChannel(t.Context(), notice.Dismissal{Channel: "system", Force: true})
	do(t, err)
	if done := open().Delivered().Done; len(done) != 512 || done[511] != "last" || done[0] != "old1" {
		t.Errorf("%d keys are kept, from %s", len(done), done[0])
	}
}

func init() {
	// add appends its numbers to a list in the channel cron, and publishes events.
	children["add"] = func(s notice.Store) error {
		for i := range 20 {
			id := fmt.Sprintf("%s-%d", os.Getenv("NOTICE_ARG"), i)
			_, err := s.Update(ctx, "cron", notice.Any, noon, func(data *body.Object) (notice.Envelope, bool, error) {
				var all []string
				_ = json.Unmarshal(data.Get("all"), &all) // nothing at first
				return notice.Envelope{Header: "h", Data: data}, true, data.Set("all", append(all, id))
			})
			if err != nil {
				return err
			}
			if i%10 == 0 {
				if _, _, err := s.Publish(ctx, notice.Event{Source: "x", Body: id, Key: fmt.Sprint(i)}, noon); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

func TestClass6ConcurrentPublishersLoseNothing(t *testing.T) {
	s := store(t, nil)
	var cmds []*exec.Cmd
	for i := range 6 {
		cmds = append(cmds, child(t, "add", s, i))
	}
	for _, cmd := range cmds {
		do(t, cmd.Wait())
	}
	var all []string
	do(t, json.Unmarshal(read(t, s, "cron").Data().Get("all"), &all))
	seen := map[string]int{}
	for _, id := range all {
		seen[id]++
	}
	for i := range 6 {
		for j := range 20 {
			if id := fmt.Sprintf("%d-%d", i, j); seen[id] != 1 {
				t.Errorf("%s is there %d times", id, seen[id])
			}
		}
	}
	if got := bodies(t, s); len(got) != 2 {
		t.Errorf("a key was published more than once: %q", got)
	}
}

func TestClass6DismissalsAndPublishersAtOnce(t *testing.T) {
	s := store(t, nil)
	stop := make(chan struct{})
	cmds := []*exec.Cmd{child(t, "add", s, "a"), child(t, "add", s, "b")}
	go func() {
		defer close(stop)
		for _, cmd := range cmds {
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
		}
	}()
	dismissed := 0
	for done := false; !done; {
		select {
		case <-stop:
			done = true
		case <-time.After(time.Millisecond):
		}
		for _, e := range notice.Events(read(t, s, "system")) {
			got, err := s.Within(time.Minute).DismissEvent(t.Context(), e.ID, noon)
			do(t, err)
			dismissed += got.Removed
		}
	}
	if dismissed != 2 || len(bodies(t, s)) != 0 {
		t.Errorf("%d of 2 keys were dismissed, %q left", dismissed, bodies(t, s))
	}
}
