package files

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/yamldoc"
)

// Version is the format this package keeps.
const Version = 1

// Find returns the root of the nearest space at or above a directory, or
// not_a_space.
func Find(from string) (string, error) {
	from, err := filepath.Abs(from)
	if err != nil {
		return "", err
	}
	for dir := from; ; dir = filepath.Dir(dir) {
		if disk.Exists(spaceConfig(dir)) {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	missing := fault.New(fault.NotASpace, "no space at or above %q", from).
		WithHint("make one with substrate-init, or name one with --space DIR")
	for dir := from; ; dir = filepath.Dir(dir) {
		if disk.Exists(threads(dir)) {
			missing.WithHint("%s is there but its config.yaml is gone: restore it from version control",
				filepath.Join(dir, Dir))
			break
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	if main := mainWorktree(from); main != "" && disk.Exists(spaceConfig(main)) {
		missing.WithHint("the main worktree has one: --space %s", main)
	}
	return "", missing
}

// mainWorktree returns the top of the main worktree when dir is in a linked one,
// "" otherwise. git leaves a file there that names a directory below the main
// worktree's .git.
func mainWorktree(dir string) string {
	for ; ; dir = filepath.Dir(dir) {
		data, err := disk.ReadFile(filepath.Join(dir, ".git"), 4096)
		if git, ok := strings.CutPrefix(string(data), "gitdir: "); err == nil && ok {
			main, _, found := strings.Cut(git, string(filepath.Separator)+".git"+string(filepath.Separator))
			if found && filepath.IsAbs(main) {
				return main
			}
		}
		if err == nil || dir == filepath.Dir(dir) {
			return ""
		}
	}
}

// Root checks that a directory is a space and returns it as an absolute path.
func Root(dir string) (string, error) {
	root, err := filepath.Abs(dir)
	if err == nil {
		err = checkSpace(root)
	}
	return root, err
}

func checkSpace(root string) error {
	_, err := os.Stat(spaceConfig(root))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return fault.New(fault.NotASpace, "not a space: %q", root).
			WithHint("make it one with substrate-init %s", root)
	}
	return err
}

// space is a space's config.yaml.
type space struct {
	doc     *yamldoc.Doc
	version int
	members []store.Member
}

func readSpace(root string) (space, error) {
	data, err := read(spaceConfig(root))
	if err != nil {
		return space{}, err
	}
	return parseSpace(root, data)
}

func parseSpace(root string, data []byte) (s space, err error) {
	path := spaceConfig(root)
	if s.doc, err = yamldoc.Parse(path, data); err != nil {
		return s, corrupt(err)
	}
	version, _, err := s.doc.Int("version")
	if err != nil {
		return s, corrupt(err)
	}
	if keys, _ := s.doc.Keys(); len(keys) == 0 {
		// What a crash of another writer leaves; adding to it would lose everybody.
		return s, corrupt(&yamldoc.Error{Path: path, Line: 1, Column: 1, Problem: "empty"})
	}
	if s.version = max(version, Version); s.version > Version {
		return s, fault.New(fault.Corrupt, "space version %d is newer than this program: %q", version, path).
			WithHint("use a newer substrate; nothing was changed")
	}
	items, err := s.doc.Items("participants")
	for _, item := range items {
		who, _ := item.String("name")
		kind, _ := item.String("kind")
		s.members = append(s.members, store.Member{Name: who, Kind: kind})
	}
	return s, corrupt(err)
}

// space returns a space's config as it is now, parsed again only when its bytes
// have changed: a list of many rooms asks for it at each of them.
func (s *Store) space(root string) (space, error) {
	data, err := read(spaceConfig(root))
	if err != nil {
		return space{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last.root != root || !bytes.Equal(s.last.data, data) {
		s.last.root, s.last.data = root, data
		s.last.space, s.last.err = parseSpace(root, data)
	}
	return s.last.space, s.last.err
}

// corrupt gives what is wrong with a YAML file its code; nil stays nil.
func corrupt(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.Corrupt, "%w", err).WithHint("repair the file by hand; nothing was changed")
}

// Members returns who is registered in a space.
func (s *Store) Members(_ context.Context, root string) ([]store.Member, error) {
	if err := checkSpace(root); err != nil {
		return nil, err
	}
	space, err := s.space(root)
	return space.members, err
}

// Register adds participants to a space. It refuses the lot when one has a bad
// name or kind, or is there already as another kind.
func (s *Store) Register(ctx context.Context, root string, members []store.Member) ([]store.Member, error) {
	if err := checkSpace(root); err != nil {
		return nil, err
	}
	unlock, err := disk.Lock(ctx, spaceLock(root), s.wait())
	if err != nil {
		return nil, err
	}
	defer unlock()
	space, err := readSpace(root)
	if err != nil {
		return nil, err
	}
	before := space.doc.Bytes()
	if err := space.add(members); err != nil {
		return nil, err
	}
	after := space.doc.Bytes()
	if slices.Equal(before, after) {
		return space.members, nil
	}
	return space.members, disk.Replace(spaceConfig(root), after)
}

// add registers those who are not registered yet, all or none.
func (s *space) add(members []store.Member) error {
	kinds := map[string]string{}
	for _, have := range s.members {
		kinds[have.Name] = have.Kind
	}
	var items [][][2]string
	for _, m := range members {
		if err := m.Check(); err != nil {
			return err
		}
		kind, known := kinds[m.Name]
		switch {
		case known && kind != m.Kind:
			return fault.New(fault.Exists, "already registered as %s: %q", kind, m.Name)
		case known:
			continue
		}
		kinds[m.Name] = m.Kind
		s.members = append(s.members, m)
		items = append(items, [][2]string{{"name", m.Name}, {"kind", m.Kind}})
	}
	if items == nil {
		return nil
	}
	return corrupt(s.doc.AppendItems(items, "participants"))
}

// List yields the rooms of a space.
func (s *Store) List(_ context.Context, root string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		err := checkSpace(root)
		var names []string
		if err == nil {
			names, err = rooms(root)
		}
		for _, room := range names {
			if !yield(store.Key{Space: root, Room: room}, nil) {
				return
			}
		}
		if err != nil {
			yield(store.Key{Space: root}, err)
		}
	}
}
