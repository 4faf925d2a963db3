//go:build crash && linux && amd64

package cmd_test

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// shared is what the tests have in common while any of them runs: a copy of the programs, so that somebody who
// builds meanwhile does not pull them away, and rooms to copy, by number of posts.
var shared struct {
	sync.Mutex
	users int
	dir   string
	rooms map[int]string
}

// begin readies shared until the test ends. Every test of this kind begins with it.
func begin(t *testing.T) {
	t.Helper()
	touchSources(t)
	shared.Lock()
	defer shared.Unlock()
	t.Cleanup(func() {
		shared.Lock()
		defer shared.Unlock()
		if shared.users--; shared.users == 0 {
			os.RemoveAll(shared.dir)
		}
	})
	if shared.users++; shared.users > 1 {
		return
	}
	shared.rooms = map[int]string{}
	var err error
	if shared.dir, err = os.MkdirTemp("", "crash"); err == nil {
		err = exec.Command("sh", "-c", `cp "$1"/substrate-* "$2"`, "sh", bin, shared.dir).Run()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// needs ends a test for want of something: in CI as failed, elsewhere as skipped.
func needs(t *testing.T, ok bool, what, how string) {
	t.Helper()
	switch {
	case ok:
	case os.Getenv("CI") == "true":
		t.Fatalf("needs %s: %s", what, how)
	default:
		t.Skipf("needs %s: %s", what, how)
	}
}

func needsTool(t *testing.T, tool, pkg string) {
	t.Helper()
	_, err := exec.LookPath(tool)
	needs(t, err == nil, tool, "apt-get install "+pkg)
}

func needsRoot(t *testing.T) {
	t.Helper()
	needs(t, os.Geteuid() == 0, "root", "run it with sudo")
}

// An invocation is one run of a program; args[0] is its name without "substrate-".
type invocation struct {
	args  []string
	stdin string
	dir   string
	env   []string
}

func (c *invocation) String() string { return strings.Join(c.args, " ") }

func (c *invocation) path() string {
	if filepath.IsAbs(c.args[0]) {
		return c.args[0]
	}
	return filepath.Join(shared.dir, "substrate-"+c.args[0])
}

func (c *invocation) cmd() *exec.Cmd {
	cmd := exec.Command(c.path(), c.args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdin = c.dir, c.env, strings.NewReader(c.stdin)
	return cmd
}

type result struct {
	status         int
	stdout, stderr string
}

func (c *invocation) run(t *testing.T) result {
	t.Helper()
	var out, errs strings.Builder
	cmd := c.cmd()
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", c, err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// A sandbox is a directory with a space in it and a home beside it.
type sandbox struct {
	*testing.T
	top, root string
	people    bool // readers are asked for the participants as well
}

func newSandbox(t *testing.T, top string) *sandbox {
	t.Helper()
	s := &sandbox{T: t, top: top, root: filepath.Join(top, "space")}
	if err := os.MkdirAll(s.root, 0o755); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sandbox) invoke(args ...string) *invocation {
	return &invocation{args: args, dir: s.root, env: []string{
		"SUBSTRATE_HOME=" + s.top + "/home", "HOME=" + s.top, "PATH=" + os.Getenv("PATH"), "TZ=UTC",
		"SUBSTRATE_LOCK_TIMEOUT=5s",
	}}
}

func (s *sandbox) run(args ...string) result {
	s.Helper()
	return s.invoke(args...).run(s.T)
}

// must runs a program that has to succeed and returns what it printed.
func (s *sandbox) must(args ...string) string {
	s.Helper()
	r := s.run(args...)
	if r.status != 0 {
		s.Fatalf("%s: status %d: %s", strings.Join(args, " "), r.status, r.stderr)
	}
	return r.stdout
}

func (s *sandbox) dir() string { return filepath.Join(s.root, ".substrate", "threads", "r") }

// room makes a space with a room r of three and some posts. All but the last post are copied from a room made
// before, which is faster; the last one brings the index up to date.
func (s *sandbox) room(posts int) {
	s.Helper()
	shared.Lock()
	from := shared.rooms[posts]
	if from == "" {
		from = filepath.Join(shared.dir, fmt.Sprint("room", posts))
		model := newSandbox(s.T, from)
		model.must("init", "--as", "dan")
		model.must("join", "ann", "bob", "--kind", "agent")
		model.must("open", "r", "--topic", "t", "--moderator", "dan", "--turns", "ann,bob")
		for i := range posts - 1 {
			model.post(i)
		}
		shared.rooms[posts] = from
	}
	shared.Unlock()
	for _, part := range []string{"space", "home"} {
		os.Remove(s.root)
		if err := os.CopyFS(filepath.Join(s.top, part), os.DirFS(filepath.Join(from, part))); err != nil {
			s.Fatal(err)
		}
	}
	registry := filepath.Join(s.top, "home", "spaces.yaml")
	data, err := os.ReadFile(registry)
	if err != nil {
		s.Fatal(err)
	}
	os.WriteFile(registry, []byte(strings.ReplaceAll(string(data), from, s.top)), 0o644)
	if posts > 0 {
		s.post(posts - 1)
	}
}

func (s *sandbox) post(i int) {
	s.Helper()
	s.must("post", "r", "--as", members[i%3], "-m", fmt.Sprintf("old %d", i))
}

var members = []string{"dan", "ann", "bob"}

// A view is what readers say of a space, times and entry names left out.
type view struct {
	Room, Status, Current, Topic string
	Version                      int
	Order, People, Entries       []string
	Quieted                      map[string]int
}

// see asks every reader, and checks that they agree and write nothing.
func (s *sandbox) see() view {
	s.Helper()
	before := s.tree()
	v := s.look()
	if after := s.tree(); after != before {
		s.Errorf("readers changed something:\n%s", difference(before, after))
	}
	return v
}

func (s *sandbox) look() (v view) {
	s.Helper()
	if s.people {
		var space struct {
			Participants []struct{ Name, Kind string }
		}
		s.decode(s.must("spaces", "list"), &space)
		for _, p := range space.Participants {
			v.People = append(v.People, p.Name+" "+p.Kind)
		}
	}
	list := s.run("list", "r", "--errors", "json")
	if list.status != 0 {
		if !strings.Contains(list.stderr, `"unknown_thread"`) && !strings.Contains(list.stderr, `"not_a_space"`) {
			s.Errorf("list: status %d: %s", list.status, list.stderr)
		}
		if all := s.run("list"); strings.Contains(list.stderr, `"unknown_thread"`) && all.stdout+all.stderr != "" {
			s.Errorf("room r is unknown, yet list says %s%s", all.stdout, all.stderr)
		}
		return v
	}
	var room struct {
		Thread, Status, Current, Topic string
		Version                        int
		Turn_order                     []string
		Quieted                        map[string]int
	}
	s.decode(list.stdout, &room)
	v.Room, v.Status, v.Current, v.Topic = room.Thread, room.Status, room.Current, room.Topic
	v.Version, v.Order, v.Quieted = room.Version, room.Turn_order, room.Quieted
	if next := s.run("next", "r"); next.stdout != list.stdout {
		s.Errorf("next and list differ:\n%s%s", next.stdout, list.stdout)
	}
	read := s.run("read", "r", "--meta")
	if read.status != 0 {
		s.Errorf("read: status %d: %s", read.status, read.stderr)
	}
	for line := range strings.Lines(read.stdout) {
		var e struct {
			Type, Entry, Author, Body string
			Version, Entries          int
		}
		s.decode(line, &e)
		switch {
		case e.Type == "entry":
			v.Entries = append(v.Entries, e.Author+": "+e.Body)
			if strings.HasPrefix(e.Entry, ".") {
				s.Errorf("a temporary file is listed: %s", e.Entry)
			}
		case e.Version != v.Version || e.Entries != len(v.Entries):
			s.Errorf("read: version %d, %d entries; list: version %d; %d entries printed",
				e.Version, e.Entries, v.Version, len(v.Entries))
		}
	}
	return v
}

func (s *sandbox) decode(line string, to any) {
	s.Helper()
	if err := json.Unmarshal([]byte(line), to); err != nil {
		s.Fatalf("%v: %q", err, line)
	}
}

// tree returns a line for everything in the sandbox: any change to any of it shows.
func (s *sandbox) tree() string {
	var b strings.Builder
	err := filepath.WalkDir(s.top, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		var sum [32]byte
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			sum = sha256.Sum256(data)
		}
		st := info.Sys().(*syscall.Stat_t)
		fmt.Fprintf(&b, "%s %v %d %d %v %x\n", p, info.Mode(), info.Size(), st.Ino, st.Ctim, sum[:6])
		return nil
	})
	if err != nil {
		s.Fatal(err)
	}
	return b.String()
}

func difference(a, b string) string {
	var out strings.Builder
	for line := range strings.Lines(a) {
		if !strings.Contains(b, line) {
			out.WriteString("- " + line)
		}
	}
	for line := range strings.Lines(b) {
		if !strings.Contains(a, line) {
			out.WriteString("+ " + line)
		}
	}
	return out.String()
}

func (s *sandbox) list(dir, pattern string) []string {
	s.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		s.Fatal(err)
	}
	re := regexp.MustCompile(pattern)
	var names []string
	for _, f := range found {
		if re.MatchString(f.Name()) {
			names = append(names, f.Name())
		}
	}
	return names
}

const entryName = `^\d{8}T\d{9}Z__.*\.md$`

// audit checks the files of a room that nobody is writing to against section 5 of the format.
func (s *sandbox) audit(v view) {
	s.Helper()
	tx := filepath.Join(s.dir(), "transactions")
	entries := s.list(s.dir(), entryName)
	if len(entries) != v.Version {
		s.Errorf("version %d, but %d entry files", v.Version, len(entries))
	}
	if strange := s.list(s.dir(), `^\.[^t]|^\.t[^um]`); len(strange) > 0 {
		s.Errorf("in the room: %q", strange)
	}
	if _, err := os.Lstat(filepath.Join(tx, ".pending.yaml")); err == nil {
		s.Errorf("a post is still pending")
	}
	for _, name := range s.list(tx, `^[^.]`) {
		id := strings.TrimSuffix(name, filepath.Ext(name))
		has := func(dir, ext string) bool { _, err := os.Lstat(filepath.Join(dir, id+ext)); return err == nil }
		committed, aborted, intent := has(tx, ".committed"), has(tx, ".aborted"), has(tx, ".yaml")
		if committed == aborted || !intent {
			s.Errorf("%s: intent %v, committed %v, aborted %v", id, intent, committed, aborted)
		}
		if published := has(s.dir(), ".md"); published != committed {
			s.Errorf("%s: committed %v, entry there %v", id, committed, published)
		}
		outcome := "aborted"
		if committed {
			outcome = "committed"
		}
		marker, err := os.ReadFile(filepath.Join(tx, id+"."+outcome))
		if want := "entry: " + id + ".md\noutcome: " + outcome + "\n"; err != nil || string(marker) != want {
			s.Errorf("marker %s: %v, %q", id, err, marker)
		}
	}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(s.dir(), e))
		if err != nil || !strings.HasPrefix(string(data), "---\nauthor: ") || !strings.HasSuffix(string(data), "\n") {
			s.Errorf("entry %s: %v: %q", e, err, data)
		}
		if id := strings.TrimSuffix(e, ".md"); !slices.Contains(s.list(tx, `\.committed$`), id+".committed") {
			s.Errorf("entry %s has no marker", e)
		}
	}
}

