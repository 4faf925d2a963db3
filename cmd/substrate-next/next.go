package main

import (
	"context"
	"time"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/tool"
)

// next is what is asked for.
type next struct {
	c    *tool.Call
	text bool
	q    door.Query
	held time.Duration
}

// now prints the rooms as they are. yes says that the answer is not no; failed, that a
// room could not be asked.
func (n *next) now() (yes, failed bool, err error) {
	any := n.q.For == "" && n.held == 0
	named := any && len(n.q.Rooms) > 0 // shown even if it has ended
	yes = any
	for found, err := range n.q.Find(context.Background(), n.c.Warn) {
		if err != nil {
			n.c.Fail(err)
			failed = true
			continue
		}
		if !named && !room.Turn(found.RoomKeys, n.q.For, n.held) {
			continue
		}
		yes = true
		if err := n.c.Show(n.text, found); err != nil {
			return yes, failed, err
		}
	}
	return yes, failed, nil
}

// later waits for a room and prints it.
func (n *next) later(limit context.Context) error {
	came, err := n.q.Await(limit, n.c.Warn, func(s string) { n.c.Notice("%s", s) })
	if err != nil {
		return err
	}
	return n.c.Show(n.text, came)
}
