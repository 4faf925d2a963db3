package notice_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
)

// ctx is for what has no test of its own: a child, a helper.
var ctx = context.Background()

type shown struct {
	ID, From, Subject, Preview string
	Cut                        bool
	ReceivedAt                 string `json:"received_at"`
	Metadata                   json.RawMessage
}

// seen returns what a server's channel shows, and its count.
func seen(t *testing.T, s notice.Store, server string) (events []shown, count int) {
	t.Helper()
	data := read(t, s, "mcp."+server).Data()
	if raw := data.Get("events"); raw != nil {
		do(t, json.Unmarshal(raw, &events))
	}
	return events, int(data.Number("count"))
}

func drop(t *testing.T, s notice.Store, server string, e notice.Dropped) string {
	t.Helper()
	path, err := notice.Drop(s.Body(), server, e, noon)
	do(t, err)
	return path
}

func intake(t *testing.T, s notice.Store) notice.Intake {
	t.Helper()
	in, err := s.Intake(t.Context(), noon)
	do(t, err)
	return in
}

// write puts events in an inbox without waiting for the disk each time.
func write(t *testing.T, s notice.Store, server string, ids ...string) {
	t.Helper()
	_, err := s.Body().Make(filepath.Join(body.DropDir, server))
	do(t, err)
	for _, id := range ids {
		do(t, os.WriteFile(s.Body().Path(body.DropDir, server, id+".json"),
			[]byte(`{"licc_version":1,"from":"f","subject":"s","body":"b"}`), 0o600))
	}
}

// numbers returns the texts of numbers, of fixed width.
func numbers(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("%03d", i))
	}
	return all
}

// waiting returns how many files of a server wait.
func waiting(t *testing.T, s notice.Store, server string) int {
	t.Helper()
	files, err := filepath.Glob(s.Body().Path(body.DropDir, server, "*.json"))
	do(t, err)
	return len(files)
}

func TestFromADropToAChannel(t *testing.T) {
	s := store(t, nil)
	if in := intake(t, s); in.Taken != 0 || disk.Exists(s.Body().Path(body.NoticeDir)) {
		t.Errorf("nothing is something: %+v", in)
	}
	path := drop(t, s, "substrate", notice.Dropped{
		ID: "design-7", From: "design", Subject: "your floor", Body: "<text>", Metadata: map[string]int{"version": 7},
	})
	if path != s.Body().Path(body.DropDir, "substrate", "design-7.json") {
		t.Errorf("got %s", path)
	}
	text, _ := os.ReadFile(path)
	const want = `{"licc_version":1,"from":"design","subject":"your floor","body":"<text>","metadata":{"version":7},"wake":true}` + "\n"
	if string(text) != want {
		t.Errorf("got %s", text)
	}
	in := intake(t, s)
	if in.Taken != 1 || !in.Wake || in.More || len(in.Rejected)+len(in.Failed) > 0 || disk.Exists(path) {
		t.Errorf("got %+v", in)
	}
	events, count := seen(t, s, "substrate")
	if len(events) != 1 || count != 1 || events[0].ID != "design-7" || events[0].Preview != "<text>" || events[0].Cut ||
		events[0].ReceivedAt != "2026-11-30T12:00:00.000Z" || string(events[0].Metadata) != `{"version":7}` {
		t.Errorf("got %+v, %d", events, count)
	}
	c := read(t, s, "mcp.substrate")
	if c.Object.Text("header") != "1 from substrate, last: your floor" || !c.Wakes() {
		t.Errorf("got %s", c.Object.Compact())
	}
	if in := intake(t, s); in.Taken != 0 {
		t.Errorf("again: %+v", in)
	}
}