// A scenario is a command that is to be cut off at each of its points.
type scenario struct {
	name    string
	prepare func(*sandbox)
	args    []string
	// again is what a user does next; v is what readers said. It returns what they must say then. The default
	// is a post by whoever holds the floor.
	again func(s *sandbox, v view) view
}

func scenarios() []scenario {
	posts := func(n int) func(*sandbox) { return func(s *sandbox) { s.Helper(); s.room(n) } }
	space := func(s *sandbox) {
		s.must("init", "--as", "dan")
		s.must("join", "ann", "bob", "--kind", "agent")
	}
	opening := []string{"open", "r", "--topic", "t", "--moderator", "dan", "--turns", "ann,bob"}
	return []scenario{
		{"post", posts(4), []string{"post", "r", "--as", "ann", "-m", "new"}, nil},
		{"first-post", posts(0), []string{"post", "r", "--as", "dan", "-m", "new"}, nil},
		{"post-no-transactions", func(s *sandbox) {
			// A room as version control or an older program leaves it.
			s.room(0)
			os.Remove(filepath.Join(s.dir(), "transactions"))
		}, []string{"post", "r", "--as", "dan", "-m", "new"}, nil},
		{"post-index-behind", func(s *sandbox) {
			s.room(3)
			os.WriteFile(filepath.Join(s.dir(), "README.md"), []byte("about\n"), 0o644)
		}, []string{"post", "r", "--as", "dan", "-m", "new"}, nil},
		{"pass", posts(4), []string{"post", "r", "--as", "ann", "--pass"}, nil},
		{"post-id", posts(4), []string{"post", "r", "--as", "ann", "--id", "k", "-m", "new"}, repeat},
		{"post-to", posts(3), []string{"post", "r", "--as", "dan", "--to", "bob", "-m", "new"}, nil},
		{"post-quieted", func(s *sandbox) {
			s.room(3)
			s.must("moderate", "quiet", "r", "ann", "1", "--as", "dan")
		}, []string{"post", "r", "--as", "dan", "-m", "new"}, nil},
		// The one before was cut off, so that recovery is what gets cut off now.
		{"recover-undone", interrupted("renameat2 .pending.yaml"), []string{"post", "r", "--as", "ann", "-m", "new"}, nil},
		{"recover-advance", interrupted("renameat2 ENTRY"), []string{"post", "r", "--as", "bob", "-m", "new"}, nil},
		{"recover-done", interrupted("renameat config.yaml"), []string{"post", "r", "--as", "bob", "-m", "new"}, nil},
		{"recover-cleared", interrupted("renameat2 MARKER"), []string{"post", "r", "--as", "bob", "-m", "new"}, nil},
		{"moderate-next", posts(4), []string{"moderate", "next", "r", "bob", "--as", "dan"}, nil},
		{"moderate-quiet", posts(4), []string{"moderate", "quiet", "r", "bob", "2", "--as", "dan"}, nil},
		{"moderate-end", posts(4), []string{"moderate", "end", "r", "--as", "dan"}, nil},
		{"moderate-first", posts(0), []string{"moderate", "topic", "r", "other", "--as", "dan"}, nil},
		{"moderate-recover", interrupted("renameat2 ENTRY"), []string{"moderate", "next", "r", "dan", "--as", "dan"}, nil},
		{"open", space, opening, func(s *sandbox, v view) view {
			if r := s.run(opening...); (v.Room == "" && r.status != 0) || (v.Room != "" && r.status != 1) {
				s.Errorf("open again: status %d: %s", r.status, r.stderr)
			}
			return goOn(s, s.see())
		}},
		{"join", func(s *sandbox) { s.room(1); s.people = true }, []string{"join", "eve", "zoe", "--kind", "human"}, func(s *sandbox, v view) view {
			s.must("join", "eve", "zoe", "--kind", "human")
			v = s.see()
			if len(v.People) != 5 {
				s.Errorf("joined: %q", v.People)
			}
			return goOn(s, v)
		}},
		{"init", func(*sandbox) {}, []string{"init", "--as", "dan"}, func(s *sandbox, _ view) view {
			if r := s.run("init", "--as", "dan"); r.status == 1 && strings.Contains(r.stderr, "already a space") {
				s.must("spaces", "add") // it may have been cut off before it got there
			} else if r.status != 0 {
				s.Errorf("init again: status %d: %s", r.status, r.stderr)
			}
			s.must("join", "ann", "bob", "--kind", "agent")
			s.must(opening...)
			return goOn(s, s.see())
		}},
	}
}

