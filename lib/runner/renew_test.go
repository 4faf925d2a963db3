package runner

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/notice"
)

// L-41: a clear sheds the conversation; identity and what lasts stay, and the next turn says so.
func TestL41Clear(t *testing.T) {
	g := newRig(t).start()
	id := g.b.Manifest().AgentID()
	g.write("system/pad.md", "remember")
	g.write("knowledge/a/KNOWLEDGE.md", "known")
	g.write(archiveFile, "long ago\n")
	g.write(historyFile, "one\ntwo\n")
	g.publish("one")
	g.tick(1)
	first := g.turn()
	g.put(body.Prompt, "and then") // it waits for the clear, and is not lost with the turn
	g.put(body.Clear, "confused")
	g.tick(1)
	if g.read(historyFile) == "" {
		t.Error("archived while the mind is at it")
	}
	g.settle()
	got := g.turn()
	if !got.NewConversation || got.Cleared != "confused" || got.ID == first.ID || got.Prompt != "and then" {
		t.Errorf("%+v", got.Turn)
	}
	if g.read(archiveFile) != "long ago\none\ntwo\n" || g.read(historyFile) != "" {
		t.Errorf("archive %q, history %q", g.read(archiveFile), g.read(historyFile))
	}
	m := g.b.Manifest()
	if m.AgentID() != id || m.Number("molt_count") != 1 || g.read("system/pad.md") != "remember" || g.read("knowledge/a/KNOWLEDGE.md") != "known" {
		t.Errorf("%s", m.Compact())
	}
	if end := g.logged("turn_end"); len(end) != 1 || end[0]["outcome"] != "cleared" || end[0]["id"] != first.ID {
		t.Errorf("%v", end)
	}
	g.end(errors.New("bad")) // it was not told as long as it fails
	g.tick(1)
	if got := g.turn(); !got.NewConversation {
		t.Errorf("%+v", got.Turn)
	}
	g.end(nil)
	g.put(body.Prompt, "again")
	g.tick(1)
	if got := g.turn(); got.NewConversation || got.Cleared != "" {
		t.Errorf("%+v", got.Turn)
	}
}

// A clear of one that is idle or asleep takes no turn of its own, and one while a turn is to be tried again
// ends that.
func TestClearBetweenTurns(t *testing.T) {
	g := newRig(t).start()
	g.put(body.Clear, "ann")
	g.tick(2)
	g.none("cleared")
	g.state(Asleep)
	g.publish("one")
	g.tick(1)
	if got := g.turn(); !got.NewConversation {
		t.Errorf("%+v", got.Turn)
	}
	g.end(errors.New("bad"))
	g.put(body.Clear, "bob")
	g.tick(1)
	g.state(Idle)
	g.tick(3)
	g.none("cleared")
	if n := g.b.Manifest().Number("molt_count"); n != 2 {
		t.Errorf("molt count %v", n)
	}
}

// A clear that we die in is finished, once, from each of its points.
func TestClearAndCrash(t *testing.T) {
	for _, at := range []string{"moved", "journalled", "archived half", "archived", "counted", "recorded"} {
		g := newRig(t).start()
		g.write(archiveFile, "old\n")
		g.write(historyFile, "new\n")
		g.put(body.Clear, "why")
		_, err := g.r.move(body.Clear, clearTaken)
		check(t, err)
		c := &clearing{ID: taken(g.b, clearTaken), Reason: "why", Molts: 1, Archive: 4}
		steps := map[string]int{"moved": 0, "journalled": 1, "archived half": 2, "archived": 3, "counted": 4, "recorded": 5}[at]
		if steps > 0 {
			g.r.journal.Clear = c
			check(t, g.r.save())
		}
		if steps == 2 {
			g.write(archiveFile, "old\nne")
		}
		if steps > 2 {
			check(t, g.r.archive(4))
		}
		if steps > 3 {
			check(t, g.r.amend(func(o *body.Object) error { return o.Set("molt_count", 1) }))
		}
		if steps > 4 {
			g.r.journal.Clear, g.r.journal.Cleared, g.r.journal.Fresh = nil, c.ID, &fresh{Reason: "why"}
			check(t, g.r.save())
		}
		g.restart()
		g.tick(2)
		g.none(at)
		if a, h, n := g.read(archiveFile), g.read(historyFile), g.b.Manifest().Number("molt_count"); a != "old\nnew\n" || h != "" || n != 1 {
			t.Errorf("%s: archive %q, history %q, molt count %v", at, a, h, n)
		}
		if g.read(clearTaken) != "" || g.r.journal.Fresh == nil {
			t.Errorf("%s: not finished", at)
		}
		// A later one is another.
		g.put(body.Clear, "more")
		g.tick(1)
		if n := g.b.Manifest().Number("molt_count"); n != 2 {
			t.Errorf("%s: molt count %v", at, n)
		}
	}
}

