package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/index"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// An inspection looks a space over and collects what it finds. With fix it
// repairs what can be repaired without losing anything.
type inspection struct {
	ctx     context.Context
	root    string
	fix     bool
	wait    time.Duration
	members []store.Member
	found   func(record.Finding)
}

// leftover is how old a temporary file is before nobody can still be writing it.
const leftover = time.Hour

// Inspect reports on a space and each of its rooms.
func (s *Store) Inspect(ctx context.Context, root string, fix bool, found func(record.Finding)) {
	in := &inspection{ctx: ctx, root: root, fix: fix, wait: s.wait(), found: found}
	in.place()
	space, err := readSpace(root)
	if space.version > Version {
		in.fail("space", err.Error(), "use a newer substrate; nothing more was looked at")
		return
	}
	if err != nil {
		in.fail("space", err.Error(), "repair "+spaceConfig(root)+" by hand; transcripts can be read meanwhile")
	} else {
		in.ok("space", fmt.Sprintf("%d participants", len(space.members)))
	}
	in.members = space.members
	in.temporaries(root)
	in.temporaries(filepath.Join(root, Dir))
	in.temporaries(threads(root))
	in.temporaries(filepath.Join(root, Dir, "cache"))
	dirs, err := os.ReadDir(threads(root))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		in.fail("rooms", err.Error(), "")
	}
	for _, d := range dirs {
		in.candidate(d)
	}
}

func (in *inspection) add(level, check, message, fix string) {
	in.found(record.Finding{Type: "finding", Level: level, Check: check, Message: message, Fix: fix})
}
func (in *inspection) ok(check, message string)        { in.add("ok", check, message, "") }
func (in *inspection) warn(check, message, fix string) { in.add("warn", check, message, fix) }
func (in *inspection) fail(check, message, fix string) { in.add("fail", check, message, fix) }

// place says where the space really is and whether its locks can be trusted.
func (in *inspection) place() {
	top := filepath.Join(in.root, Dir)
	where := top
	if real, err := filepath.EvalSymlinks(top); err == nil && real != top {
		where += ", which is really " + real
	}
	in.ok("store", where)
	if main := mainWorktree(in.root); main != "" && main != in.root && disk.Exists(spaceConfig(main)) {
		in.warn("worktree", "the main worktree has a space of its own: "+main,
			"to work in that one: --space "+record.Shell(main))
	}
	if kind, network := disk.FileSystem(top); network {
		in.warn("locks", "the space is on "+kind+", where two writers may both get a lock",
			"keep it on a local file system; posts stay whole, but one of two may be refused")
	} else {
		in.ok("locks", "the space is on "+kind)
	}
}

// candidate looks at whatever stands where rooms do.
func (in *inspection) candidate(d os.DirEntry) {
	component := d.Name()
	path := filepath.Join(threads(in.root), component)
	_, gone := os.Lstat(filepath.Join(path, "config.yaml"))
	switch room, ok := name.FromComponent(component); {
	case strings.HasPrefix(component, "."):
	case d.Type()&fs.ModeSymlink != 0:
		in.warn("room", "a symbolic link is not a room: "+path, "move the directory itself here")
	case !d.IsDir():
		in.warn("room", "not a directory, so no room: "+path, "")
	case !ok:
		in.warn("room", "the name of this directory is none of a room: "+path, "rename it; "+name.Rule)
	case errors.Is(gone, fs.ErrNotExist):
		in.bare(path)
	case gone != nil:
		in.fail("room", gone.Error(), "ask its owner for permission")
	default:
		in.room(roomAt(store.Key{Space: in.root, Room: room}))
	}
}

// bare looks at a directory that would be a room if it had a config.yaml.
func (in *inspection) bare(path string) {
	entries, _ := filepath.Glob(filepath.Join(path, "*__*.md"))
	if len(entries) == 0 {
		in.warn("room", "no config.yaml, so no room: "+path, "")
		return
	}
	in.fail("room", fmt.Sprintf("config.yaml is gone, %d entries are there: %s", len(entries), path),
		"restore it from version control, or from after_config in the newest of transactions/*.yaml")
}