func TestL61APreviewIsNotTheSource(t *testing.T) {
	s := store(t, nil)
	for i := range 3 {
		drop(t, s, "m", notice.Dropped{ID: fmt.Sprint(i), From: "f", Subject: "s", Body: strings.Repeat("é", 4000)})
		intake(t, s)
	}
	events, _ := seen(t, s, "m")
	total := 0
	for i, e := range events {
		n := len([]rune(e.Preview))
		if total += n; e.Cut != (n < 4000) {
			t.Errorf("%d: %d characters, cut %v", i, n, e.Cut)
		}
	}
	if total != 10_000 || len([]rune(events[2].Preview)) != 4000 {
		t.Errorf("%d characters in all", total)
	}
	drop(t, s, "m", notice.Dropped{From: "f", Subject: "big", Body: strings.Repeat("x", 200_000), Metadata: strings.Repeat("y", 2000)})
	intake(t, s)
	events, count := seen(t, s, "m")
	last := events[len(events)-1]
	if count != 4 || len(last.Preview) != 10_000 || !last.Cut || last.Metadata != nil || events[0].Preview != "" {
		t.Errorf("got %d, %d characters", count, len(last.Preview))
	}
	if hint := read(t, s, "mcp.m").Object.Text("instructions"); !strings.Contains(hint, "previews") {
		t.Errorf("got %q", hint)
	}
}

func TestInvalidEventsGoAside(t *testing.T) {
	good := `{"licc_version":1,"from":"f","subject":"s","body":"b"}`
	bad := map[string]string{
		"empty": "", "text": "hello", "list": "[]", "cut": `{"licc_version":1`, "utf8": "{\"licc_version\":1,\"from\":\"\xff\"}",
		"version0": `{"from":"f","subject":"s","body":"b"}`, "version2": strings.Replace(good, "1", "2", 1),
		"versiontext": strings.Replace(good, ":1", `:"one"`, 1), "nofrom": strings.Replace(good, `"from":"f",`, "", 1),
		"emptyfrom": strings.Replace(good, `"f"`, `""`, 1), "nosubject": strings.Replace(good, `"subject":"s",`, "", 1),
		"nobody": strings.Replace(good, `,"body":"b"`, "", 1), "number": strings.Replace(good, `"b"`, "7", 1),
		"long": strings.Replace(good, `"s"`, `"`+strings.Repeat("é", 201)+`"`, 1), "wake": strings.Replace(good, `"body"`, `"wake":"no","body"`, 1),
		"huge": strings.Replace(good, `"b"`, `"`+strings.Repeat("x", 1<<20)+`"`, 1),
	}
	s := store(t, nil)
	dir, err := s.Body().Make(body.DropDir + "/m")
	do(t, err)
	for name, text := range bad {
		do(t, os.WriteFile(filepath.Join(dir, name+".json"), []byte(text), 0o600))
	}
	do(t, os.Mkdir(filepath.Join(dir, "dir.json"), 0o700))
	do(t, os.Symlink("/etc/passwd", filepath.Join(dir, "link.json")))
	do(t, exec.Command("mkfifo", filepath.Join(dir, "fifo.json")).Run())
	do(t, os.WriteFile(filepath.Join(dir, "good.json"), []byte(strings.Replace(good, `"s"`, `"`+strings.Repeat("é", 200)+`"`, 1)), 0o600))
	do(t, os.WriteFile(filepath.Join(dir, ".tmp-0123456789abcdef"), []byte("{"), 0o600))
	do(t, os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("{"), 0o600))
	in := intake(t, s)
	if in.Taken != 1 || len(in.Rejected) != len(bad)+3 || len(in.Failed) > 0 {
		t.Errorf("got %d taken, %d rejected, failed %v", in.Taken, len(in.Rejected), in.Failed)
	}
	for name := range bad {
		text, err := os.ReadFile(filepath.Join(dir, ".dead", name+".error.json"))
		var note struct{ Error, At, File string }
		if err != nil || json.Unmarshal(text, &note) != nil || note.Error == "" || note.File != name+".json" || note.At == "" {
			t.Errorf("%s: got %s, %v", name, text, err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, ".dead", name+".json")); err != nil || string(got) != bad[name] {
			t.Errorf("%s: %v", name, err)
		}
	}
	if left := waiting(t, s, "m"); left != 0 {
		t.Errorf("left: %d", left)
	}
	// Another of the same name does not take the place of the first.
	do(t, os.WriteFile(filepath.Join(dir, "empty.json"), []byte("{"), 0o600))
	intake(t, s)
	first, _ := filepath.Glob(filepath.Join(dir, ".dead", "empty.*"))
	second, _ := filepath.Glob(filepath.Join(dir, ".dead", "empty-*"))
	if len(first) != 2 || len(second) != 2 {
		t.Errorf("got %v, %v", first, second)
	}
}

