// Command substrate-open creates a room; see substrate-open(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/record"
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
  --space DIR      the space (default: the nearest one upward from here)
  --text           print for people, not records
  --lock-timeout D how long a lock is waited for (default 10s)
  --errors json    report errors as records

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
	d, err := door.Open(*space, *wait)
	if err != nil {
		return err
	}
	if tool.Records(operands) {
		return c.Each("room", func(line record.Line) (any, error) {
			var o record.Opening
			if err := line.Decode(&o); err != nil {
				return nil, err
			}
			key, err := d.Elsewhere(o.Root, o.Thread)
			if err != nil {
				return nil, err
			}
			return d.Rooms.Open(context.Background(), key, room.Opening{Topic: o.Topic, Moderator: o.Moderator, Order: o.TurnOrder})
		})
	}
	opening := room.Opening{Topic: *topic, Moderator: *moderator, Order: *turns}
	opened, err := d.Rooms.Open(context.Background(), d.Key(operands[0]), opening)
	if err != nil {
		return err
	}
	return c.Show(*text, opened)
}
