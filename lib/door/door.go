// Package door leads from a program's flags to the rooms they mean: which space,
// which store keeps it, what this machine calls it.
package door

import (
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// Door opens to the rooms of one space.
type Door struct {
	room.Rooms
	Root string // of the space
}

// Open finds the space at dir, or the nearest one upward from here when dir is
// empty. wait is how long a lock is waited for; 0 means the default.
func Open(dir string, wait time.Duration) (*Door, error) {
	find := files.Root
	if dir == "" {
		find, dir = files.Find, "."
	}
	root, err := find(dir)
	if err != nil {
		return nil, err
	}
	return at(root, wait), nil
}

func at(root string, wait time.Duration) *Door {
	label := sync.OnceValue(func() string {
		machine, err := home.Open()
		if err != nil {
			return ""
		}
		return machine.Label(root)
	})
	return &Door{
		Rooms: room.Rooms{Store: &files.Store{Wait: wait}, Label: func(string) string { return label() }},
		Root:  root,
	}
}

// All opens every space in this machine's registry. bad says of each item that
// was skipped what is wrong with it.
func All(wait time.Duration) (doors []*Door, bad []error, err error) {
	machine, err := home.Open()
	if err != nil {
		return nil, nil, err
	}
	spaces, bad, err := machine.Spaces()
	for _, s := range spaces {
		root, err := files.Root(s.Root)
		if err != nil {
			bad = append(bad, fault.New(fault.NotASpace, "registered space %q is gone: %q", s.Label, s.Root).
				WithHint("substrate-spaces remove %s", s.Label))
			continue
		}
		doors = append(doors, at(root, wait))
	}
	return doors, bad, err
}

// Key names a room of the space.
func (d *Door) Key(room string) store.Key { return store.Key{Space: d.Root, Room: room} }

// Elsewhere names a room of the space a record names, or of this one when it
// names none.
func (d *Door) Elsewhere(root, room string) (store.Key, error) {
	if root == "" || root == d.Root {
		return d.Key(room), nil
	}
	root, err := files.Root(root)
	return store.Key{Space: root, Room: room}, err
}