func TestL63AtMostAHundredACycleAndNobodyStarves(t *testing.T) {
	s := store(t, nil)
	write(t, s, "flood", numbers(0, 250)...)
	write(t, s, "quiet", "1", "2", "3")
	in := intake(t, s)
	if in.Taken != 100 || !in.More || waiting(t, s, "quiet") != 0 || waiting(t, s, "flood") != 153 {
		t.Errorf("got %+v, %d, %d left", in, waiting(t, s, "quiet"), waiting(t, s, "flood"))
	}
	intake(t, s)
	if in := intake(t, s); in.Taken != 53 || in.More || waiting(t, s, "flood") != 0 {
		t.Errorf("got %+v", in)
	}
	events, count := seen(t, s, "flood")
	if len(events) != 20 || count != 250 || events[19].ID != "249" || events[0].ID != "230" {
		t.Errorf("%d events, count %d", len(events), count)
	}
}

func TestMoreServersThanOneCycleTakes(t *testing.T) {
	s := store(t, nil)
	for i := range 130 {
		write(t, s, fmt.Sprint("m", i), "e")
	}
	if in := intake(t, s); in.Taken != 100 || !in.More {
		t.Errorf("got %+v", in)
	}
	if in := intake(t, s); in.Taken != 30 || in.More {
		t.Errorf("got %+v", in)
	}
}

// dying returns a function that brings back the files of events, the very same ones,
// as if we had died between the write of their channel and their removal.
func dying(t *testing.T, s notice.Store, ids []string) (back func()) {
	t.Helper()
	keep := t.TempDir()
	link := func(from, to string) {
		t.Helper()
		for _, id := range ids {
			do(t, os.Link(filepath.Join(from, id+".json"), filepath.Join(to, id+".json")))
		}
	}
	inbox := s.Body().Path(body.DropDir, "m")
	link(inbox, keep)
	return func() { t.Helper(); link(keep, inbox) }
}

func TestClass5AnEventIsTakenOnceWheneverWeDie(t *testing.T) {
	s := store(t, nil)
	write(t, s, "m", numbers(100, 200)...)
	back := dying(t, s, numbers(100, 200))
	if in := intake(t, s); in.Taken != 100 {
		t.Fatalf("got %+v", in)
	}
	version := read(t, s, "mcp.m").Version
	back()
	if in := intake(t, s); in.Taken != 0 || in.Wake || read(t, s, "mcp.m").Version != version || waiting(t, s, "m") != 0 {
		t.Errorf("taken twice: %+v", in)
	}
	// Others come and are taken before it is their turn to be removed.
	back()
	write(t, s, "m", numbers(0, 90)...)
	if in := intake(t, s); in.Taken != 90 || waiting(t, s, "m") != 90 {
		t.Errorf("got %+v", in)
	}
	if in := intake(t, s); in.Taken != 0 || waiting(t, s, "m") != 0 {
		t.Errorf("taken twice: %+v", in)
	}
	if _, count := seen(t, s, "m"); count != 190 {
		t.Errorf("took %d", count)
	}
}

func TestClass5ADismissedEventDoesNotComeBackFromItsFile(t *testing.T) {
	s := store(t, nil)
	write(t, s, "m", numbers(100, 200)...)
	back := dying(t, s, numbers(100, 200))
	intake(t, s)
	back()
	_, err := s.DismissChannel(t.Context(), notice.Dismissal{Channel: "mcp.m", Force: true})
	do(t, err)
	if in := intake(t, s); in.Taken != 0 || disk.Exists(file(s, "mcp.m")) || waiting(t, s, "m") != 0 {
		t.Errorf("came back: %+v", in)
	}
	// A later event of the same name is one.
	drop(t, s, "m", notice.Dropped{ID: "100", From: "f", Subject: "later", Body: "b"})
	if in := intake(t, s); in.Taken != 1 {
		t.Errorf("got %+v", in)
	}
	drop(t, s, "m", notice.Dropped{ID: "100", From: "f", Subject: "latest", Body: "b"})
	intake(t, s)
	if events, count := seen(t, s, "m"); len(events) != 1 || count != 2 || events[0].Subject != "latest" {
		t.Errorf("got %+v, %d", events, count)
	}
}

