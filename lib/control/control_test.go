package control

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
)

var clock = time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)

// ready is an init.json that can be started from.
const ready = `{"manifest": {"llm": {"provider": "p", "model": "m"}}, "covenant": "c", "pad": ""}`

// network makes agents, alive, and returns them by name. Rights are given as
// "ann: karma nirvana".
func network(t *testing.T, agents ...string) map[string]body.Body {
	t.Helper()
	top := t.TempDir()
	all := map[string]body.Body{}
	for _, agent := range agents {
		name, rights, _ := strings.Cut(agent, ":")
		b := bodytest.At(t, filepath.Join(top, name), map[string]string{body.InitFile: ready})
		admin := map[string]any{}
		for _, right := range strings.Fields(rights) {
			admin[right] = true
		}
		_, err := b.Project(body.Profile{Name: name, Admin: admin, State: "asleep"}, clock)
		check(t, err)
		check(t, b.Beat(clock))
		all[name] = b
	}
	return all
}

func caller(t *testing.T, b body.Body) Caller {
	h := preset.Here()
	h.Now = func() time.Time { return clock }
	h.Look = func(string) (string, bool) { return "", false }
	return Caller{Body: b, Threshold: body.DefaultThreshold, Host: h, Say: func(err error) { t.Error(err) }}
}

var check = bodytest.Do

// tree is what is below a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data := []byte{}
		if info.Mode().IsRegular() {
			data, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %v %v %q\n", path, info.Mode(), info.ModTime(), data)
		return err
	}))
	return b.String()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// refused asks that an error has a code and a text, and that nothing was written.
func refused(t *testing.T, top, before string, err error, code fault.Code, text string) {
	t.Helper()
	if !fault.Is(err, code) || !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want %s: %s", err, code, text)
	}
	if after := tree(t, top); after != before {
		t.Errorf("something was written:\n%s\nbefore:\n%s", after, before)
	}
}

var peerOps = []string{Lull, Interrupt, Suspend, Clear, CPR, Nirvana, Refresh}

func TestGatesInOrder(t *testing.T) {
	all := network(t, "ann: karma nirvana", "bob", "dead", "dan")
	ann, top := all["ann"], all["ann"].Network()
	check(t, all["dead"].StopBeat())
	check(t, os.WriteFile(all["dan"].Path(body.ManifestFile), []byte(`{"admin": null}`), 0o644)) // a human
	check(t, os.Mkdir(filepath.Join(top, "empty"), 0o755))
	check(t, os.Symlink(ann.Dir(), filepath.Join(top, "alias")))
	before := tree(t, top)
	for _, op := range peerOps {
		alive, aliveCode := "not running", fault.Unreachable
		target := "dead"
		if op == CPR {
			alive, aliveCode, target = "running already", fault.Exists, "bob"
		}
		for _, c := range []struct {
			by, address string
			code        fault.Code
			text        string
		}{
			// No right comes first, whatever else is wrong.
			{"bob", "", fault.Denied, "no right to " + op},
			{"bob", "bob", fault.Denied, "no right to " + op},
			{"bob", "nosuch", fault.Denied, "no right to " + op},
			{"bob", "dead", fault.Denied, "no right to " + op},
			{"ann", "", fault.BadInput, "address missing"},
			{"ann", "ann", fault.Denied, "not to oneself"},
			{"ann", "alias", fault.Denied, "not to oneself"}, // another spelling of the same directory
			{"ann", ann.Dir() + "/../ann/", fault.Denied, "not to oneself"},
			{"ann", "nosuch", fault.UnknownParticipant, `no agent at "nosuch"`},
			{"ann", "empty", fault.UnknownParticipant, `no agent at "empty"`},
			{"ann", "../x", fault.BadInput, "neither the name"},
			{"ann", "..", fault.BadInput, "neither the name"},
			{"ann", "dan", fault.Denied, "a human"},
			{"ann", target, aliveCode, alive},
		} {
			if op == Nirvana && c.code == aliveCode {
				continue // it is for the living and the dead
			}
			_, err := caller(t, all[c.by]).Act(t.Context(), op, c.address, "a reason")
			refused(t, top, before, err, c.code, c.text)
		}
	}
}