func (in *inspection) room(r room) {
	in.temporaries(r.dir)
	in.temporaries(r.tx)
	in.hidden(r)
	in.gone(r)
	in.pending(r)
	config, err := read(r.config)
	if err == nil {
		var s floor.State
		if _, s, err = parseState(r.config, config); err == nil {
			in.seats(r, s)
		}
	}
	if err != nil {
		in.fail("room "+r.Room, err.Error(), "repair the file by hand; its transcript can be read meanwhile")
	}
	in.index(r)
}

// seats looks at who is in the turn order.
func (in *inspection) seats(r room, s floor.State) {
	check := "room " + r.Room
	switch i := slices.Index(s.Order, s.Moderator); {
	case i < 0:
		in.fail(check, fmt.Sprintf("moderator %q is not in the turn order, so nobody can resume it", s.Moderator),
			"add him to turn_order in "+r.config)
	case i > 0:
		in.warn(check, fmt.Sprintf("moderator %q is not first in the turn order", s.Moderator),
			command("substrate-moderate", "order", r.Room, strings.Join(s.Order, ","), "--as", s.Moderator))
	}
	for _, who := range s.Order {
		fix := command("substrate-join", who, "--kind", "agent")
		if !name.Valid(who) {
			fix = "take it out of turn_order in " + r.config
		}
		if in.members != nil && !registered(in.members, who) {
			in.warn(check, fmt.Sprintf("in the turn order but not registered: %q", who), fix)
		}
	}
}

// gone looks for entries that were posted and are no longer there.
func (in *inspection) gone(r room) {
	markers, _ := os.ReadDir(r.tx)
	for _, m := range markers {
		id, ok := strings.CutSuffix(m.Name(), "."+committed)
		if ok && !disk.Exists(filepath.Join(r.dir, id+".md")) {
			in.warn("entries of "+r.Room, "was posted, and is gone: "+filepath.Join(r.dir, id+".md"),
				"restore it from version control or an export")
		}
	}
}

// command is a line for a shell.
func command(words ...string) string {
	for i, w := range words {
		words[i] = record.Shell(w)
	}
	return strings.Join(words, " ")
}

func registered(members []store.Member, who string) bool {
	return slices.ContainsFunc(members, func(m store.Member) bool { return m.Name == who })
}

// hidden names what looks like an entry and is shown by no reader, and an entry
// after which there is no time left.
func (in *inspection) hidden(r room) {
	files, err := os.ReadDir(r.dir)
	if err != nil {
		in.fail("room "+r.Room, err.Error(), "")
		return
	}
	check := "entries of " + r.Room
	for _, f := range files {
		e, valid := transcript.ParseName(f.Name())
		path := filepath.Join(r.dir, f.Name())
		switch {
		case valid && !f.Type().IsRegular():
			in.warn(check, "not shown, since it is no regular file: "+path, "")
		case valid:
			if _, err := stamp.Next(time.Now(), e.Time); err != nil {
				in.fail(check, "nothing can be posted after an entry dated so far ahead: "+path,
					"move it out of the room if it is no real entry")
			}
		case strings.Contains(f.Name(), "__") && !strings.HasPrefix(f.Name(), "."):
			in.warn(check, "not shown, since its name is none of an entry: "+path, "")
		}
	}
}

// temporaries looks for what writers left behind that were killed, in one of our
// own directories: not behind a link, which leads to somebody else's.
func (in *inspection) temporaries(dir string) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return
	}
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		info, err := f.Info()
		if err != nil || !strings.HasPrefix(f.Name(), disk.TempPrefix) || time.Since(info.ModTime()) < leftover {
			continue
		}
		path := filepath.Join(dir, f.Name())
		ours := info.Mode().IsRegular() && dir != in.root || info.IsDir() && unfinished(path)
		switch {
		case !ours && dir == in.root:
			continue // the project's, where others make files too
		case !ours:
			in.warn("temporary files", "left behind by something else: "+path, "")
		case in.fix && clear(path) == nil:
			in.ok("temporary files", "removed "+path)
		default:
			in.warn("temporary files", "left behind: "+path, "substrate-doctor --fix")
		}
	}
}

