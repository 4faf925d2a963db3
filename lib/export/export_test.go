package export_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/substrate-tools/substrate/lib/export"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// talk returns a store and a room in which these were posted, by dan and ann in turn, and their names.
func talk(t testing.TB, bodies ...string) (store.Store, store.Key, []string) {
	t.Helper()
	root, err := files.Init(filepath.Join(t.TempDir(), "s"), []store.Member{{Name: "dan", Kind: "human"}, {Name: "ann", Kind: "agent"}})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 7, 6, 13, 15, 0, 0, time.UTC)
	r := room.Rooms{Store: &files.Store{}, Now: func() time.Time { now = now.Add(time.Second); return now }}
	key := store.Key{Space: root, Room: "design"}
	if _, err := r.Open(t.Context(), key, room.Opening{Topic: "t", Moderator: "dan", Order: []string{"ann"}}); err != nil {
		t.Fatal(err)
	}
	var names []string
	for i, body := range bodies {
		p, err := r.Post(t.Context(), key, room.Draft{As: []string{"dan", "ann"}[i%2], Body: body})
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, p.Entry)
	}
	return r.Store, key, names
}

// packed returns the tar of a room.
func packed(t testing.TB, s store.Store, key store.Key, through string) ([]byte, record.Export) {
	t.Helper()
	var b bytes.Buffer
	out := export.Tar(&b)
	made, err := export.Write(t.Context(), s, key, through, out, nil)
	if err = out.Close(err); err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), made
}

// A part is one header of a tar and its content.
type part struct {
	tar.Header
	data string
}

func parts(t testing.TB, b []byte) []part {
	t.Helper()
	var all []part
	for in := tar.NewReader(bytes.NewReader(b)); ; {
		head, err := in.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, part{*head, string(data)})
	}
}

