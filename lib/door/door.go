// Package door leads from a program's flags to the rooms they mean: which space,
// which store keeps it, what this machine calls it.
package door

import (
	"cmp"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/wake"
)

// Door opens to the rooms of one space.
type Door struct {
	room.Rooms
	Root string // of the space
}

// Flags are what programs say about the spaces they work in.
type Flags struct {
	Space string        // a root; "": the nearest space upward from here
	Wait  time.Duration // how long a lock is waited for; 0: not at all
	Body  int           // longest body that is accepted, in bytes; 0: the default
}

// Open opens the space.
func (f Flags) Open() (*Door, error) {
	if f.Space != "" {
		return f.at(f.Space)
	}
	root, err := files.Find(".")
	if err != nil {
		return nil, err
	}
	return f.at(root)
}

// Open opens a space to read from.
func Open(space string) (*Door, error) { return Flags{Space: space}.Open() }

func (f Flags) at(dir string) (*Door, error) {
	if elsewhere(dir) {
		return f.remote(dir)
	}
	root, err := files.Root(dir)
	if err != nil {
		return nil, err
	}
	label := sync.OnceValue(func() string {
		machine, err := home.Open()
		if err != nil {
			return ""
		}
		return machine.Label(root)
	})
	return &Door{
		Rooms: room.Rooms{Store: keep(nil, f.Wait), MaxBody: f.Body, Label: func(string) string { return label() }},
		Root:  root,
	}, nil
}

// keep returns a store that waits so long for a lock.
func keep(hub *wake.Hub, wait time.Duration) *files.Store {
	if wait == 0 {
		wait = -1
	}
	return &files.Store{Wait: wait, Events: hub}
}

// All opens every space in this machine's registry, and those on other machines
// that somebody here has joined. bad says of each item that was skipped what is
// wrong with it.
func All() (doors []*Door, bad []error, err error) {
	machine, err := home.Open()
	if err != nil {
		return nil, nil, err
	}
	spaces, bad, err := machine.Spaces()
	for _, s := range spaces {
		d, err := Open(s.Root)
		if err != nil {
			bad = append(bad, fault.New(fault.NotASpace, "registered space %q is gone: %q", s.Label, s.Root).
				WithHint("substrate-spaces remove %s", s.Label))
			continue
		}
		doors = append(doors, d)
	}
	away, worse, lost := remotes(machine)
	return append(doors, away...), append(bad, worse...), cmp.Or(err, lost)
}

// Key names a room of the space.
func (d *Door) Key(room string) store.Key { return store.Key{Space: d.Root, Room: room} }
