// Command substrate-post appends an entry to a room; see substrate-post(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-post [ROOM] --as NAME [-f FILE | -m TEXT | --pass] [--expect N] [--id KEY]
                      [--to NAME] [--wait D] [--max-body N] [--space DIR] [--text]
       substrate-post - [--as NAME] [--max-body N] [--space DIR]

Append one entry to a room and move its floor, as one change. The text comes
from standard input unless a flag says otherwise. With - in place of the room,
draft records are read from standard input and a receipt is printed for each.

  --as NAME        who writes
  -f FILE          take the text from FILE (-: standard input)
  -m TEXT          take TEXT; mind that a shell eats backticks in it
  --pass           give the turn up
  --expect N       refuse unless the room's version is N
  --id KEY         a repeated KEY returns the first receipt and writes nothing
  --to NAME        hand the floor to NAME, as the moderator
  --wait D         wait for the floor, D at most; exit 99 if it does not come
  --max-body N     refuse a text of more than N bytes (default 8388608)

substrate-post design --as claude <answer.md
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	as, expect, id, to := c.As(), c.Count("expect"), c.Flags.String("id", "", ""), c.Flags.String("to", "", "")
	body, patience := c.Body(room.DefaultMaxBody), c.Duration("wait", 0)
	space, wait, text := c.Space(), c.LockTimeout(), c.Text()
	operands, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	ctx, flags := context.Background(), door.Flags{Space: *space, Wait: *wait, Body: body.Limit()}
	if tool.Records(operands) {
		if err := c.Without("-", "expect", "id", "to", "wait", "f", "m", "pass", "text"); err != nil {
			return err
		}
		return c.Each("draft", door.NewStream(ctx, flags).Post(*as))
	}
	d, err := flags.Open()
	if err != nil {
		return err
	}
	name, draft, err := read(c, operands, body, room.Draft{As: *as, Expect: *expect, ID: *id, To: *to})
	if err != nil {
		return err
	}
	return post(ctx, c, d, d.Key(name), draft, *patience, *text)
}