// interrupted leaves a room with a post by ann that was cut off after a certain call.
func interrupted(after string) func(*sandbox) {
	return func(s *sandbox) {
		s.Helper()
		s.room(4)
		end := trace(s.T, s.top, s.invoke("post", "r", "--as", "ann", "-m", "cut off"), func(p point) act {
			return act{after: p.call+" "+kind(p.path) == after}
		})
		if !end.killed {
			s.Fatalf("no %q in %v", after, end.points)
		}
	}
}

// kind makes the same of names that differ only in times and random digits.
func kind(path string) string {
	base := filepath.Base(path)
	switch {
	case strings.HasPrefix(base, ".tmp-"):
		return "TEMP"
	case regexp.MustCompile(entryName).MatchString(base):
		return "ENTRY"
	case strings.HasSuffix(base, ".committed"), strings.HasSuffix(base, ".aborted"):
		return "MARKER"
	case regexp.MustCompile(`^\d{8}T.*\.yaml$`).MatchString(base):
		return "INTENT"
	}
	return base
}

// goOn posts as whoever holds the floor, and says what the room must look like then.
func goOn(s *sandbox, v view) view {
	s.Helper()
	if v.Status == "ended" {
		s.must("moderate", "resume", "r", "--as", "dan")
		v = s.see()
	}
	var posted struct {
		Version int
		Next    string
	}
	s.decode(s.must("post", "r", "--as", v.Current, "-m", "go on"), &posted)
	v.Version++
	if posted.Version != v.Version {
		s.Errorf("the next post made version %d, want %d", posted.Version, v.Version)
	}
	v.Entries = append(v.Entries, v.Current+": go on")
	v.Current = posted.Next
	if len(v.Quieted) > 0 {
		v.Quieted = s.see().Quieted
	}
	return v
}

