// Command substrate-moderate runs a room; see substrate-moderate(1).
package main

import (
	"strings"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-moderate next [ROOM] NAME --as NAME [--space DIR] [--text]
       substrate-moderate invite [ROOM] NAME --as NAME [--space DIR] [--text]
       substrate-moderate quiet [ROOM] NAME N --as NAME [--space DIR] [--text]
       substrate-moderate order [ROOM] A,B --as NAME [--space DIR] [--text]
       substrate-moderate topic [ROOM] TEXT --as NAME [--space DIR] [--text]
       substrate-moderate end [ROOM] --as NAME [--space DIR] [--text]
       substrate-moderate resume [ROOM] --as NAME [--space DIR] [--text]

Run a room, as its moderator: hand the floor to somebody, add somebody to the
order, have somebody passed over for N turns (0: no longer), replace the order or
the topic, end the room, open it again.

  --as NAME        who acts; must be the moderator

substrate-moderate next design claude --as dan
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	as, space, wait, text := c.As(), c.Space(), c.LockTimeout(), c.Text()
	operands, err := c.Parse(1, -1)
	if err != nil {
		return err
	}
	who, err := c.Actor(*as)
	if err != nil {
		return err
	}
	name, args, err := where(c, operands)
	if err != nil {
		return err
	}
	act, err := parse(c, operands[0], args)
	if err != nil {
		return err
	}
	d, err := door.Flags{Space: *space, Wait: *wait}.Open()
	if err != nil {
		return err
	}
	room, err := perform(d, name, who, act, args)
	if err != nil {
		return err
	}
	if err := c.Show(*text, room); err != nil || !*text {
		return err
	}
	return c.Printf("  order: %s\n", strings.Join(room.TurnOrder, ", "))
}
