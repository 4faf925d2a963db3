package files_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// world is a space with a room r of three, in which dan and ann have posted.
type world struct {
	*testing.T
	room.Rooms
	key store.Key
	at  roomPaths
	now time.Time
}

type roomPaths struct{ dir, tx, pending string }

func newWorld(t *testing.T) *world {
	t.Helper()
	root := t.TempDir()
	w := &world{T: t, key: store.Key{Space: root, Room: "r"}, now: time.Date(2026, 7, 6, 12, 0, 0, 0, time.UTC)}
	w.Rooms = room.Rooms{Store: &files.Store{Wait: time.Second}, Now: func() time.Time { return w.now }}
	dir := filepath.Join(root, files.Dir, "threads", "r")
	w.at = roomPaths{dir, filepath.Join(dir, "transactions"), filepath.Join(dir, "transactions", ".pending.yaml")}
	_, err := files.Init(root, []store.Member{{Name: "dan", Kind: "human"}, {Name: "ann", Kind: "agent"}, {Name: "bob", Kind: "agent"}})
	if err == nil {
		_, err = w.Open(context.Background(), w.key, room.Opening{Topic: "t", Moderator: "dan", Order: []string{"ann", "bob"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) post(as, body string) (entry string, err error) {
	w.Helper()
	p, err := w.Post(context.Background(), w.key, room.Draft{As: as, Body: body})
	return p.Entry, err
}

func (w *world) must(as, body string) string {
	w.Helper()
	entry, err := w.post(as, body)
	if err != nil {
		w.Fatal(err)
	}
	return entry
}

func (w *world) write(path, data string) {
	w.Helper()
	if err := os.WriteFile(path, []byte(data), 0o644); err != nil {
		w.Fatal(err)
	}
}

func (w *world) read(path string) string {
	w.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	return string(data)
}

// all returns every file of the room with what is in it, locks left out.
func (w *world) all() map[string]string {
	w.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(filepath.Join(w.key.Space, files.Dir), func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !strings.HasSuffix(p, ".lock") {
			rel, _ := filepath.Rel(w.at.dir, p)
			found[rel] = w.read(p)
		}
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return found
}

func changed(a, b map[string]string) (names []string) {
	for n := range a {
		if b[n] != a[n] {
			names = append(names, n)
		}
	}
	for n := range b {
		if _, ok := a[n]; !ok {
			names = append(names, "+"+n)
		}
	}
	return names
}

// seen returns version and floor as readers see them, and that reading entries works.
func (w *world) seen() (version int, current string, bodies []string) {
	w.Helper()
	h, err := w.Store.Head(context.Background(), w.key)
	if err != nil {
		w.Fatal(err)
	}
	v, err := w.Store.Read(context.Background(), w.key, store.Part{Bodies: true})
	if err != nil {
		w.Fatal(err)
	}
	for e, err := range v.Entries {
		if err != nil {
			w.Fatal(err)
		}
		bodies = append(bodies, e.Body)
	}
	if v.Head.Version != h.Version || v.Head.State.Current() != h.State.Current() {
		w.Errorf("Head and Read differ: %+v %+v", h, v.Head)
	}
	return h.Version, h.State.Current(), bodies
}

// An interruption is what a post by ann that did not get to its end may leave: each part there or not.
type interruption struct {
	world         *world
	id            string
	before, after string // config
	intent, entry string
}

// interrupt posts as ann and takes it apart again, so that only the pending pointer is left.
func interrupt(t *testing.T) *interruption {
	t.Helper()
	w := newWorld(t)
	w.must("dan", "one")
	w.now = w.now.Add(time.Second)
	config := filepath.Join(w.at.dir, "config.yaml")
	in := &interruption{world: w, before: w.read(config)}
	in.id = strings.TrimSuffix(w.must("ann", "two"), ".md")
	in.after, in.intent = w.read(config), w.read(in.path(".yaml"))
	in.entry = w.read(in.path(".md"))
	for _, ext := range []string{".yaml", ".committed", ".md"} {
		if err := os.Remove(in.path(ext)); err != nil {
			t.Fatal(err)
		}
	}
	w.write(config, in.before)
	w.write(w.at.pending, in.intent)
	return in
}

func (in *interruption) path(ext string) string {
	if ext == ".md" {
		return filepath.Join(in.world.at.dir, in.id+ext)
	}
	return filepath.Join(in.world.at.tx, in.id+ext)
}

func TestRecoveryTable(t *testing.T) {
	const other = "# edited by hand\n"
	for _, c := range []struct {
		marker string // committed, aborted or none
		entry  bool
		config string // before, after, other
		intent bool
		want   string // outcome: what a reader and the marker say; "refuse"
	}{
		{"committed", true, "after", true, "committed"},
		{"committed", true, "before", true, "as is"},
		{"committed", true, "other", true, "as is"},
		{"committed", false, "other", true, "as is"},
		{"aborted", false, "before", true, "as is"},
		{"aborted", false, "other", true, "as is"},
		{"aborted", true, "before", true, "as is"},
		{"", false, "before", true, "aborted"},
		{"", false, "before", false, "aborted"},
		{"", true, "before", true, "committed"},
		{"", true, "before", false, "committed"},
		{"", true, "after", true, "committed"},
		{"", true, "after", false, "committed"},
		{"", false, "after", true, "refuse"},
		{"", false, "after", false, "refuse"},
		{"", false, "other", true, "refuse"},
		{"", true, "other", true, "refuse"},
		{"", true, "other", false, "refuse"},
	} {
		t.Run(fmt.Sprintf("marker=%s,entry=%v,config=%s,intent=%v", c.marker, c.entry, c.config, c.intent), func(t *testing.T) {
			in := interrupt(t)
			w := in.world
			if c.marker != "" {
				w.write(in.path("."+c.marker), "entry: "+in.id+".md\noutcome: "+c.marker+"\n")
			}
			if c.entry {
				w.write(in.path(".md"), in.entry)
			}
			if c.intent {
				w.write(in.path(".yaml"), in.intent)
			}
			config := map[string]string{"before": in.before, "after": in.after, "other": in.before + other}[c.config]
			w.write(filepath.Join(w.at.dir, "config.yaml"), config)

			// Readers show it as recovery would leave it, and write nothing.
			version, current := 1, "ann"
			if c.entry {
				version = 2
			}
			if c.config == "after" || c.want == "committed" && c.entry {
				current = "bob"
			}
			before := w.all()
			v, now, bodies := w.seen()
			if v != version || now != current || len(bodies) != version {
				t.Errorf("readers see version %d, %s, %q; want %d, %s", v, now, bodies, version, current)
			}
			if diff := changed(before, w.all()); len(diff) > 0 {
				t.Errorf("readers changed %q", diff)
			}

			// The next writer.
			next, err := w.post(current, "next")
			if c.want == "refuse" {
				if !fault.Is(err, fault.Corrupt) {
					t.Fatalf("want a refusal with corrupt, got %v", err)
				}
				f := fault.From(err)
				if f.Thread != "r" || !strings.Contains(f.Message, in.id) {
					t.Errorf("the refusal names neither room nor entry: %+v", f)
				}
				if diff := changed(before, w.all()); len(diff) > 0 {
					t.Errorf("a refusal changed %q", diff)
				}
				if _, err := w.Moderate(context.Background(), w.key, "dan", room.End); !fault.Is(err, fault.Corrupt) {
					t.Errorf("moderation: want a refusal, got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			after := w.all()
			if _, there := after["transactions/.pending.yaml"]; there {
				t.Error("still pending")
			}
			for name, data := range before {
				if name != "config.yaml" && !strings.Contains(name, "cache") && name != "transactions/.pending.yaml" && after[name] != data {
					t.Errorf("%s was changed", name)
				}
			}
			if got := after["transactions/"+in.id+".yaml"]; got != in.intent {
				t.Errorf("the intent is %q", got)
			}
			outcome := c.want
			if c.want == "as is" {
				outcome = c.marker
			}
			if want := "entry: " + in.id + ".md\noutcome: " + outcome + "\n"; after["transactions/"+in.id+"."+outcome] != want {
				t.Errorf("the marker is %q", after["transactions/"+in.id+"."+outcome])
			}
			if v, _, bodies := w.seen(); v != version+1 || bodies[version] != "next" || !strings.Contains(next, current) {
				t.Errorf("after it: version %d, %q", v, bodies)
			}
			if strings.Contains(after["config.yaml"], other) != (c.config == "other") {
				t.Errorf("config.yaml is %q", after["config.yaml"])
			}
		})
	}
}

func TestRecoveryRefusals(t *testing.T) {
	for name, spoil := range map[string]func(in *interruption){
		"empty":       func(in *interruption) { in.world.write(in.world.at.pending, "") },
		"blank":       func(in *interruption) { in.world.write(in.world.at.pending, " \n\n") },
		"garbage":     func(in *interruption) { in.world.write(in.world.at.pending, "\x00\x01{[:") },
		"list":        func(in *interruption) { in.world.write(in.world.at.pending, "- a\n- b\n") },
		"cut short":   func(in *interruption) { in.world.write(in.world.at.pending, in.intent[:len(in.intent)-5]) },
		"no version":  func(in *interruption) { in.edit("version: 1\n", "") },
		"version 2":   func(in *interruption) { in.edit("version: 1\n", "version: 2\n") },
		"hash":        func(in *interruption) { in.edit("topic: t\n", "topic: u\n") },
		"no after":    func(in *interruption) { in.edit("after_config: |", "other: |") },
		"bad entry":   func(in *interruption) { in.edit("entry: 2", "entry: x2") },
		"other place": func(in *interruption) { in.edit("entry: ", "entry: ../") },
		"no entry":    func(in *interruption) { in.edit("entry: ", "other: ") },
		"year 9999":   func(in *interruption) { in.edit("entry: 2026", "entry: 9999") },
		"intent differs": func(in *interruption) {
			in.world.write(in.path(".yaml"), in.intent+"# more\n")
		},
		"intent empty": func(in *interruption) { in.world.write(in.path(".yaml"), "") },
		"directory": func(in *interruption) {
			os.Remove(in.world.at.pending)
			os.Mkdir(in.world.at.pending, 0o755)
		},
	} {
		for _, published := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,entry=%v", name, published), func(t *testing.T) {
				in := interrupt(t)
				w := in.world
				if published {
					w.write(in.path(".md"), in.entry)
				}
				spoil(in)
				before := w.all()
				version := 1
				if published {
					version = 2
				}
				if v, _, bodies := w.seen(); v != version || len(bodies) != version {
					t.Errorf("readers see version %d, %q", v, bodies)
				}
				_, err := w.post("ann", "next")
				if !fault.Is(err, fault.Corrupt) {
					t.Errorf("want a refusal with corrupt, got %v", err)
				} else if f := fault.From(err); f.Thread != "r" || f.Message == "" || strings.ContainsAny(f.Message, "\x00\n") {
					t.Errorf("the refusal says %+v", f)
				}
				if _, err := w.Moderate(context.Background(), w.key, "dan", room.Topic("x")); !fault.Is(err, fault.Corrupt) {
					t.Errorf("moderation: want a refusal with corrupt, got %v", err)
				}
				if diff := changed(before, w.all()); len(diff) > 0 {
					t.Errorf("a refusal changed %q", diff)
				}
				// Only that room stops.
				other := store.Key{Space: w.key.Space, Room: "other"}
				if _, err := w.Open(context.Background(), other, room.Opening{Topic: "t", Moderator: "dan", Order: []string{"ann"}}); err != nil {
					t.Error(err)
				}
				if _, err := w.Post(context.Background(), other, room.Draft{As: "dan", Body: "x"}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func (in *interruption) edit(old, new string) {
	in.world.Helper()
	if !strings.Contains(in.intent, old) {
		in.world.Fatalf("no %q in %q", old, in.intent)
	}
	in.world.write(in.world.at.pending, strings.Replace(in.intent, old, new, 1))
}

// The record may be written by another hand: with other styles of YAML, keys in another order, keys we do not know.
func TestRecoveryForeignRecord(t *testing.T) {
	in := interrupt(t)
	w := in.world
	w.write(in.path(".md"), in.entry)
	var config strings.Builder
	for _, line := range strings.SplitAfter(in.after, "\n") {
		config.WriteString(strings.ReplaceAll(strings.ReplaceAll(line, `"`, `\"`), "\n", `\n`))
	}
	record := fmt.Sprintf("# by another program\nby: somebody\nafter_config: \"%s\"\nafter_config_sha256: '%x'\nbefore_config_sha256: %x\nentry: '%s.md'\nversion: 1\n",
		config.String(), sha256.Sum256([]byte(in.after)), sha256.Sum256([]byte(in.before)), in.id)
	w.write(w.at.pending, record)
	if v, current, _ := w.seen(); v != 2 || current != "bob" {
		t.Errorf("readers see version %d, %s", v, current)
	}
	w.must("bob", "next")
	if w.read(in.path(".yaml")) != record {
		t.Error("the intent is not byte-identical to the pending record")
	}
	if _, err := os.Stat(w.at.pending); !errors.Is(err, fs.ErrNotExist) {
		t.Error("still pending")
	}
}
