package files

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/yamldoc"
)

// ignore keeps out of version control what is no record.
const ignore = `# Locks, temporaries, posts in flight and derived data; the record stays in.
*.lock
.tmp-*
.pending.yaml
/cache/
`

// Init makes a directory a space and returns its root. The directory is made if
// need be. It refuses with exists where there is a space already, at dir or
// around it. Two at once in one directory: one wins.
func Init(dir string, members []store.Member) (string, error) {
	root, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if around, err := Find(root); err == nil {
		if around == root {
			return root, fault.New(fault.Exists, "already a space: %q", root)
		}
		return root, fault.New(fault.Exists, "inside a space: %q is around %q", around, root).
			WithHint("use the space that is there, or choose a directory outside of it")
	}
	config, err := newSpace(members)
	if err != nil {
		return root, err
	}
	if err := os.MkdirAll(root, 0o777); err != nil {
		return root, err
	}
	top := filepath.Join(root, Dir)
	if disk.Exists(top) { // this machine's own files, say
		err = furnish(top, config)
	} else {
		err = build(top, func(temp string) error { return furnish(temp, config) })
	}
	if errors.Is(err, fs.ErrExist) {
		err = fault.New(fault.Exists, "already a space: %q", root)
	}
	return root, err
}

// furnish puts into a directory what makes it a space's. The config comes last:
// with it, and not before, it is one.
func furnish(top string, config []byte) error {
	if err := disk.Mkdir(filepath.Join(top, "threads")); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	err := disk.Create(filepath.Join(top, ".gitignore"), []byte(ignore))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return disk.Create(filepath.Join(top, "config.yaml"), config)
}

// build puts a directory together under a temporary name and gives it its own.
func build(dir string, furnish func(temp string) error) error {
	parent := filepath.Dir(dir)
	temp, err := disk.TempDir(parent)
	if err != nil {
		return err
	}
	if err = furnish(temp); err == nil {
		err = disk.MoveNew(temp, dir)
	}
	if err != nil {
		os.RemoveAll(temp)
		return err
	}
	return disk.MakeDurable(parent)
}

func newSpace(members []store.Member) ([]byte, error) {
	doc, err := yamldoc.Parse("", []byte("version: 1\nparticipants: []\n"))
	if err != nil {
		return nil, err
	}
	s := space{doc: doc}
	if err := s.add(members); err != nil {
		return nil, err
	}
	return doc.Bytes(), nil
}

// create is Update for a room that is not there, which absent says. The caller's
// fn decides under the space's lock, and the room appears with all its parts.
func (s *Store) create(
	ctx context.Context, key store.Key, absent error, fn func(store.Head) (store.Change, error),
) (store.Head, error) {
	// Asked without the lock first: most of those who name a room that is not
	// there do not mean to make one.
	head := store.Head{Members: func() ([]store.Member, error) { return s.Members(ctx, key.Space) }}
	if _, err := fn(head); err != nil {
		if errors.Is(err, store.ErrNoRoom) {
			err = absent
		}
		return store.Head{}, err
	}
	if _, err := s.space(key.Space); err != nil {
		return store.Head{}, err
	}
	unlock, err := disk.Lock(ctx, spaceLock(key.Space), s.wait())
	if err != nil {
		return store.Head{}, err
	}
	defer unlock()
	change, err := fn(head)
	if err != nil {
		return store.Head{}, err
	}
	config, err := newConfig(change.State)
	if err != nil {
		return store.Head{}, err
	}
	if err := roomAt(key).create(config); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fault.New(fault.Exists, "room exists: %q", key.Room).In(key.Room)
		}
		return store.Head{}, err
	}
	return store.Head{Exists: true, State: change.State}, nil
}

func (r room) create(config []byte) error {
	err := disk.Mkdir(threads(r.Space)) // version control keeps no empty directory
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return build(r.dir, func(temp string) error {
		if err := disk.Mkdir(filepath.Join(temp, filepath.Base(r.tx))); err != nil {
			return err
		}
		if err := disk.MakeLock(filepath.Join(temp, filepath.Base(r.lock))); err != nil {
			return err
		}
		return disk.Create(filepath.Join(temp, filepath.Base(r.config)), config)
	})
}