func TestQuietEventsDoNotWake(t *testing.T) {
	s := store(t, nil)
	wakes := func() bool { return read(t, s, "mcp.m").Wakes() }
	drop(t, s, "m", notice.Dropped{From: "f", Subject: "s", Body: "b", Quiet: true})
	if in := intake(t, s); in.Wake || wakes() {
		t.Errorf("got %+v", in)
	}
	drop(t, s, "m", notice.Dropped{From: "f", Subject: "s", Body: "b"})
	if in := intake(t, s); !in.Wake || !wakes() {
		t.Errorf("got %+v", in)
	}
	drop(t, s, "m", notice.Dropped{From: "f", Subject: "s", Body: "b", Quiet: true})
	if in := intake(t, s); in.Wake || !wakes() {
		t.Error("the one before was not put before the agent yet")
	}
	deliver(t, s)
	drop(t, s, "m", notice.Dropped{From: "f", Subject: "s", Body: "b", Quiet: true})
	if intake(t, s); wakes() {
		t.Error("woken by what was seen")
	}
	if !put(t, s, "cron").Wakes() {
		t.Error("other channels wake")
	}
}

func TestClass13ADropStaysInItsDirectory(t *testing.T) {
	s := store(t, nil)
	ok := notice.Dropped{ID: "a", From: "f", Subject: "s", Body: "b"}
	for _, server := range []string{"", "..", "../x", "a/b", "/etc", ".dead", "a\x00"} {
		if path, err := notice.Drop(s.Body(), server, ok, noon); !fault.Is(err, fault.BadInput) {
			t.Errorf("%q: got %s, %v", server, path, err)
		}
	}
	for _, id := range []string{"../x", "a/b", ".", "..", ".hidden", "a\x00", "-", strings.Repeat("a", 300)} {
		e := ok
		e.ID = id
		if path, err := notice.Drop(s.Body(), "m", e, noon); !fault.Is(err, fault.BadInput) {
			t.Errorf("%q: got %s, %v", id, path, err)
		}
	}
	for what, e := range map[string]notice.Dropped{
		"from": {Subject: "s"}, "subject": {From: "f", Subject: strings.Repeat("x", 201)}, "metadata": {From: "f", Metadata: func() {}},
	} {
		if _, err := notice.Drop(s.Body(), "m", e, noon); !fault.Is(err, fault.BadInput) {
			t.Errorf("%s: got %v", what, err)
		}
	}
	if _, err := notice.Drop(s.Body(), "m", notice.Dropped{From: "f", Body: strings.Repeat("x", 1<<20)}, noon); !fault.Is(err, fault.TooLarge) {
		t.Errorf("got %v", err)
	}
	if left, _ := os.ReadDir(s.Body().Dir()); len(left) > 0 {
		t.Errorf("a refusal made %v", left)
	}
	drop(t, s, "m", ok)
	ok.Body = "another"
	drop(t, s, "m", ok) // once while it is there
	if text, _ := os.ReadFile(s.Body().Path(body.DropDir, "m", "a.json")); !strings.Contains(string(text), `"body":"b"`) {
		t.Errorf("got %s", text)
	}
}

func TestAServersDirectoryIsNotFollowedElsewhere(t *testing.T) {
	s := store(t, map[string]string{".mcp_inbox/file": "", ".mcp_inbox/a b/x.json": "{}", ".mcp_inbox/.tmp/x.json": "{}"})
	away := store(t, nil)
	path := drop(t, away, "m", notice.Dropped{From: "f", Subject: "s", Body: "b"})
	do(t, os.Symlink(filepath.Dir(path), s.Body().Path(body.DropDir, "link")))
	in := intake(t, s)
	if in.Taken != 0 || !disk.Exists(path) {
		t.Errorf("got %+v", in)
	}
	if len(in.Failed) != 1 || notice.ReasonOf(in.Failed[0]) != notice.InvalidChannel {
		t.Errorf("the bad name is not said: %v", in.Failed)
	}
}

