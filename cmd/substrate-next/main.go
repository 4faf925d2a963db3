// Command substrate-next says whose turn it is; see substrate-next(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-next [ROOM] [--for NAME] [-A] [--space DIR] [--text]

Print the room, or every active one, and who holds its floor. With --for, print
only rooms where NAME holds it, and exit 1 when there is none.

  --for NAME       only rooms where it is NAME's turn

substrate-next --for claude
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	who, all, space, text := c.For(), c.AllSpaces(), c.Space(), c.Text()
	names, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	if room, err := c.Room(names); err == nil && !*all {
		names = []string{room}
	}
	rooms := door.Query{Space: *space, All: *all, Rooms: names, For: *who}
	yes := *who == ""
	for room, err := range rooms.Find(context.Background(), c.Warn) {
		switch {
		case err != nil:
			c.Fail(err)
			continue
		case *who != "" && (room.Current != *who || room.Status == "ended"),
			len(names) == 0 && room.Status == "ended":
			continue
		}
		yes = true
		if err := c.Show(*text, room); err != nil {
			return err
		}
	}
	if !yes {
		c.No()
	}
	return nil
}
