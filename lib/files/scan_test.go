package files_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// A scan is what the files of a room say, read one by one with no index, by code that shares nothing with ours.
type scan struct {
	entries        []transcript.Entry
	lines, visible int
	config         struct {
		Topic      string
		Turn_order []string
		Next_index int
		Status     string
		Quieted    map[string]int
	}
}

var scanned = regexp.MustCompile(`^(\d{8}T\d{6})(\d{3})Z__([a-z0-9%F.-]+?)(__no-op)?\.md$`)

// frontMatter also ends at the first line that is exactly --- when that is the last one, with no line end.
var frontMatter = regexp.MustCompile(`^\x{feff}?---\r?\n(?:[^\n]*\n)*?---(?:\r?\n|\r?$)`)

func scanRoom(dir string) (s scan, err error) {
	found, err := os.ReadDir(dir) // sorted by name
	if err != nil {
		return s, err
	}
	for _, f := range found {
		m := scanned.FindStringSubmatch(f.Name())
		if m == nil || !f.Type().IsRegular() {
			continue
		}
		at, err := time.Parse("20060102T150405.000", m[1]+"."+m[2])
		if err != nil || at.Year() > 9998 || at.Year() < 1970 {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return s, err
		}
		body := string(data)
		if m := frontMatter.FindString(body); m != "" {
			body = body[len(m):]
		}
		e := transcript.Entry{
			Name: f.Name(), Author: strings.ReplaceAll(m[3], "%2F", "/"), Time: at, Pass: m[4] != "",
			Version: len(s.entries) + 1, StartLine: s.lines + 1, Bytes: int64(len(data)),
			SHA256: fmt.Sprintf("%x", sha256.Sum256(data)), Body: strings.TrimSpace(body),
		}
		if !e.Pass {
			e.Lines = 3 + strings.Count(e.Body, "\n")
			s.visible++
		}
		s.lines += e.Lines
		s.entries = append(s.entries, e)
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.yaml"))
	if err == nil {
		err = yaml.Unmarshal(data, &s.config)
	}
	return s, err
}

func (s scan) current() string {
	order := s.config.Turn_order
	if n := s.config.Next_index; n < len(order) {
		return order[n]
	}
	return order[len(order)-1]
}

// part returns the entries that a part names, by definition.
func (s scan) part(p store.Part) []transcript.Entry {
	line := p.FromLine
	if p.LastLines > 0 {
		line = max(line, s.lines-p.LastLines+1)
	}
	var out []transcript.Entry
	for _, e := range s.entries {
		switch {
		case e.Pass && !p.Passes,
			p.From != "" && e.Name < p.From,
			p.Through != "" && e.Name > p.Through,
			p.After != "" && e.Name <= p.After,
			line > 1 && e.StartLine+e.Lines <= line:
		default:
			out = append(out, e)
		}
	}
	if p.Last > 0 && len(out) > p.Last {
		out = out[len(out)-p.Last:]
	}
	return out
}

// mayhem is a room that we and others write in.
type mayhem struct {
	room.Rooms
	key   store.Key
	dir   string
	index string
	kept  [][]byte // older copies of the index
	n     int      // for unique bodies
	// An entry edited in place to another number of lines leaves the numbers of what follows, and totals, as they
	// were until it is fetched itself, or the directory changes: a known limit.
	stale bool
}

// TestIndexSameAsScan has us and others write in a room in any order, and damage the index, and compares what the
// store says with a scan after each step.
func TestIndexSameAsScan(t *testing.T) {
	places := []string{t.TempDir()}
	// Another file system, with other stamps, and faster.
	if dir, err := os.MkdirTemp("/dev/shm", "scan"); err == nil {
		t.Cleanup(func() { os.RemoveAll(dir) })
		places = append(places, dir, dir)
	}
	// A failure depends on the clock as well as on what is drawn, so a file of it would be of little use.
	flag.Set("rapid.nofailfile", "true")
	if f := flag.Lookup("rapid.checks"); f.Value.String() == f.DefValue {
		f.Value.Set("40")
	}
	rooms := 0
	rapid.Check(t, func(t *rapid.T) {
		rooms++
		m := &mayhem{key: store.Key{Space: filepath.Join(rapid.SampledFrom(places).Draw(t, "place"), fmt.Sprint(rooms)), Room: "r"}}
		m.Rooms = room.Rooms{Store: &files.Store{Wait: time.Second}}
		m.dir = filepath.Join(m.key.Space, files.Dir, "threads", "r")
		m.index = filepath.Join(m.key.Space, files.Dir, "cache", "r.index")
		_, err := files.Init(m.key.Space, []store.Member{{Name: "dan", Kind: "human"}, {Name: "ann", Kind: "agent"}, {Name: "x/y", Kind: "agent"}})
		if err == nil {
			_, err = m.Open(context.Background(), m.key, room.Opening{Topic: "t", Moderator: "dan", Order: []string{"ann", "x/y"}})
		}
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(m.key.Space)
		t.Repeat(map[string]func(*rapid.T){
			"":                m.compare,
			"post":            m.post,
			"post again":      m.post,
			"post thrice":     func(t *rapid.T) { m.post(t); m.post(t); m.post(t) },
			"moderate":        m.moderate,
			"foreign entry":   m.foreign,
			"edit in place":   m.edit,
			"edit lines":      m.editLines,
			"replace":         m.replace,
			"remove":          m.remove,
			"rename":          m.rename,
			"readme":          m.readme,
			"config":          m.config,
			"directory times": m.times,
			"not an entry":    m.notEntry,
			"index":           m.damage,
			"index older":     m.older,
		})
	})
}

func fatal(t *rapid.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (m *mayhem) body(t *rapid.T) string {
	m.n++
	return fmt.Sprintf("body %d%s", m.n, strings.Repeat("\nmore", rapid.IntRange(0, 3).Draw(t, "lines")))
}

func (m *mayhem) scan(t *rapid.T) scan {
	t.Helper()
	s, err := scanRoom(m.dir)
	fatal(t, err)
	return s
}

// one picks an entry, "" when there is none.
func (m *mayhem) one(t *rapid.T) string {
	s := m.scan(t)
	if len(s.entries) == 0 {
		t.Skip("no entries")
	}
	return filepath.Join(m.dir, s.entries[rapid.IntRange(0, len(s.entries)-1).Draw(t, "entry")].Name)
}

func (m *mayhem) post(t *rapid.T) {
	s := m.scan(t)
	body := m.body(t)
	if rapid.IntRange(0, 5).Draw(t, "pass") == 0 {
		body = "pass"
	}
	id := fmt.Sprint("id", rapid.IntRange(0, 5).Draw(t, "id"))
	if id == "id0" {
		id = ""
	}
	last := time.Time{}
	if n := len(s.entries); n > 0 {
		last = s.entries[n-1].Time
	}
	p, err := m.Post(context.Background(), m.key, room.Draft{As: s.current(), Body: body, ID: id})
	if last.Year() == 9998 && fault.Is(err, fault.Corrupt) {
		return
	}
	fatal(t, err)
	if p.Duplicate {
		return // an entry of his among the last 64 has it; that is looked at elsewhere
	}
	if p.Version != len(s.entries)+1 {
		t.Fatalf("version %d after %d entries", p.Version, len(s.entries))
	}
}

func (m *mayhem) moderate(t *rapid.T) {
	m.n++
	act := rapid.SampledFrom([]room.Act{
		room.Hand("dan"), room.Hand("ann"), room.Quiet("ann", 1), room.Quiet("x/y", 2), room.Topic(fmt.Sprint("topic ", m.n)),
	}).Draw(t, "act")
	_, err := m.Moderate(context.Background(), m.key, "dan", act)
	fatal(t, err)
}

// foreign drops an entry in, before, between or after those there are.
func (m *mayhem) foreign(t *rapid.T) {
	at := time.Now().UTC().Add(time.Duration(rapid.IntRange(-5000, 5).Draw(t, "ms")) * time.Millisecond)
	if s := m.scan(t); len(s.entries) > 0 && rapid.Bool().Draw(t, "near") {
		at = s.entries[rapid.IntRange(0, len(s.entries)-1).Draw(t, "near which")].Time.Add(time.Millisecond)
	}
	author := rapid.SampledFrom([]string{"dan", "ann", "x%2Fy", "eve"}).Draw(t, "author")
	name := strings.Replace(at.Format("20060102T150405.000Z"), ".", "", 1) + "__" + author
	if rapid.IntRange(0, 4).Draw(t, "pass") == 0 {
		name += "__no-op"
	}
	body := m.body(t)
	data := rapid.SampledFrom([]string{
		"---\nauthor: a\ntimestamp: 2026-07-06T13:15:02.084Z\n---\n\n" + body + "\n",
		"\ufeff---\r\nauthor: a\r\n---\r\n\r\n" + body + "\r\n",
		body,
		"---\nno end of it\n" + body,
		"---\nauthor: a\n---\n\n\n",
		"",
		"---\nid: id1\n---\n\n  \n\n" + body + "\n\n\n---\n\nend  \n",
	}).Draw(t, "content")
	path := filepath.Join(m.dir, name+".md")
	if _, err := os.Lstat(path); err == nil {
		return
	}
	fatal(t, os.WriteFile(path, []byte(data), 0o644))
	m.stale = false
}

// edit changes a letter in place, which leaves size, lines and, once it is set back, the time of modification.
func (m *mayhem) edit(t *rapid.T) {
	path := m.one(t)
	info, err := os.Stat(path)
	fatal(t, err)
	data, err := os.ReadFile(path)
	fatal(t, err)
	i := strings.LastIndex(string(data), "body")
	if i < 0 {
		return
	}
	data[i] = "bcdfg"[rand.IntN(5)]
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	fatal(t, err)
	_, err = f.WriteAt(data[i:i+1], int64(i))
	fatal(t, err)
	fatal(t, f.Close())
	fatal(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func (m *mayhem) editLines(t *rapid.T) {
	fatal(t, os.WriteFile(m.one(t), []byte("---\nauthor: a\n---\n\n"+m.body(t)+"\n"), 0o644))
	m.stale = true
}

func (m *mayhem) replace(t *rapid.T) {
	path := m.one(t)
	temp := filepath.Join(m.key.Space, "temp")
	fatal(t, os.WriteFile(temp, []byte("---\nauthor: a\n---\n\n"+m.body(t)+"\n"), 0o644))
	if info, err := os.Stat(path); err == nil && rapid.Bool().Draw(t, "old time") {
		fatal(t, os.Chtimes(temp, info.ModTime(), info.ModTime()))
	}
	fatal(t, os.Rename(temp, path))
	m.stale = false
}

func (m *mayhem) remove(t *rapid.T) {
	path := m.one(t)
	data, err := os.ReadFile(path)
	fatal(t, err)
	fatal(t, os.Remove(path))
	m.stale = false
	if rapid.Bool().Draw(t, "and back") {
		fatal(t, os.WriteFile(path, data, 0o644))
	}
}

func (m *mayhem) rename(t *rapid.T) {
	path := m.one(t)
	to := strings.TrimSuffix(path, ".md") + ".txt"
	if rapid.Bool().Draw(t, "author") {
		to = path[:strings.Index(path, "__")] + "__zoe.md"
	}
	fatal(t, os.Rename(path, to))
	m.stale = false
}

func (m *mayhem) readme(t *rapid.T) {
	path := filepath.Join(m.dir, "README.md")
	_, err := os.Stat(path)
	if err == nil && rapid.Bool().Draw(t, "remove") {
		fatal(t, os.Remove(path))
		m.stale = false
		return
	}
	m.stale = m.stale && err == nil // one that is there is changed in place
	fatal(t, os.WriteFile(path, []byte(m.body(t)), 0o644))
}

func (m *mayhem) config(t *rapid.T) {
	path := filepath.Join(m.dir, "config.yaml")
	data, err := os.ReadFile(path)
	fatal(t, err)
	text := regexp.MustCompile(`(?m)^next_index:.*\n`).ReplaceAllString(string(data), "")
	if n := rapid.IntRange(0, 3).Draw(t, "next"); n > 0 {
		text += fmt.Sprintf("next_index: %d # by hand\n", n)
	}
	if rapid.Bool().Draw(t, "rename") {
		temp := filepath.Join(m.key.Space, "temp")
		fatal(t, os.WriteFile(temp, []byte(text), 0o644))
		fatal(t, os.Rename(temp, path))
		m.stale = false
		return
	}
	fatal(t, os.WriteFile(path, []byte(text), 0o644))
}

func (m *mayhem) times(t *rapid.T) {
	info, err := os.Stat(m.dir)
	fatal(t, err)
	old := info.ModTime()
	if rapid.Bool().Draw(t, "drop one") {
		m.foreign(t)
	}
	fatal(t, os.Chtimes(m.dir, old, old))
}

func (m *mayhem) notEntry(t *rapid.T) {
	m.n++
	path := filepath.Join(m.dir, fmt.Sprintf("20260101T%09dZ__ann.md", m.n))
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		os.Mkdir(path, 0o755)
	case 1:
		os.Symlink("config.yaml", path)
	case 2:
		os.WriteFile(filepath.Join(m.dir, fmt.Sprintf("20261301T%09dZ__ann.md", m.n)), []byte("no such month"), 0o644)
	case 3:
		os.WriteFile(filepath.Join(m.dir, fmt.Sprintf("20260101T%09dZ__Ann.md", m.n)), []byte("no such name"), 0o644)
	}
	m.stale = false
}

// damage does something to the index.
func (m *mayhem) damage(t *rapid.T) {
	data, err := os.ReadFile(m.index)
	if err != nil || len(data) == 0 {
		t.Skip("no index")
	}
	at := rapid.IntRange(0, len(data)-1).Draw(t, "at")
	switch rapid.IntRange(0, 5).Draw(t, "how") {
	case 0:
		fatal(t, os.Remove(m.index))
		return
	case 1:
		data = data[:at]
	case 2:
		for i := at; i < min(len(data), at+rapid.IntRange(1, 600).Draw(t, "length")); i++ {
			data[i] = byte(rand.Uint32())
		}
	case 3:
		data[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
	case 4:
		clear(data[at:])
	case 5:
		data = append(data, data[:at]...)
	}
	fatal(t, os.WriteFile(m.index, data, 0o644))
}

// older keeps a copy of the index, or puts one back.
func (m *mayhem) older(t *rapid.T) {
	if len(m.kept) > 0 && rapid.Bool().Draw(t, "put back") {
		fatal(t, os.WriteFile(m.index, rapid.SampledFrom(m.kept).Draw(t, "which"), 0o644))
		return
	}
	if data, err := os.ReadFile(m.index); err == nil {
		m.kept = append(m.kept, data)
	}
}

// compare asks the store about the room in every way.
func (m *mayhem) compare(t *rapid.T) {
	s := m.scan(t)
	head, err := m.Store.Head(context.Background(), m.key)
	fatal(t, err)
	m.compareHead(t, s, head)
	all := []store.Part{{Bodies: true}, {}, {Bodies: true, Passes: true}}
	n := len(s.entries)
	parts := []store.Part{
		{Last: rapid.IntRange(1, n+2).Draw(t, "last"), Bodies: true},
		{Last: rapid.IntRange(1, n+2).Draw(t, "last, passes too"), Passes: true},
		{After: fmt.Sprintf("%d", rapid.IntRange(0, 3).Draw(t, "after")), Last: 3},
	}
	if n > 0 {
		i := rapid.IntRange(0, n-1).Draw(t, "from")
		j := rapid.IntRange(i, n-1).Draw(t, "through")
		from, through := s.entries[i].Name, s.entries[j].Name
		parts = append(parts,
			store.Part{From: from, Through: through, Passes: true, Bodies: true},
			store.Part{From: from, Passes: true}, store.Part{After: from, Bodies: true})
	}
	if !m.stale {
		parts = append(parts,
			store.Part{FromLine: rapid.IntRange(1, s.lines+2).Draw(t, "line"), Bodies: true},
			store.Part{LastLines: rapid.IntRange(1, s.lines+2).Draw(t, "lines"), Bodies: rapid.Bool().Draw(t, "bodies")})
	}
	for i, p := range append(all, parts...) {
		v, err := m.Store.Read(context.Background(), m.key, p)
		fatal(t, err)
		m.compareHead(t, s, v.Head)
		if v.Visible != s.visible || !m.stale && v.Lines != s.lines || v.Damage != nil {
			t.Fatalf("visible %d, want %d; lines %d, want %d; damage %v", v.Visible, s.visible, v.Lines, s.lines, v.Damage)
		}
		want := s.part(p)
		got := 0
		for e, err := range v.Entries {
			fatal(t, err)
			if got == len(want) {
				t.Fatalf("%+v: one too many: %+v", p, e)
			}
			w := want[got]
			if e.ID = ""; !p.Bodies {
				w.Body = ""
			}
			if m.stale && i >= len(all) {
				w.StartLine, e.StartLine = 0, 0
			}
			if !reflect.DeepEqual(e, w) {
				t.Fatalf("%+v: entry %d of %d\ngot  %+v\nwant %+v", p, got, len(want), e, w)
			}
			got++
		}
		if got != len(want) {
			t.Fatalf("%+v: %d entries, want %d", p, got, len(want))
		}
	}
}

func (m *mayhem) compareHead(t *rapid.T, s scan, h store.Head) {
	t.Helper()
	last := ""
	if n := len(s.entries); n > 0 {
		last = s.entries[n-1].Name
	}
	if h.Version != len(s.entries) || h.Last != last {
		t.Fatalf("version %d, last %s; want %d, %s", h.Version, h.Last, len(s.entries), last)
	}
	if h.State.Current() != s.current() || h.State.Topic != s.config.Topic || !slices.Equal(h.State.Order, s.config.Turn_order) ||
		cmp.Compare(len(h.State.Quieted), len(s.config.Quieted)) != 0 {
		t.Fatalf("state %+v, config %+v", h.State, s.config)
	}
}