// .agent.json that says nothing is still an agent's; and a heartbeat that cannot be read is no sign of life.
func TestMalformedTarget(t *testing.T) {
	all := network(t, "ann: karma", "bob")
	bob := all["bob"]
	check(t, os.WriteFile(bob.Path(body.ManifestFile), []byte("\xff{"), 0o644))
	if _, err := caller(t, all["ann"]).Act(t.Context(), Lull, "bob", ""); err != nil || !bob.Pending(body.Sleep) {
		t.Errorf("malformed manifest: %v", err)
	}
	for name, spoil := range map[string]func(path string) error{
		"text":      func(p string) error { return os.WriteFile(p, []byte("soon"), 0o644) },
		"empty":     func(p string) error { return os.WriteFile(p, nil, 0o644) },
		"directory": func(p string) error { return errors.Join(os.Remove(p), os.Mkdir(p, 0o755)) },
	} {
		check(t, os.RemoveAll(bob.Path(body.HeartbeatFile)))
		check(t, bob.Beat(clock))
		check(t, spoil(bob.Path(body.HeartbeatFile)))
		before := tree(t, bob.Network())
		_, err := caller(t, all["ann"]).Act(t.Context(), Interrupt, "bob", "")
		if refused(t, bob.Network(), before, err, fault.Unreachable, "not running"); t.Failed() {
			t.Fatalf("a heartbeat that is %s", name)
		}
	}
}

func TestSignalsOnDisk(t *testing.T) {
	all := network(t, "ann: karma", "bob")
	ann, bob := all["ann"], all["bob"]
	for _, c := range []struct {
		op, reason string
		file       body.Signal
		text       string
		outcome    string
	}{
		{Lull, "", body.Sleep, "", "asleep"},                   // L-38: a peer is lulled
		{Interrupt, "", body.Interrupt, "", "interrupted"},     // L-39
		{Suspend, "why", body.Suspend, "", "suspended"},        // L-40
		{Clear, "", body.Clear, "ann", "cleared"},              // L-41: the source is the caller,
		{Clear, "confused", body.Clear, "confused", "cleared"}, // or the reason that was given
		{Refresh, "new", body.Refresh, "ann\nnew", "refresh_requested"},
	} {
		out, err := caller(t, ann).Act(t.Context(), c.op, "bob", c.reason)
		if err != nil || out.Outcome != c.outcome || out.By != "ann" || out.Dir != bob.Dir() {
			t.Errorf("%s: %+v, %v", c.op, out, err)
		}
		text, taken, err := bob.Take(c.file)
		if !taken || text != c.text || err != nil {
			t.Errorf("%s: %q, %v, %v", c.file, text, taken, err)
		}
	}
	log, err := os.ReadFile(ann.Path(body.EventsFile))
	check(t, err)
	if n := strings.Count(string(log), `"type":"karma"`); n != 6 {
		t.Errorf("%d of 6 in the caller's log:\n%s", n, log)
	}
	if exists(bob.Path(body.LogsDir)) {
		t.Error("the target's log is not the caller's to write")
	}
}

// L-38: there is no putting another to sleep by sleep, and no lulling oneself.
func TestL38SleepIsSelfOnly(t *testing.T) {
	all := network(t, "ann: karma", "bob")
	before := tree(t, all["ann"].Network())
	_, err := caller(t, all["ann"]).Act(t.Context(), Sleep, "bob", "")
	refused(t, all["ann"].Network(), before, err, fault.Usage, "no operation on another")
	_, err = caller(t, all["ann"]).Act(t.Context(), Lull, "ann", "")
	refused(t, all["ann"].Network(), before, err, fault.Denied, "not to oneself")
}

func TestAbsoluteAddress(t *testing.T) {
	ann := network(t, "ann: karma")["ann"]
	eve := network(t, "eve")["eve"]
	if _, err := caller(t, ann).Act(t.Context(), Lull, eve.Dir(), ""); err != nil || !eve.Pending(body.Sleep) {
		t.Error(err)
	}
}