// repeat runs a post with the same ID again, which must not double it.
func repeat(s *sandbox, v view) view {
	s.Helper()
	var posted struct {
		Duplicate bool
		Version   int
	}
	s.decode(s.must("post", "r", "--as", "ann", "--id", "k", "-m", "new"), &posted)
	if there := v.Version == 5; posted.Duplicate != there || posted.Version != 5 {
		s.Errorf("the same ID again: duplicate %v, version %d; it was there: %v", posted.Duplicate, posted.Version, there)
	}
	return goOn(s, s.see())
}

// clean runs a scenario undisturbed and returns the views before and after, and its points.
func (sc scenario) clean(t *testing.T) (before, after view, end ending) {
	s := newSandbox(t, t.TempDir())
	sc.prepare(s)
	before = s.see()
	end = trace(t, s.top, s.invoke(sc.args...), nil)
	if end.status != 0 || end.killed {
		t.Fatalf("%s: status %d: %s", sc.name, end.status, end.stderr)
	}
	after = s.see()
	if sc.name != "init" && reflect.DeepEqual(before, after) {
		t.Fatalf("%s changes nothing: %+v", sc.name, before)
	}
	if sc.name != "join" && sc.name != "init" {
		s.audit(after)
	}
	return before, after, end
}

// follow checks a room that something was cut off in: readers first, then whoever goes on.
func (sc scenario) follow(s *sandbox, allowed ...view) {
	s.Helper()
	v := s.see()
	if sc.name != "init" && !slices.ContainsFunc(allowed, func(a view) bool { return reflect.DeepEqual(a, v) }) {
		s.Errorf("readers see\n%+v\nallowed\n%+v", v, allowed)
	}
	again := goOn
	if sc.again != nil {
		again = sc.again
	}
	want := again(s, v)
	if got := s.see(); !reflect.DeepEqual(got, want) {
		s.Errorf("after going on\n%+v\nwant\n%+v", got, want)
	}
	s.audit(want)
}

