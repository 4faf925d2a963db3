package mail

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/notice"
)

var (
	noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	ctx  = context.Background()
	env  = body.Env{Threshold: body.DefaultThreshold}
)

// network makes a directory for agents.
func network(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// agent makes an agent that is alive at noon, and a human where the name is human.
func agent(t *testing.T, net, name string) Box {
	t.Helper()
	manifest := fmt.Sprintf(`{"agent_id":"20260101-000000-%.4x","agent_name":"%s the Agent","admin":{}}`, name, name)
	if name == "human" {
		manifest = `{"agent_id":"20260101-000000-0000","agent_name":"Hugh","admin":null}`
	}
	b := bodytest.At(t, filepath.Join(net, name), map[string]string{body.ManifestFile: manifest})
	if name != "human" {
		beat(t, Open(b, env), noon)
	}
	return Open(b, env)
}

func beat(t *testing.T, x Box, at time.Time) {
	t.Helper()
	if err := x.body.Beat(at); err != nil {
		t.Fatal(err)
	}
}

// send sends a draft and delivers it.
func send(t *testing.T, x Box, d Draft, now time.Time) Message {
	t.Helper()
	m, _, err := x.Send(ctx, d, now)
	if err != nil {
		t.Fatalf("send: %v", err)
	}
	if m, err = x.Deliver(ctx, m.ID, now); err != nil {
		t.Fatalf("deliver: %v", err)
	}
	return m
}

func to(names ...string) Draft { return Draft{To: names, Subject: "s", Message: "m"} }

// in returns the IDs in a folder.
func in(t *testing.T, x Box, folder string) []string {
	t.Helper()
	entries, err := x.entries(folder)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.id)
	}
	return ids
}

// get reads a message that has to be there.
func get(t *testing.T, x Box, folder, id string) Message {
	t.Helper()
	m, err := x.load(folder, id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tree returns a line for everything below a directory.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var sum [32]byte
		if d.Type().IsRegular() {
			sum = sha256.Sum256([]byte(bodytest.Contents(t, p)))
		}
		fmt.Fprintf(&b, "%s %v %x\n", p, d.Type(), sum[:6])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// bounces returns what the sender was told.
func bounces(t *testing.T, x Box) []notice.Event {
	t.Helper()
	c, err := notice.Open(x.body).Read(notice.System)
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(notice.Events(c), func(e notice.Event) bool { return e.Source != "email.bounce" })
}

// temporaries fails when anything half done is left in a mailbox.
func temporaries(t *testing.T, boxes ...Box) {
	t.Helper()
	for _, x := range boxes {
		_ = filepath.WalkDir(x.path(), func(p string, _ fs.DirEntry, err error) error {
			if err == nil && disk.IsTemp(filepath.Base(p)) {
				t.Errorf("left: %s", p)
			}
			return nil
		})
		if left := in(t, x, desk); len(left) > 0 {
			t.Errorf("left on the desk of %s: %q", x.body.Address(), left)
		}
	}
}

func poll(t *testing.T, p *Poller, now time.Time) Polled {
	t.Helper()
	got, err := p.Poll(ctx, now)
	if err != nil {
		t.Fatal(err)
	}
	return got
}
