// Command substrate-open creates a room; see substrate-open(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-open ROOM --topic T --moderator M --turns A,B [--space DIR] [--text]
       substrate-open - [--space DIR]

Create a room. The moderator speaks first. Everybody must be registered. With -
in place of the room, room records are read from standard input.

  --topic T        what it is about, one line
  --moderator M    who runs it; first in the turn order
  --turns A,B      who else takes turns, in this order

substrate-open design --topic 'which parser?' --moderator dan --turns claude,ci
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	topic, moderator := c.Flags.String("topic", "", ""), c.Flags.String("moderator", "", "")
	turns, space, wait, text := c.List("turns"), c.Space(), c.LockTimeout(), c.Text()
	operands, err := c.Parse(1, 1)
	if err != nil {
		return err
	}
	ctx, flags := context.Background(), door.Flags{Space: *space, Wait: *wait}
	if tool.Records(operands) {
		if err := c.Without("-", "topic", "moderator", "turns", "text"); err != nil {
			return err
		}
		return c.Each("room", door.NewStream(ctx, flags).Create)
	}
	if *topic == "" || *moderator == "" {
		return c.Misuse("a room needs --topic and --moderator")
	}
	d, err := flags.Open()
	if err != nil {
		return err
	}
	opening := room.Opening{Topic: *topic, Moderator: *moderator, Order: *turns}
	opened, err := d.Rooms.Open(ctx, d.Key(operands[0]), opening)
	if err != nil {
		return err
	}
	return c.Show(*text, opened)
}