// TestCrashPoints kills each program just before every call by which it changes a file, and just after every one
// that changes a name; after any other, the disk holds what it does before the next.
func TestCrashPoints(t *testing.T) {
	begin(t)
	t.Parallel()
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			before, after, end := sc.clean(t)
			kills := 0
			for n := 1; n <= len(end.points)+4; n++ { // some more, since the order of staging differs
				for _, a := range []act{{before: true}, {after: true}} {
					if a.after && n <= len(end.points) && !end.points[n-1].names() {
						continue
					}
					var hit point
					s := newSandbox(t, t.TempDir())
					sc.prepare(s)
					got := trace(t, s.top, s.invoke(sc.args...), func(p point) act {
						if p.n == n {
							hit = p
							return a
						}
						return act{}
					})
					if !got.killed {
						break
					}
					kills++
					if got.stdout != "" {
						sc.follow(s, after) // acknowledged
					} else {
						sc.follow(s, before, after)
					}
					if t.Failed() {
						t.Fatalf("killed at %v (%+v) of\n%v", hit, a, got.points)
					}
				}
			}
			if kills < len(end.points) {
				t.Errorf("only %d kills at %d points", kills, len(end.points))
			}
			t.Logf("%d points, %d kills: %s", len(end.points), kills, tally(end.points))
		})
	}
}

