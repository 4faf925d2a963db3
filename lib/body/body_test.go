package body_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

// noon is when most tests take place.
var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// children are what this test program does when it is started as a child: the race is
// between processes, as it is in life.
var children = map[string]func(){}

func TestMain(m *testing.M) {
	if child := children[os.Getenv("BODY_CHILD")]; child != nil {
		child()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// child returns a command that runs one of the children on a directory.
func child(t *testing.T, name, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BODY_CHILD="+name, "BODY_DIR="+dir, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// begun starts a child, which ends with the test, and returns the line that it says
// when it is ready.
func begun(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	in, err := cmd.StdinPipe()
	do(t, err)
	out, err := cmd.StdoutPipe()
	do(t, err)
	do(t, cmd.Start())
	t.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	said, err := bufio.NewReader(out).ReadString('\n')
	do(t, err)
	return strings.TrimSpace(said)
}

var do = bodytest.Do

// clean checks that no temporary file is left in a body.
func clean(t *testing.T, b body.Body) {
	t.Helper()
	files, err := os.ReadDir(b.Dir())
	do(t, err)
	for _, f := range files {
		if disk.IsTemp(f.Name()) {
			t.Errorf("left behind: %v", f)
		}
	}
}

func TestTwoSpellingsAreOneBody(t *testing.T) {
	b := bodytest.New(t, map[string]string{"init.json": "{}"})
	link := filepath.Join(t.TempDir(), "other-name")
	do(t, os.Symlink(b.Dir(), link))
	t.Chdir(filepath.Dir(b.Dir()))
	for _, spelling := range []string{b.Dir(), b.Dir() + "/", b.Dir() + "/../" + b.Address(), link, link + "/.", b.Address()} {
		got, err := body.Open(spelling)
		if err != nil || got != b || !got.Same(b) || got.Address() != filepath.Base(b.Dir()) {
			t.Errorf("%s: got %v, %v", spelling, got, err)
		}
	}
	if other := bodytest.New(t, nil); other.Same(b) {
		t.Error("two directories are one")
	}
}

func TestOpenRefusesWhatIsNoDirectory(t *testing.T) {
	b := bodytest.New(t, map[string]string{"file": ""})
	do(t, os.Symlink(b.Path("nowhere"), b.Path("dangling")))
	do(t, os.Symlink(b.Path("loop"), b.Path("loop")))
	for _, bad := range []string{b.Path("file"), b.Path("nosuch"), b.Path("dangling"), b.Path("loop"), b.Path("file", "x")} {
		if got, err := body.Open(bad); !fault.Is(err, fault.BadInput) {
			t.Errorf("%s: got %v, %v", bad, got, err)
		}
	}
}

func TestFindLooksUpward(t *testing.T) {
	b := bodytest.New(t, map[string]string{".agent.json": "{", "a/b/c": ""})
	t.Chdir(b.Path("a/b"))
	if got, err := body.Find(""); err != nil || got != b {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err := body.Find(".."); !fault.Is(err, fault.BadInput) {
		t.Errorf("a named one has to be one itself: got %v, %v", got, err)
	}
	if got, err := body.Find("../.."); err != nil || got != b {
		t.Errorf("got %v, %v", got, err)
	}
	t.Chdir(t.TempDir())
	if got, err := body.Find(""); !fault.Is(err, fault.BadInput) || fault.From(err).Hint == "" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestListShowsEachBodyOnce(t *testing.T) {
	net := t.TempDir()
	ann := bodytest.At(t, filepath.Join(net, "ann"), map[string]string{"init.json": "{}"})
	human := bodytest.At(t, filepath.Join(net, "human"), map[string]string{".agent.json": `{"admin":null}`})
	bodytest.At(t, filepath.Join(net, "empty"), nil)
	away := bodytest.New(t, map[string]string{".agent.json": "broken"})
	do(t, os.Symlink(ann.Dir(), filepath.Join(net, "again")))
	do(t, os.Symlink(away.Dir(), filepath.Join(net, "far")))
	do(t, os.Symlink(net, filepath.Join(net, "loop")))
	do(t, os.Symlink("nowhere", filepath.Join(net, "dangling")))
	do(t, os.WriteFile(filepath.Join(net, "file"), nil, 0o600))
	got, err := body.List(net)
	if want := []body.Body{ann, away, human}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	if _, err := body.List(filepath.Join(net, "file")); !fault.Is(err, fault.BadInput) {
		t.Errorf("got %v", err)
	}
}

func TestMakeStaysBelowAndIsShared(t *testing.T) {
	b := bodytest.New(t, map[string]string{"file": ""})
	do(t, os.Chmod(b.Dir(), 0o770))
	for range 2 {
		got, err := b.Make("logs/deep")
		if err != nil || got != b.Path("logs", "deep") {
			t.Fatalf("got %s, %v", got, err)
		}
	}
	if info, err := os.Stat(b.Path("logs")); err != nil || info.Mode().Perm() != 0o770 {
		t.Errorf("got %v, %v", info, err)
	}
	for _, bad := range []string{"..", "../x", "a/../../x", "/", "file/x"} {
		if got, err := b.Make(bad); err == nil {
			t.Errorf("%s: made %s", bad, got)
		}
	}
	if disk.Exists(filepath.Join(filepath.Dir(b.Dir()), "x")) {
		t.Error("made outside")
	}
}

func TestEnvironment(t *testing.T) {
	for _, c := range []struct {
		ours, theirs string
		want         time.Duration
	}{
		{"", "", 10 * time.Second},
		{"", "2.5", 2500 * time.Millisecond},
		{"4", "2.5", 4 * time.Second}, // ours wins
		{" 4 ", "", 4 * time.Second},
		{"x", "2.5", 10 * time.Second}, // also when it makes no sense
		{"", "0", 10 * time.Second},
		{"", "-1", 10 * time.Second},
		{"", "NaN", 10 * time.Second},
		{"", "Inf", 10 * time.Second},
		{"", "1e400", 10 * time.Second},
		{"", "1e300", 1<<63 - 1},
		{"", "1e-300", 1},
		{"", "10s", 10 * time.Second},
	} {
		env := body.ReadEnv(func(name string) (string, bool) {
			switch name {
			case "SUBSTRATE_AGENT_ALIVE_THRESHOLD_SEC":
				return c.ours, c.ours != ""
			case "LINGTAI_AGENT_ALIVE_THRESHOLD_SEC":
				return c.theirs, c.theirs != ""
			}
			return "", false
		})
		if env.Threshold != c.want {
			t.Errorf("%q, %q: got %v", c.ours, c.theirs, env.Threshold)
		}
	}
	for value, want := range map[string]bool{"": true, " YES ": true, "on": true, "1": true, "True": true, "0": false, "off": false, "2": false} {
		look := body.Lookup(func(string) (string, bool) { return value, true })
		if got := look.Switch("NUDGE_ENABLED", true); got != want {
			t.Errorf("%q: got %v", value, got)
		}
	}
}

func TestLook(t *testing.T) {
	env := body.Env{Threshold: 10 * time.Second}
	b := bodytest.New(t, map[string]string{
		"init.json": "{}", "mailbox/read.json": `["m1"]`,
		"mailbox/inbox/m1/message.json": "", "mailbox/inbox/m2/message.json": "", "mailbox/inbox/.tmp-1/message.json": "",
		"mailbox/inbox/half/x": "",
	})
	is := func(what, state string, alive bool, lease string) {
		t.Helper()
		if r := b.Look(t.Context(), noon, env); r.State != state || r.Alive != alive || r.Lease != lease {
			t.Errorf("%s: got %+v", what, r)
		}
	}
	is("never started", "", false, "free")
	do(t, os.WriteFile(b.Path(".agent.json"), []byte(`{"agent_id":"x","admin":{},"state":"active"}`), 0o600))
	is("died", "suspended", false, "free")
	lease, err := b.Acquire(t.Context(), 0)
	do(t, err)
	is("holds its lease and does not move", "active", false, "held")
	do(t, b.Beat(noon.Add(-3*time.Second)))
	do(t, b.WriteStatus(body.Status{Runtime: body.Runtime{State: "idle"}, ActiveTurn: &body.Turn{ID: "t7"}}))
	is("well", "idle", true, "held")
	if r := b.Look(t.Context(), noon, env); r.HeartbeatMS != 3000 || r.Heartbeat != "present" || r.ActiveTurn != "t7" || r.Unread != 1 {
		t.Errorf("got %+v", r)
	}
	do(t, os.WriteFile(b.Path(body.HeartbeatFile), []byte("nan"), 0o600))
	if r := b.Look(t.Context(), noon, env); r.Heartbeat != "malformed" || r.Alive {
		t.Errorf("got %+v", r)
	}
	do(t, b.Beat(noon))
	lease.Release()
	is("ended a moment ago", "idle", true, "free")
	do(t, os.Remove(b.Path(body.LeaseFile)))
	do(t, os.Mkdir(b.Path(body.LeaseFile), 0o700))
	is("a lease that cannot be known", "idle", true, "")
	do(t, os.WriteFile(b.Path(".agent.json"), []byte(`{"agent_name":"Dan"}`), 0o600))
	if r := b.Look(t.Context(), noon.AddDate(1, 0, 0), env); r.Kind != "human" || !r.Alive || r.State != "" || r.Name != "Dan" {
		t.Errorf("got %+v", r)
	}
	if got := b.Look(t.Context(), noon, env).Text(); !strings.Contains(got, "(Dan)  human  1 unread") {
		t.Errorf("got %q", got)
	}
}
