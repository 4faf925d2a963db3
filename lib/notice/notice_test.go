package notice_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
)

// noon is when most tests take place.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// children are what this test program does when it is started as a child.
var children = map[string]func(notice.Store) error{}

func TestMain(m *testing.M) {
	if child := children[os.Getenv("NOTICE_CHILD")]; child != nil {
		b, err := body.Open(os.Getenv("NOTICE_DIR"))
		if err == nil {
			err = child(notice.Open(b).Within(time.Minute))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func child(t *testing.T, name string, s notice.Store, arg any) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "NOTICE_CHILD="+name, "NOTICE_DIR="+s.Body().Dir(), fmt.Sprint("NOTICE_ARG=", arg),
		"GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	do(t, cmd.Start())
	return cmd
}

var do = bodytest.Do

// store returns the notifications of a body with these files.
func store(t testing.TB, files map[string]string) notice.Store {
	t.Helper()
	return notice.Open(bodytest.New(t, files))
}

func file(s notice.Store, channel string) string {
	return s.Body().Path(body.NoticeDir, channel+".json")
}

func read(t *testing.T, s notice.Store, channel string) notice.Channel {
	t.Helper()
	c, err := s.Read(channel)
	do(t, err)
	return c
}

func put(t *testing.T, s notice.Store, channel string) notice.Channel {
	t.Helper()
	c, err := s.Put(t.Context(), channel, notice.Any, notice.Envelope{Header: channel}, noon)
	do(t, err)
	return c
}

func publish(t *testing.T, s notice.Store, e notice.Event) notice.Event {
	t.Helper()
	e, published, err := s.Publish(t.Context(), e, noon)
	if err != nil || !published {
		t.Fatalf("got %v, %v", published, err)
	}
	return e
}

// deliver puts everything before the agent.
func deliver(t *testing.T, s notice.Store) {
	t.Helper()
	all, err := s.Snapshot()
	do(t, err)
	do(t, s.Deliver(t.Context(), all))
}

func news(t *testing.T, s notice.Store) string {
	t.Helper()
	all, err := s.Snapshot()
	do(t, err)
	var names []string
	for _, c := range s.Delivered().News(all) {
		names = append(names, c.Name)
	}
	return strings.Join(names, " ")
}

// refused checks an error's code and reason.
func refused(t *testing.T, what string, err error, code fault.Code, reason notice.Reason) {
	t.Helper()
	if !fault.Is(err, code) || notice.ReasonOf(err) != reason {
		t.Errorf("%s: got %v (%s), want %s of %s", what, err, notice.ReasonOf(err), reason, code)
	}
	if reason != "" && (!strings.HasPrefix(err.Error(), string(reason)+": ") || fault.From(err).Hint == "") {
		t.Errorf("%s: says %q, hint %q", what, err, fault.From(err).Hint)
	}
}

func TestL63ChannelNamesAndTheAllowlist(t *testing.T) {
	s := store(t, nil)
	for _, good := range append([]string{"mcp.telegram", "mcp.a_b-C.9"}, notice.Channels...) {
		do(t, notice.CheckKnown(good))
	}
	for _, bad := range []string{"", ".", "..", "a..b", "../x", "a/b", "/a", ".hidden", "-a", "_a", "a b", "é", "a\n", "a\x00", "mcp..x",
		strings.Repeat("a", 201)} {
		_, err := s.Read(bad)
		refused(t, bad, err, fault.BadInput, notice.InvalidChannel)
		_, err = s.Put(t.Context(), bad, notice.Any, notice.Envelope{}, noon)
		refused(t, bad, err, fault.BadInput, notice.InvalidChannel)
		_, err = s.DismissChannel(t.Context(), notice.Dismissal{Channel: bad, Force: true})
		refused(t, bad, err, fault.BadInput, notice.InvalidChannel)
	}
	for _, unknown := range []string{"foo", "System", "mcp", "mcp.", "emails"} {
		_, err := s.Put(t.Context(), unknown, notice.Any, notice.Envelope{}, noon)
		refused(t, unknown, err, fault.BadInput, notice.UnknownChannel)
	}
	if disk.Exists(s.Body().Path(body.NoticeDir)) {
		t.Error("a refusal wrote something")
	}
}

func TestL63TheEnvelope(t *testing.T) {
	s := store(t, nil)
	put(t, s, "cron")
	text, err := os.ReadFile(file(s, "cron"))
	do(t, err)
	const bare = `{"header":"cron","icon":"","priority":"normal","published_at":"2026-11-30T12:00:00.000Z","data":null}`
	if string(text) != bare {
		t.Errorf("got %s", text)
	}
	e := notice.Envelope{Header: "<h>", Icon: "⏰", Priority: notice.High, Instructions: "do & tell", Data: map[string]int{"n": 1}}
	_, err = s.Put(t.Context(), "cron", notice.Any, e, noon.Add(8*time.Hour))
	do(t, err)
	text, err = os.ReadFile(file(s, "cron"))
	do(t, err)
	const full = `{"header":"<h>","icon":"⏰","priority":"high","published_at":"2026-11-30T20:00:00.000Z","data":{"n":1},"instructions":"do & tell"}`
	if string(text) != full {
		t.Errorf("got %s", text)
	}
	e.Instructions = ""
	_, err = s.Put(t.Context(), "cron", notice.Any, e, noon)
	do(t, err)
	if c := read(t, s, "cron"); c.Object.Get("instructions") != nil {
		t.Errorf("got %s", c.Object.Compact())
	}
	_, err = s.Put(t.Context(), "cron", notice.Any, notice.Envelope{Priority: "urgent"}, noon)
	refused(t, "priority", err, fault.BadInput, "")
	_, err = s.Put(t.Context(), "cron", notice.Any, notice.Envelope{Data: func() {}}, noon)
	refused(t, "data", err, fault.BadInput, "")
	_, err = s.Put(t.Context(), "cron", notice.Any, notice.Envelope{Data: strings.Repeat("x", 5<<20)}, noon)
	refused(t, "size", err, fault.TooLarge, "")
}

func TestWhatTheEnvelopeHasBesidesSurvives(t *testing.T) {
	s := store(t, map[string]string{".notification/goal.json": `{"x":[1, 2],"header":"old","data":{"status":"active","y":1.50}}`})
	_, err := s.Update(t.Context(), "goal", notice.Any, noon, func(data *body.Object) (notice.Envelope, bool, error) {
		return notice.Envelope{Header: "new", Data: data}, true, data.Set("n", 1)
	})
	do(t, err)
	text, _ := os.ReadFile(file(s, "goal"))
	const want = `{"x":[1,2],"header":"new","data":{"status":"active","y":1.50,"n":1},"icon":"","priority":"normal","published_at":"2026-11-30T12:00:00.000Z"}`
	if string(text) != want {
		t.Errorf("got %s", text)
	}
}

func TestAVersionComesFromTheBytesAlone(t *testing.T) {
	s := store(t, nil)
	if v := read(t, s, "cron").Version; v != "" {
		t.Errorf("got %q", v)
	}
	c := put(t, s, "cron")
	do(t, os.Chtimes(file(s, "cron"), noon, noon))
	if got := read(t, s, "cron").Version; got != c.Version || !strings.HasPrefix(string(got), fmt.Sprint(len(c.Object.Compact()), "-")) {
		t.Errorf("got %q, not %q", got, c.Version)
	}
	put(t, s, "cron") // the same bytes in a new file
	if got := read(t, s, "cron").Version; got != c.Version {
		t.Errorf("got %q, not %q", got, c.Version)
	}
}

func TestClass6AConditionIsCheckedBeforeTheChangeIsMade(t *testing.T) {
	s := store(t, nil)
	calls := 0
	try := func(x notice.Expect) error {
		_, err := s.Update(t.Context(), "cron", x, noon, func(*body.Object) (notice.Envelope, bool, error) {
			calls++
			return notice.Envelope{Header: fmt.Sprint(calls)}, true, nil
		})
		return err
	}
	refused(t, "at", try(notice.At("3-abc")), fault.Stale, notice.StaleVersion)
	if calls != 0 || disk.Exists(file(s, "cron")) {
		t.Fatal("the change was made")
	}
	do(t, try(notice.Missing))
	refused(t, "missing", try(notice.Missing), fault.Stale, notice.StaleVersion)
	v := read(t, s, "cron").Version
	do(t, try(notice.At(v)))
	refused(t, "at the old", try(notice.At(v)), fault.Stale, notice.StaleVersion)
	do(t, try(notice.Any))
	if got := read(t, s, "cron").Object.Text("header"); got != "3" || calls != 3 {
		t.Errorf("got %q after %d", got, calls)
	}
	_, err := s.Update(t.Context(), "cron", notice.Any, noon, func(*body.Object) (notice.Envelope, bool, error) {
		return notice.Envelope{}, false, nil
	})
	if err != nil || disk.Exists(file(s, "cron")) {
		t.Errorf("not removed: %v", err)
	}
}

func TestABrokenFileReadsAsEmptyButHasAVersion(t *testing.T) {
	s := store(t, map[string]string{".notification/cron.json": "{broken", ".notification/soul.json": ""})
	for _, channel := range []string{"cron", "soul"} {
		c := read(t, s, channel)
		if c.Version == "" || !fault.Is(c.Err, fault.Corrupt) || len(c.Object.Keys()) != 0 {
			t.Errorf("%s: got %+v", channel, c)
		}
		_, err := s.Put(t.Context(), channel, notice.At(c.Version), notice.Envelope{Header: "h"}, noon)
		do(t, err)
	}
	do(t, os.Mkdir(file(s, "btw"), 0o700))
	if _, err := s.Read("btw"); err == nil {
		t.Error("a directory is no error")
	}
	_, err := s.Put(t.Context(), "btw", notice.Any, notice.Envelope{Header: "h"}, noon)
	if err == nil {
		t.Error("written over a directory")
	}
}

func TestASnapshotSkipsWhatIsBroken(t *testing.T) {
	s := store(t, map[string]string{
		".notification/cron.json": "{broken", ".notification/.hidden.json": "{}", ".notification/a..b.json": "{}",
		".notification/notes.txt": "{}", ".notification/legacy.json": `{"header":"h"}`,
	})
	do(t, os.Mkdir(file(s, "btw"), 0o700))
	do(t, os.Symlink("nowhere", file(s, "goal")))
	put(t, s, "system")
	put(t, s, "email")
	all, err := s.Snapshot()
	do(t, err)
	var names []string
	for _, c := range all.Channels {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "email legacy system" {
		t.Errorf("got %s", got)
	}
	if len(all.Skipped) != 2 {
		t.Errorf("got %v", all.Skipped)
	}
	for _, err := range all.Skipped {
		if !strings.Contains(err.Error(), "cron.json") && !strings.Contains(err.Error(), "btw.json") {
			t.Errorf("got %v", err)
		}
	}
}

func TestTheFingerprintChangesWithAnyChannel(t *testing.T) {
	s := store(t, nil)
	print := func() string {
		all, err := s.Snapshot()
		do(t, err)
		return all.Print
	}
	if print() != "" || disk.Exists(s.Body().Path(body.NoticeDir)) {
		t.Error("nothing is something")
	}
	seen := map[string]string{"": "none"}
	note := func(what string) {
		t.Helper()
		p := print()
		if seen[p] != "" {
			t.Errorf("%s is like %s", what, seen[p])
		}
		if seen[p] = what; print() != p {
			t.Errorf("%s does not stay", what)
		}
	}
	put(t, s, "cron")
	note("cron")
	put(t, s, "email")
	note("cron and email")
	_, err := s.Put(t.Context(), "email", notice.Any, notice.Envelope{Header: "more"}, noon)
	do(t, err)
	note("cron and more email")
	do(t, os.Remove(file(s, "cron")))
	note("more email")
	do(t, os.WriteFile(file(s, "cron"), []byte("{broken"), 0o600))
	if seen[print()] != "more email" {
		t.Error("a broken file wakes")
	}
}

func TestL62WhatIsMirroredIsNotDelivered(t *testing.T) {
	s := store(t, nil)
	put(t, s, "email")
	publish(t, s, notice.Event{Source: "x", Body: "b"})
	if got := news(t, s); got != "email system" {
		t.Errorf("got %q", got)
	}
	all, err := s.Snapshot() // taken at the start of a turn, put before the agent at its end
	do(t, err)
	put(t, s, "cron")
	publish(t, s, notice.Event{Source: "x", Body: "later"})
	do(t, s.Deliver(t.Context(), all))
	if got := news(t, s); got != "cron system" {
		t.Errorf("got %q", got)
	}
	deliver(t, s)
	if got := news(t, s); got != "" {
		t.Errorf("got %q", got)
	}
	before, _ := os.Stat(s.Body().Path(body.NoticeDir, ".delivered.json"))
	deliver(t, s)
	if after, _ := os.Stat(s.Body().Path(body.NoticeDir, ".delivered.json")); !os.SameFile(before, after) {
		t.Error("written though nothing changed")
	}
	// Lost, it is shown again.
	do(t, os.WriteFile(s.Body().Path(body.NoticeDir, ".delivered.json"), []byte("{"), 0o600))
	if got := news(t, s); got != "cron email system" {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsSeenIsNoNews(t *testing.T) {
	s := store(t, nil)
	mirror := func(header string, seen bool) {
		t.Helper()
		_, err := s.Update(t.Context(), "email", notice.Any, noon, func(*body.Object) (notice.Envelope, bool, error) {
			return notice.Envelope{Header: header, Seen: seen}, header != "", nil
		})
		do(t, err)
	}
	mirror("2 unread", false)
	mirror("1 unread", true)
	if got := news(t, s); got != "email" {
		t.Errorf("never delivered: got %q", got)
	}
	deliver(t, s)
	mirror("none of them", true)
	if got := news(t, s); got != "" {
		t.Errorf("got %q", got)
	}
	mirror("", true)
	mirror("none of them", false) // as new as any
	if got := news(t, s); got != "email" {
		t.Errorf("got %q", got)
	}
	enough := errors.New("unchanged")
	before := read(t, s, "email").Version
	_, err := s.Update(t.Context(), "email", notice.Any, noon.Add(1e9), func(*body.Object) (notice.Envelope, bool, error) {
		return notice.Envelope{}, true, enough
	})
	if err != enough || read(t, s, "email").Version != before {
		t.Errorf("got %v", err)
	}
}

func TestTheLockIsWaitedForAndNoLonger(t *testing.T) {
	s := store(t, nil)
	put(t, s, "cron")
	unlock, err := disk.Lock(t.Context(), s.Body().Path(body.NoticeDir, ".store.lock"), 0)
	do(t, err)
	short := s.Within(time.Millisecond)
	_, err = short.Put(t.Context(), "cron", notice.Any, notice.Envelope{Header: "h"}, noon)
	refused(t, "put", err, fault.Busy, "")
	_, _, err = short.Publish(t.Context(), notice.Event{Source: "x"}, noon)
	refused(t, "publish", err, fault.Busy, "")
	_, err = short.DismissChannel(t.Context(), notice.Dismissal{Channel: "cron", Force: true})
	refused(t, "dismiss", err, fault.Busy, "")
	if _, err := short.Snapshot(); err != nil || !disk.Exists(file(s, "cron")) {
		t.Errorf("readers take no lock: %v", err)
	}
	unlock()
	_, err = short.Within(time.Minute).Put(t.Context(), "cron", notice.Any, notice.Envelope{Header: "h"}, noon)
	do(t, err)
	if !disk.Exists(s.Body().Path(body.NoticeDir, ".store.lock")) {
		t.Error("the lock file went")
	}
}