// L-03, L-34, L-46: a refresh keeps who the agent is and its conversation; the turn that it cut off is
// offered again, and
// one notification says what happened.
func TestL03L34L46Refresh(t *testing.T) {
	g := newRig(t).start()
	before := g.b.Manifest()
	g.write(historyFile, "said\n")
	g.publish("one")
	g.tick(1)
	first := g.turn()
	g.put(body.Refresh, "bob\nedited")
	g.write(body.InitFile, strings.Replace(initText, `"m"`, `"new"`, 1))
	g.tick(1)
	if g.handed != 1 || g.r.ending != "refresh" || g.b.Pending(body.Refresh) || !g.b.Pending(body.RefreshTaken) {
		t.Fatalf("handed over %d times, ending %q\n%s", g.handed, g.r.ending, g.log())
	}
	check(t, g.r.stop())
	g.start()
	after := g.b.Manifest()
	for _, key := range []string{"agent_id", "created_at", "address", "molt_count"} {
		if string(before.Get(key)) != string(after.Get(key)) {
			t.Errorf("%s: %s, before %s", key, after.Get(key), before.Get(key))
		}
	}
	if after.Sub("llm").Text("model") != "new" || !strings.Contains(g.read(body.ResolvedFile), `"new"`) {
		t.Errorf("not read anew: %s", after.Compact())
	}
	if g.read(historyFile) != "said\n" {
		t.Error("the conversation is lost")
	}
	g.tick(1)
	got := g.turn()
	if got.ID != first.ID || got.NewConversation || strings.Count(string(got.Channels[0].Data), "you were refreshed (edited)") != 1 {
		t.Errorf("%+v: %s", got.Turn, got.Channels[0].Data)
	}
	if g.b.Pending(body.RefreshTaken) {
		t.Error(".refresh.taken is still there")
	}
	g.end(nil)
	g.restart()
	g.tick(3)
	g.none("it was said once")
}

// L-35: an edit takes effect by a refresh only; L-08, L-13, L-16: boot, refresh and clear leave init.json
// alone and make
// the resolved manifest anew, which is never read.
func TestL08L13L16L35Configuration(t *testing.T) {
	g := newRig(t)
	stat := func() os.FileInfo {
		info, err := os.Stat(g.b.Path(body.InitFile))
		check(t, err)
		return info
	}
	was := stat()
	same := func(what string) {
		t.Helper()
		if now := stat(); g.read(body.InitFile) != initText || !now.ModTime().Equal(was.ModTime()) || !os.SameFile(now, was) {
			t.Errorf("%s has written init.json", what)
		}
	}
	model := func() string { return g.b.Manifest().Sub("llm").Text("model") }
	g.write(body.ResolvedFile, `{"manifest": {"llm": {"model": "forged"}}}`)
	g.start()
	same("boot")
	if model() != "m" || !strings.Contains(g.read(body.ResolvedFile), `"model": "m"`) {
		t.Errorf("L-16: %s; %s", model(), g.read(body.ResolvedFile))
	}
	g.write(body.ResolvedFile, "{")
	g.put(body.Clear, "why")
	g.tick(2)
	same("a clear")
	if !strings.Contains(g.read(body.ResolvedFile), `"model": "m"`) {
		t.Errorf("L-13, molt reload: %s", g.read(body.ResolvedFile))
	}
	g.restart()
	same("a start")

	g.write(body.InitFile, strings.Replace(initText, `"m"`, `"edited"`, 1))
	g.publish("one")
	g.tick(1)
	g.turn()
	g.end(nil)
	g.tick(30)
	if model() != "m" {
		t.Error("L-35: an edit took effect without a refresh")
	}
	g.put(body.Refresh, "")
	g.tick(1)
	check(t, g.r.stop())
	g.start()
	if model() != "edited" || !strings.Contains(g.read(body.ResolvedFile), "edited") {
		t.Error("L-13: nor with one")
	}
}