func init() {
	// drop drops events until it is killed, or has dropped 1000.
	children["drop"] = func(s notice.Store) error {
		for i := range 1000 {
			e := notice.Dropped{ID: fmt.Sprintf("%s-%04d", os.Getenv("NOTICE_ARG"), i), From: "f", Subject: "s", Body: strings.Repeat("x", 3000)}
			if _, err := notice.Drop(s.Body(), "m", e, noon); err != nil {
				return err
			}
			fmt.Fprintln(os.Stdout, e.ID)
		}
		return nil
	}
	// intake takes what there is until there is nothing.
	children["intake"] = func(s notice.Store) error {
		for {
			in, err := s.Intake(ctx, noon)
			if err != nil || in.Taken == 0 && !in.More {
				return errors.Join(append(in.Rejected, err)...)
			}
		}
	}
}

func TestClass13AKilledProducerLeavesNoHalfEvent(t *testing.T) {
	s := store(t, nil)
	cmd := child(t, "drop", s, "a")
	bodytest.Until(t, func() bool { return waiting(t, s, "m") >= 5 })
	do(t, cmd.Process.Kill())
	cmd.Wait()
	n := waiting(t, s, "m")
	taken := 0
	for taken < n {
		in := intake(t, s)
		if len(in.Rejected)+len(in.Failed) > 0 || in.Taken == 0 {
			t.Fatalf("got %+v", in)
		}
		taken += in.Taken
	}
	if _, count := seen(t, s, "m"); count != n {
		t.Errorf("took %d of %d", count, n)
	}
}

func TestClass6TwoWhoTakeLoseAndDoubleNothing(t *testing.T) {
	s := store(t, nil)
	write(t, s, "m", numbers(0, 320)...)
	var cmds []*exec.Cmd
	for i := range 3 {
		cmds = append(cmds, child(t, "intake", s, i))
	}
	for _, cmd := range cmds {
		do(t, cmd.Wait())
	}
	if _, count := seen(t, s, "m"); count != 320 || waiting(t, s, "m") != 0 {
		t.Errorf("took %d, %d left", count, waiting(t, s, "m"))
	}
}

func TestClass5KilledAtAnyPointWhileTaking(t *testing.T) {
	s := store(t, nil)
	total := 0
	for round := range 20 {
		ids := numbers(total, total+25)
		write(t, s, "m", ids...)
		total += len(ids)
		cmd := child(t, "intake", s, "")
		time.Sleep(time.Duration(round) * 700 * time.Microsecond) // from before it begins to after it ends
		do(t, cmd.Process.Kill())
		cmd.Wait()
	}
	for waiting(t, s, "m") > 0 {
		intake(t, s)
	}
	if _, count := seen(t, s, "m"); count != total {
		t.Errorf("took %d of %d", count, total)
	}
}

func FuzzParseDropped(f *testing.F) {
	f.Add([]byte(`{"licc_version":1,"from":"f","subject":"s","body":"b","metadata":{"a":[1]},"wake":false,"received_at":"x"}`))
	f.Add([]byte(`{"licc_version":1.0,"from":null}`))
	f.Add([]byte(`{"LICC_version":1,"from":"f","subject":"s","body":"b"}`))
	f.Add([]byte("\xff"))
	s := store(f, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := notice.ParseDropped(data)
		if err != nil {
			return
		}
		// What is taken can be dropped, and reads the same.
		path, err := notice.Drop(s.Body(), "m", e, noon)
		if fault.Is(err, fault.TooLarge) {
			return
		}
		do(t, err)
		text, err := os.ReadFile(path)
		do(t, err)
		do(t, os.Remove(path))
		again, err := notice.ParseDropped(text)
		if err != nil || again.From != e.From || again.Subject != e.Subject || again.Body != e.Body || again.Quiet != e.Quiet ||
			again.ReceivedAt != e.ReceivedAt || (again.Metadata == nil) != (e.Metadata == nil) {
			t.Fatalf("%q became %q, %v", data, text, err)
		}
	})
}
