// Package files is the store of rooms in plain files: format version 1, as
// spec/rooms-format.md and substrate-room(5) give it. Other programs write the
// same files; whatever they wrote is read, and what is written here they read.
//
// A reader takes no lock and writes nothing. A writer holds the room's flock,
// finishes what an interrupted one left, and publishes a post in three steps, at
// the end of each of which it waits for the disk:
//
//  1. All five files of a post are written under temporary names and synced,
//     side by side. This leans on fsync of a file making its bytes durable.
//     Nothing of it can be seen, and nothing that comes later has to write data
//     or find room on the disk.
//  2. The pending pointer and the intent get their names, each by an exclusive
//     rename, and transactions/ is synced. This leans on rename being atomic and
//     on fsync of a directory making its names durable.
//  3. The entry and the config get theirs, and the room's directory is synced.
//     The entry goes first: this leans on the names of one directory becoming
//     durable in the order they were changed, as the journals of ext4, xfs and
//     btrfs and the transactions of APFS have it, so that the config never moves
//     without the entry.
//
// Then the marker gets its name and the pointer goes. Nothing waits for these two:
// in one directory, they too become durable in order, and if they are lost,
// recovery finds entry and config in place and makes them again.
//
// The temporary files live in transactions/, not next to their targets, so that
// the room's directory changes only by what is published: its watchers wake once,
// and the index can tell an own change from somebody else's.
package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/wake"
)

// Dir is the directory that makes the one around it a space.
const Dir = ".substrate"

// DefaultWait is how long a lock is waited for.
const DefaultWait = 10 * time.Second

// maxConfig is the largest YAML file that is read, in bytes.
const maxConfig = 4 << 20

// Store keeps rooms in directories. The zero Store is ready for use.
type Store struct {
	Wait time.Duration // for a lock, before busy; 0 means DefaultWait, less means not at all

	// Events is what watches are woken by; several stores may share it. nil means
	// one of its own.
	Events *wake.Hub

	once sync.Once
	mu   sync.Mutex
	last struct { // see Store.space
		root  string
		data  []byte
		space space
		err   error
	}
}

var _ store.Store = (*Store)(nil)

func (s *Store) wait() time.Duration {
	if s.Wait == 0 {
		return DefaultWait
	}
	return s.Wait
}

func spaceConfig(root string) string { return filepath.Join(root, Dir, "config.yaml") }
func spaceLock(root string) string   { return filepath.Join(root, Dir, ".space.lock") }
func threads(root string) string     { return filepath.Join(root, Dir, "threads") }

// room is where the parts of one room are.
type room struct {
	store.Key
	dir    string
	config string
	lock   string
	tx     string // transactions
	cache  string // the index
}

func roomAt(key store.Key) room {
	dir := filepath.Join(threads(key.Space), name.Component(key.Room))
	return room{
		Key:    key,
		dir:    dir,
		config: filepath.Join(dir, "config.yaml"),
		lock:   filepath.Join(dir, ".turn.lock"),
		tx:     filepath.Join(dir, "transactions"),
		cache:  filepath.Join(key.Space, Dir, "cache", name.Component(key.Room)+".index"),
	}
}

// open finds a room. A symbolic link to a directory is not one: two names for
// one room would have two caches and, for other writers, two locks.
func open(key store.Key) (room, error) {
	if err := name.Check("room", key.Room); err != nil {
		return room{}, err
	}
	if err := checkSpace(key.Space); err != nil {
		return room{}, err
	}
	r := roomAt(key)
	info, err := os.Lstat(r.dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return r, err
	case err != nil:
		return r, unknown(key, "no such room")
	case info.Mode()&fs.ModeSymlink != 0:
		return r, unknown(key, "a symbolic link is not a room")
	case !info.IsDir():
		return r, unknown(key, "not a directory, so no room")
	}
	return r, nil
}

func unknown(key store.Key, problem string) error {
	err := fault.New(fault.UnknownThread, "%s: %q", problem, key.Room).In(key.Room)
	have, _ := rooms(key.Space)
	near := slices.DeleteFunc(name.Near(key.Room, have), func(s string) bool { return s == key.Room })
	if len(near) == 0 && len(have) > 0 {
		err.WithHint("substrate-list shows the rooms")
	}
	if len(near) > 0 {
		err.WithHint("did you mean %s?", strings.Join(near, ", "))
	}
	return err
}

// rooms returns the names of the rooms of a space, in byte order.
func rooms(root string) ([]string, error) {
	found, err := os.ReadDir(threads(root))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, f := range found {
		if room, ok := name.FromComponent(f.Name()); ok && f.IsDir() {
			names = append(names, room)
		}
	}
	return names, err
}

// read returns a YAML file that has to be there. What is wrong with it has the
// code corrupt.
func read(path string) ([]byte, error) { return readUpTo(path, maxConfig) }

// readRecord returns a record of a transaction, which holds a config, indented or
// quoted, and so may be several times as large.
func readRecord(path string) ([]byte, error) { return readUpTo(path, 8*maxConfig) }

func readUpTo(path string, limit int64) ([]byte, error) {
	data, err := disk.ReadFile(path, limit)
	if errors.Is(err, disk.ErrTooLarge) || errors.Is(err, disk.ErrNotRegular) {
		err = fault.New(fault.Corrupt, "%w", err)
	}
	return data, err
}