// A bad edit does not end a live agent: it keeps the last good configuration and says so, once.
func TestRefreshOnBrokenInit(t *testing.T) {
	g := newRig(t).start()
	resolved := g.read(body.ResolvedFile)
	g.write(body.InitFile, "{ broken")
	g.put(body.Refresh, "bob\n")
	g.tick(1)
	if g.handed > 0 || g.r.ending != "" || g.b.Pending(body.Refresh) || g.b.Pending(body.RefreshTaken) || g.read(body.ResolvedFile) != resolved {
		t.Fatalf("handed over %d times, ending %q", g.handed, g.r.ending)
	}
	if got := string(g.turn().Channels[0].Data); !strings.Contains(got, "running on what was in force before") {
		t.Errorf("%s", got)
	}
	g.end(nil)
	g.tick(10)
	g.none("it was said once")
	if len(g.logged("refresh_refused")) != 1 {
		t.Error("not logged once")
	}
	// So does a clear.
	g.put(body.Clear, "why")
	g.tick(1)
	g.publish("one")
	g.tick(1)
	if got := g.turn(); !got.NewConversation || g.read(body.ResolvedFile) != resolved {
		t.Errorf("%+v", got.Turn)
	}
}

// Class 1: what stands in the way of a hand-over is found before anything changes, or undone.
func TestClass1RefreshThatCannotBe(t *testing.T) {
	g := newRig(t).start()
	id := g.b.Manifest().AgentID()
	g.r.HandOver = func() error {
		g.handed++
		if !g.b.Pending(body.RefreshTaken) {
			t.Error("handed over before it was taken")
		}
		return errors.New("no watcher")
	}
	g.put(body.Refresh, "")
	g.tick(3)
	if g.handed != 1 || g.r.ending != "" || g.b.Pending(body.RefreshTaken) || g.b.Pending(body.Refresh) {
		t.Errorf("handed over %d times, ending %q", g.handed, g.r.ending)
	}
	g.turn()
	g.end(nil)
	g.r.HandOver = nil
	g.put(body.Refresh, "")
	g.tick(1)
	g.turn()
	g.end(nil)
	// One that was taken already: by whoever is at it.
	g.r.HandOver = func() error { g.handed++; return nil }
	g.put(body.RefreshTaken, "x")

	if steps[3].name != "interrupt" || steps[4].name != "refresh" {
		t.Fatal("other steps")
	}
	g.put(body.Refresh, "")
	g.r.step(t.Context(), 4)
	if g.handed != 1 || g.r.ending != "" {
		t.Errorf("handed over %d times", g.handed)
	}
	if g.b.Manifest().AgentID() != id {
		t.Error("another agent")
	}
}

// A mind that asks for a refresh in its turn ends that first; otherwise it would ask again and again.
func TestRefreshByTheMindItself(t *testing.T) {
	g := newRig(t).start()
	g.publish("one")
	g.tick(1)
	g.turn()
	g.put(body.Refresh, "ann\n")
	g.tick(5)
	g.state(Active)
	g.end(nil)
	if g.handed != 1 || g.r.ending != "refresh" {
		t.Errorf("handed over %d times", g.handed)
	}
	check(t, g.r.stop())
	g.start()
	g.tick(1)
	if got := g.turn(); got.Offer != 1 {
		t.Errorf("%+v", got.Turn)
	}
}

// .agent.json that somebody takes away or spoils is made again, of the same agent. L-04: without a secret.
func TestManifestIsMadeAgain(t *testing.T) {
	g := newRig(t)
	g.write(body.InitFile, strings.Replace(initText, `"model"`, `"api_key": "sk-secret", "model"`, 1))
	g.start()
	was := g.b.Manifest()
	check(t, g.b.SetNickname("annie"))
	for _, spoil := range []func() error{
		func() error { return os.Remove(g.b.Path(body.ManifestFile)) },
		func() error { return os.WriteFile(g.b.Path(body.ManifestFile), []byte("{"), 0o644) },
	} {
		check(t, spoil())
		g.publish(time.Now().String())
		g.tick(1)
		g.turn()
		g.end(nil)
		now := g.b.Manifest()
		if now.AgentID() != was.AgentID() || now.Text("created_at") != was.Text("created_at") || now.State() != Idle {
			t.Errorf("%s, before %s", now.Compact(), was.Compact())
		}
		if strings.Contains(string(now.Compact())+g.read(body.ResolvedFile)+g.log(), "sk-secret") {
			t.Error("a secret")
		}
	}
}

// Notifications, as everything that lasts, outlive a clear and a start.
func TestDismissedStaysDismissed(t *testing.T) {
	g := newRig(t).start()
	e := g.publish("one")
	g.tick(1)
	g.turn()
	_, err := notice.Open(g.b).DismissEvent(t.Context(), e.ID, g.wall)
	check(t, err)
	g.end(nil)
	g.put(body.Refresh, "")
	g.tick(1)
	check(t, g.r.stop())
	g.start()
	g.tick(1)
	if got := string(g.turn().Channels[0].Data); strings.Contains(got, e.ID) { // class 5
		t.Errorf("%s", got)
	}
}
