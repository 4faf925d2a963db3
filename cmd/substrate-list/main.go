// Command substrate-list shows rooms and where each floor is; see substrate-list(1).
package main

import (
	"context"
	"slices"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-list [ROOM...] [--for NAME] [--status active|ended] [-A] [--space DIR] [--text]

Print rooms, of one space or of all, and where each floor is. A room that cannot
be read is reported on standard error and does not keep the others from showing.

  --for NAME       only rooms that NAME takes turns in
  --status S       only rooms that are active, or ended

substrate-list --status active --text
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	who, status := c.For(), c.Flags.String("status", "", "")
	all, space, text := c.AllSpaces(), c.Space(), c.Text()
	names, err := c.Parse(0, -1)
	if err != nil {
		return err
	}
	if *status != "" && *status != "active" && *status != "ended" {
		return c.Misuse("unknown status: %q", *status)
	}
	rooms := door.Query{Space: *space, All: *all, Rooms: names, For: *who}
	for room, err := range rooms.Find(context.Background(), c.Warn) {
		switch {
		case err != nil:
			c.Fail(err)
			continue
		case *status != "" && room.Status != *status, *who != "" && !slices.Contains(room.TurnOrder, *who):
			continue
		}
		if err := c.Show(*text, room); err != nil {
			return err
		}
	}
	return nil
}
