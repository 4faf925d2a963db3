// Command substrate-next says whose turn it is; see substrate-next(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-next [ROOM] [--for NAME [--wait D]] [--held D] [-A] [--space DIR] [--text]

Print the room, or every active one, and who holds its floor. With --for, print
only rooms where NAME holds it, and exit 1 when there is none.

  --for NAME       only rooms where it is NAME's turn
  --wait D         wait until there is one, D at most; exit 99 if none comes, 1 if
                   ROOM has ended
  --held D         only rooms whose last entry is D old or older

substrate-next --for claude --wait 10m
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	who, wait, held := c.For(), c.Duration("wait", 0), c.Duration("held", 0)
	all, space, text := c.AllSpaces(), c.Space(), c.Text()
	names, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	if name, err := c.Room(names); err == nil && !*all {
		names = []string{name}
	}
	if *wait > 0 && *who == "" {
		return c.Misuse("for whom? --wait goes with --for NAME")
	}
	n := next{c: c, text: *text, held: *held}
	n.q = door.Query{Space: *space, All: *all, Rooms: names, For: *who}
	limit, cancel := context.WithTimeout(context.Background(), *wait)
	defer cancel()
	yes, failed, err := n.now()
	switch {
	case err != nil || yes:
		return err
	case *wait > 0 && !failed:
		return n.later(limit)
	}
	c.No()
	return nil
}