func tally(points []point) string {
	count := map[string]int{}
	for _, p := range points {
		count[p.call]++
	}
	var all []string
	for call, n := range count {
		all = append(all, fmt.Sprintf("%d %s", n, call))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// TestCrashTracer has strace confirm that the tracer sees every call that changes a file.
func TestCrashTracer(t *testing.T) {
	needsTool(t, "strace", "strace")
	begin(t)
	t.Parallel()
	for _, sc := range scenarios() {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			_, _, end := sc.clean(t)
			s := newSandbox(t, t.TempDir())
			sc.prepare(s)
			log := filepath.Join(t.TempDir(), "strace")
			c := s.invoke(sc.args...)
			args := append([]string{"-f", "-y", "-s", "0", "-o", log, "-e",
				"trace=rename,renameat,renameat2,link,linkat,unlink,unlinkat,fsync,fdatasync,mkdir,mkdirat,openat",
				c.path()}, c.args[1:]...)
			cmd := exec.Command("strace", args...)
			cmd.Dir, cmd.Env = c.dir, c.env
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("strace: %v\n%s", err, out)
			}
			data, err := os.ReadFile(log)
			if err != nil {
				t.Fatal(err)
			}
			begun := regexp.MustCompile(`^\d+ +([a-z0-9]+)\(`)
			want, got := map[string]int{}, map[string]int{}
			for line := range strings.Lines(string(data)) {
				m := begun.FindStringSubmatch(line)
				if m != nil && strings.Contains(line, s.top+"/") && (m[1] != "openat" || strings.Contains(line, "O_CREAT")) {
					want[m[1]]++
				}
			}
			for _, p := range end.points {
				if !strings.Contains(p.call, "write") && p.call != "fchmod" && p.call != "ftruncate" {
					got[p.call]++
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("the tracer counts %v, strace %v", got, want)
			}
		})
	}
}

// TestCrashRandom kills posts at a random moment, 200 times in one room, and repeats each with its ID.
func TestCrashRandom(t *testing.T) {
	begin(t)
	t.Parallel()
	s := newSandbox(t, t.TempDir())
	s.room(0)
	v := s.see()
	killed, landed := 0, 0
	for i := range 200 {
		id, body := fmt.Sprintf("id-%d", i), fmt.Sprintf("body %d", i)
		author := v.Current
		args := []string{"post", "r", "--as", author, "--id", id, "-m", body}
		var out strings.Builder
		cmd := s.invoke(args...).cmd()
		cmd.Stdout = &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(rand.IntN(8000)) * time.Microsecond)
		cmd.Process.Kill()
		if cmd.Wait() != nil {
			killed++
		}
		now := s.see()
		want := v
		want.Entries = slices.Clone(v.Entries)
		there := now.Version > v.Version
		if there || out.Len() > 0 {
			landed++
			want.Version++
			want.Entries = append(want.Entries, author+": "+body)
			want.Current = members[want.Version%3]
		}
		if !reflect.DeepEqual(now, want) {
			t.Fatalf("kill %d: readers see\n%+v\nwant\n%+v", i, now, want)
		}
		var posted struct{ Duplicate bool }
		s.decode(s.must(args...), &posted)
		if posted.Duplicate != there {
			t.Fatalf("kill %d: retried: duplicate %v, it was there: %v", i, posted.Duplicate, there)
		}
		if v = s.see(); v.Version != i+1 || v.Current != members[v.Version%3] {
			t.Fatalf("kill %d: version %d, %s holds the floor", i, v.Version, v.Current)
		}
		s.audit(v)
		if t.Failed() {
			t.FailNow()
		}
	}
	t.Logf("%d of 200 were killed before they ended; %d entries were there after the kill", killed, landed)
}