func pack(t testing.TB, all []part) []byte {
	t.Helper()
	var b bytes.Buffer
	out := tar.NewWriter(&b)
	for _, p := range all {
		p.Size, p.PAXRecords, p.Format = int64(len(p.data)), nil, tar.FormatUnknown
		if err := out.WriteHeader(&p.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(out, p.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// verify verifies a tar in a directory of its own and checks that nothing is left in the temporary one.
func verify(t testing.TB, b []byte) (export.Checked, error) {
	t.Helper()
	temp, dir := t.TempDir(), t.TempDir()
	if t, ok := t.(*testing.T); ok {
		t.Setenv("TMPDIR", temp)
	}
	name := filepath.Join(dir, "x.tar")
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	var c export.Checked
	opened, done, err := export.Open(name)
	if err == nil {
		c, err = export.Verify(opened)
		done()
	}
	for where, want := range map[string]int{temp: 0, dir: 1} {
		if left, err := os.ReadDir(where); err != nil || len(left) != want {
			t.Errorf("%s: %v, %v", where, left, err)
		}
	}
	return c, err
}

// differs checks that an error names a difference.
func differs(t testing.TB, what string, err error, says string) {
	t.Helper()
	if !fault.Is(err, fault.Corrupt) || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: got %v, want corrupt and %q", what, err, says)
	}
}

func TestATarIsTheSameEachTime(t *testing.T) {
	s, key, names := talk(t, "one", "pass", "two\n\nand more", "three")
	first, made := packed(t, s, key, "")
	second, _ := packed(t, s, key, "")
	if !bytes.Equal(first, second) {
		t.Error("it is not")
	}
	third, _ := packed(t, s, key, names[3])
	if !bytes.Equal(first, third) {
		t.Error("through its last entry it is not")
	}
	c, err := verify(t, first)
	if err != nil {
		t.Fatal(err)
	}
	if c.Record.Type != "verified" || c.Record.Version != 4 || c.Record.Entries != 3 || c.Record.ThroughEntry != names[3] ||
		c.Record.Bytes != made.Bytes || c.Record.ManifestSHA256 != made.ManifestSHA256 || c.Record.Signed {
		t.Errorf("made %+v\nverified %+v", made, c.Record)
	}
	var order []string
	for _, p := range parts(t, first) {
		order = append(order, p.Name)
		if p.Mode != 0o644 || p.Uid != 0 || p.Uname != "" || !p.AccessTime.IsZero() {
			t.Errorf("%+v", p.Header)
		}
	}
	want := []string{"entries/" + names[0], "entries/" + names[2], "entries/" + names[3], "transcript.txt", "manifest.json"}
	if !slices.Equal(order, want) {
		t.Errorf("got %q", order)
	}
}

func TestThroughAnEntryIsTheRoomAsItWas(t *testing.T) {
	s, key, names := talk(t, "one", "pass", "two")
	before, made := packed(t, s, key, names[2])
	r := room.Rooms{Store: s}
	for i := range 5 {
		if _, err := r.Post(t.Context(), key, room.Draft{As: []string{"ann", "dan"}[i%2], Body: "later"}); err != nil {
			t.Fatal(err)
		}
	}
	after, _ := packed(t, s, key, names[2])
	if !bytes.Equal(before, after) || made.Version != 3 {
		t.Errorf("changed; made %+v", made)
	}
	if _, made := packed(t, s, key, names[0]); made.Version != 1 || made.Entries != 1 {
		t.Errorf("got %+v", made)
	}
}

// Names that lead elsewhere, what is no file, and what is there twice.
func TestTarsThatAreNotOurs(t *testing.T) {
	s, key, names := talk(t, "one", "two", "three")
	good, _ := packed(t, s, key, "")
	outside := filepath.Join(t.TempDir(), "outside")
	file := func(name, data string) part {
		return part{tar.Header{Name: name, Mode: 0o644, Typeflag: tar.TypeReg}, data}
	}
	link := func(kind byte, name, to string) part {
		return part{tar.Header{Name: name, Linkname: to, Mode: 0o644, Typeflag: kind}, ""}
	}
	for what, c := range map[string]struct {
		first, last []part
		says        string
	}{
		"a name that leads out":      {nil, []part{file("../evil", "x")}, "evil"},
		"one that leads out later":   {nil, []part{file("entries/../../evil", "x")}, "evil"},
		"first of all":               {[]part{file("../evil", "x")}, nil, "evil"},
		"an absolute name":           {nil, []part{file(outside, "x")}, "outside"},
		"a directory that leads out": {[]part{{tar.Header{Name: "../evil/", Mode: 0o755, Typeflag: tar.TypeDir}, ""}}, nil, "evil"},
		"a symbolic link":            {nil, []part{link(tar.TypeSymlink, "l", "/etc/passwd")}, `"l"`},
		"a link, then through it":    {[]part{link(tar.TypeSymlink, "entries", filepath.Dir(outside))}, nil, `"entries"`},
		"a hard link":                {nil, []part{link(tar.TypeLink, "l", "manifest.json")}, `"l"`},
		"a fifo":                     {nil, []part{link(tar.TypeFifo, "f", "")}, `"f"`},
		"a device":                   {nil, []part{link(tar.TypeChar, "d", "")}, `"d"`},
		"another file":               {nil, []part{file("notes.txt", "x")}, `file was added: "notes.txt"`},
		"another entry":              {nil, []part{file("entries/20260706T131509000Z__dan.md", "x")}, "file was added"},
		"a manifest more":            {nil, []part{file("manifest.json", "{}")}, `twice: "manifest.json"`},
		"the same manifest more":     {nil, parts(t, good)[4:], `twice: "manifest.json"`},
		"a manifest more, spelled":   {nil, []part{file("./manifest.json", "{}")}, "manifest.json"},
		"by another way":             {nil, []part{file("entries/../manifest.json", "{}")}, "manifest.json"},
		"first":                      {[]part{file("manifest.json", "{}")}, nil, "twice"},
		"an entry more":              {nil, []part{file("entries/"+names[1], "x")}, "twice"},
		"a file for a directory":     {[]part{file("entries", "x")}, nil, "entries"},
	} {
		all := append(append(slices.Clone(c.first), parts(t, good)...), c.last...)
		_, err := verify(t, pack(t, all))
		if what == "a file for a directory" && err != nil {
			continue // whatever the system says of it
		}
		differs(t, what, err, c.says)
		if _, err := os.Lstat(outside); err == nil {
			t.Fatalf("%s: written outside", what)
		}
	}
	if _, err := verify(t, pack(t, parts(t, good))); err != nil {
		t.Errorf("the same parts again: %v", err)
	}
	shuffled := parts(t, good)
	slices.Reverse(shuffled)
	if _, err := verify(t, pack(t, shuffled)); err != nil {
		t.Errorf("in another order: %v", err)
	}
}

func TestATarCutAnywhere(t *testing.T) {
	s, key, _ := talk(t, "one", strings.Repeat("two ", 500), "three")
	good, _ := packed(t, s, key, "")
	whole := len(good) - 1024 // two empty blocks end it
	manifest := parts(t, good)[4]
	data := whole - (len(manifest.data)+511)/512*512 + len(manifest.data)
	for n := 0; n < data; n += 97 {
		_, err := verify(t, good[:n])
		if differs(t, "cut", err, ""); t.Failed() {
			t.Fatalf("after %d of %d", n, len(good))
		}
	}
	for i := 0; i < data; i += 61 {
		b := slices.Clone(good)
		b[i] ^= 0x40
		if c, err := verify(t, b); err == nil {
			// Only what tar keeps for itself: owner, times, padding.
			if again, _ := verify(t, good); again.Record != c.Record {
				t.Errorf("byte %d: %+v", i, c.Record)
			}
		}
	}
	for _, b := range [][]byte{nil, []byte("x"), make([]byte, 512), make([]byte, 10240), bytes.Repeat([]byte("x"), 5000), {0x1f, 0x8b}} {
		_, err := verify(t, b)
		differs(t, "no tar", err, "")
	}
}

// broken is a sink that fails at a file.
type broken struct {
	export.Sink
	at string
}

var errBroken = errors.New("broken")

func (b broken) Put(name string, at time.Time, size int64, content io.Reader) error {
	if strings.HasSuffix(name, b.at) {
		return errBroken
	}
	return b.Sink.Put(name, at, size, content)
}

func TestAnExportThatFailsLeavesNothing(t *testing.T) {
	s, key, names := talk(t, "one", "two")
	for _, to := range []string{"x", "x.tar"} {
		for _, at := range []string{names[0], names[1], "transcript.txt", "manifest.json", "manifest.json.sig"} {
			dir := t.TempDir()
			sink, err := export.To(filepath.Join(dir, to))
			if err != nil {
				t.Fatal(err)
			}
			sign := func(io.Reader) ([]byte, error) { return []byte("s"), nil }
			_, err = export.Write(t.Context(), s, key, "", broken{sink, at}, sign)
			if err = sink.Close(err); !errors.Is(err, errBroken) {
				t.Errorf("%s at %s: got %v", to, at, err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
				t.Errorf("%s at %s: left %v, %v", to, at, left, err)
			}
		}
		// Nothing is at the target until all of it is, and who came first keeps it.
		dir := t.TempDir()
		sink, err := export.To(filepath.Join(dir, to))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := export.Write(t.Context(), s, key, "", sink, nil); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(filepath.Join(dir, to)); err == nil {
			t.Errorf("%s is there before it is whole", to)
		}
		if err := os.WriteFile(filepath.Join(dir, to), []byte("mine"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := sink.Close(nil); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: got %v", to, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, to)); err != nil || string(b) != "mine" {
			t.Errorf("%s: %q, %v", to, b, err)
		}
		if left, _ := os.ReadDir(dir); len(left) != 1 {
			t.Errorf("%s: left %v", to, left)
		}
		if _, err := export.To(filepath.Join(dir, to)); !fault.Is(err, fault.Exists) {
			t.Errorf("%s: got %v", to, err)
		}
	}
	out := export.Tar(io.Discard)
	_, err := export.Write(t.Context(), s, key, "", out, func(io.Reader) ([]byte, error) { return nil, errBroken })
	if !errors.Is(err, errBroken) {
		t.Errorf("no signature: %v", err)
	}
	_, err = export.Write(t.Context(), s, key, "20260706T131502085Z__dan.md", out, nil)
	if !fault.Is(err, fault.UnknownEntry) {
		t.Errorf("unknown entry: %v", err)
	}
}

func TestCompare(t *testing.T) {
	s, key, names := talk(t, "one", "pass", "two", "three")
	b, _ := packed(t, s, key, "")
	c, err := verify(t, b)
	if err != nil {
		t.Fatal(err)
	}
	compare := func() error { return c.Compare(context.Background(), s, key) }
	if err := compare(); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(key.Space, ".substrate", "threads", "design")
	path := func(name string) string { return filepath.Join(dir, name) }
	for i, name := range names {
		if i == 1 {
			continue // the pass, of which an export only counts
		}
		was, err := os.ReadFile(path(name))
		if err != nil {
			t.Fatal(err)
		}
		write := func(data []byte) {
			if err := os.WriteFile(path(name), data, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		write(append(slices.Clone(was), '\n'))
		differs(t, name, compare(), `edited in the room since: "`+name+`"`)
		write(nil)
		differs(t, name, compare(), `edited in the room since: "`+name+`"`)
		if err := os.Remove(path(name)); err != nil {
			t.Fatal(err)
		}
		differs(t, name, compare(), `deleted from the room since: "`+name+`"`)
		write(was)
		added := strings.Replace(name, "000Z", "500Z", 1)
		if err := os.WriteFile(path(added), was, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := compare(); i < 3 {
			differs(t, name, err, `added to the room since: "`+added+`"`)
		} else if err != nil {
			t.Errorf("later: %v", err)
		}
		if err := os.Remove(path(added)); err != nil {
			t.Fatal(err)
		}
	}
	if err := compare(); err != nil {
		t.Error(err)
	}
}

// Whatever a manifest says, verifying it answers.
func FuzzVerify(f *testing.F) {
	s, key, names := talk(f, "one", "pass", "two\n\nand more")
	b, _ := packed(f, s, key, "")
	good := map[string]string{}
	for _, p := range parts(f, b) {
		good[p.Name] = p.data
	}
	f.Add([]byte(good["manifest.json"]), []byte(good["transcript.txt"]), []byte(good["entries/"+names[0]]))
	f.Add([]byte("{}"), []byte(""), []byte(""))
	f.Add([]byte(`{"entries":[{"filename":"../x"}]}`), []byte("x"), []byte("---\n"))
	f.Add([]byte(`{"total_lines":-1,"entries":[{}]}`), []byte(nil), []byte("\xff"))
	f.Fuzz(func(t *testing.T, manifest, text, entry []byte) {
		dir := fstest.MapFS{
			"manifest.json":       {Data: manifest},
			"transcript.txt":      {Data: text},
			"entries/" + names[0]: {Data: entry},
			"entries/" + names[2]: {Data: []byte(good["entries/"+names[2]])},
		}
		c, err := export.Verify(dir)
		if err != nil {
			if !fault.Is(err, fault.Corrupt) {
				t.Errorf("got %v", err)
			}
			return
		}
		// What passes is what was written but for the room's name and the passes.
		if c.Record.Entries != 2 || string(text) != good["transcript.txt"] || string(entry) != good["entries/"+names[0]] {
			t.Errorf("passes: %s", manifest)
		}
	})
}

// lossy is a store whose bodies come as text, as from elsewhere.
type lossy struct{ store.Store }

func (l lossy) Read(ctx context.Context, key store.Key, part store.Part) (store.View, error) {
	v, err := l.Store.Read(ctx, key, part)
	entries := v.Entries
	v.Entries = func(yield func(transcript.Entry, error) bool) {
		for e, err := range entries {
			e.Body = strings.ToValidUTF8(e.Body, "\ufffd")
			if !yield(e, err) {
				return
			}
		}
	}
	return v, err
}

// TestBytesThatAreNoText: an export from elsewhere has them too, and is the one that is made here.
func TestBytesThatAreNoText(t *testing.T) {
	s, key, names := talk(t, "one", "two")
	path := filepath.Join(key.Space, ".substrate", "threads", "design", names[0])
	if err := os.WriteFile(path, []byte("caf\xe9\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	here, _ := packed(t, s, key, "")
	there, _ := packed(t, lossy{s}, key, "")
	if !bytes.Equal(here, there) || !bytes.Contains(here, []byte("Z]\ncaf\xe9\n")) {
		t.Errorf("%d bytes and %d", len(here), len(there))
	}
}