// parts are what a space or a room is built from before it gets its name.
var parts = []string{"config.yaml", ".gitignore", ".turn.lock", "threads", "transactions"}

// unfinished reports whether a directory is a space or a room that was never
// finished: it has a name of ours and holds nothing else.
func unfinished(dir string) bool {
	held, err := os.ReadDir(dir)
	for _, f := range held {
		if !slices.Contains(parts, f.Name()) && !strings.HasPrefix(f.Name(), disk.TempPrefix) {
			return false
		}
	}
	return err == nil && disk.IsTemp(filepath.Base(dir))
}

// clear removes a file, or a directory with the parts in it; not one that turns
// out to hold anything more.
func clear(path string) error {
	held, _ := os.ReadDir(path)
	for _, f := range held {
		if err := os.Remove(filepath.Join(path, f.Name())); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

// pending looks for an interrupted post.
func (in *inspection) pending(r room) {
	check := "interrupted post in " + r.Room
	setAside := command("mv", r.pointer(), filepath.Join(r.tx, "set-aside-"+stamp.Entry(time.Now())))
	var v verdict
	var post intent
	pending, err := r.pending()
	if err == nil {
		config, unread := read(r.config)
		if pending == nil || unread != nil {
			return
		}
		v, post, err = r.judge(pending, config)
	}
	switch {
	case err != nil && post.Entry == "":
		in.fail(check, err.Error(), setAside)
	case err != nil:
		in.fail(check, err.Error(), fmt.Sprintf("either put %s back as it was before it was edited; "+
			"or keep it as it is now: %s", r.config, setAside))
	case v == nothing:
	case !in.fix:
		in.warn(check, fmt.Sprintf("%q is unfinished; the next writer finishes it", post.Entry), "substrate-doctor --fix")
	default:
		if err := in.locked(r, func() error { return r.finish() }); err != nil {
			in.fail(check, err.Error(), "")
			return
		}
		in.ok(check, fmt.Sprintf("finished %q", post.Entry))
	}
}

func (r room) finish() error {
	config, err := read(r.config)
	if err == nil {
		_, err = r.recover(config)
	}
	return err
}

func (in *inspection) locked(r room, do func() error) error {
	unlock, err := disk.Lock(in.ctx, r.lock, in.wait)
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

// index makes reads of a room that nobody posts to here fast again.
func (in *inspection) index(r room) {
	x, err := index.Open(r.dir, r.cache, r.inFlight)
	if err != nil {
		in.fail("entries of "+r.Room, err.Error(), "")
		return
	}
	defer x.Close()
	check := "room " + r.Room
	fresh, err := index.Open(r.dir, "", r.inFlight)
	if err != nil {
		in.fail(check, err.Error(), "")
		return
	}
	in.ok(check, fmt.Sprintf("%d entries", fresh.Len()))
	right := x.Len() == fresh.Len() && x.Lines() == fresh.Lines()
	if !right && x.Current() && fresh.Current() {
		in.warn(check, fmt.Sprintf("its index is wrong: it knows %d entries", x.Len()), "substrate-doctor --fix")
		if in.fix {
			os.Remove(r.cache)
		}
	} else if x.Remembered() {
		return
	}
	if !in.fix {
		if x.Len() >= 1000 {
			in.warn(check, "its index is not up to date, so reads measure it anew", "substrate-doctor --fix")
		}
		return
	}
	err = in.locked(r, func() error {
		x, err := index.Open(r.dir, r.cache, func() bool { return false })
		if err != nil {
			return err
		}
		defer x.Close()
		return x.Publish(r.cache, "", func() error { return nil })
	})
	if err != nil && !fault.Is(err, fault.Denied) {
		in.warn(check, "its index cannot be written: "+err.Error(), "")
	}
}
