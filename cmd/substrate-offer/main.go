// Command substrate-offer puts a part of a room before somebody; see substrate-offer(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-offer [ROOM] --for NAME [--policy full | incremental | explicit]
                       [--from-entry E] [--through-entry E] [--max-bytes N] [--space DIR] [--text]
       substrate-offer - --for NAME [--policy full | incremental] [--max-bytes N] [--space DIR]
       substrate-offer [ROOM] --manifest [--space DIR]

Print an offer: which entries of a room are put before NAME, within a bound, and
how to read them. With - in place of the room, floor records are read from
standard input and become offers of their rooms.

  --for NAME       whom the offer is for
  --policy P       full (default); incremental: what came after the last one that
                   was taken up here; explicit: the entries named by flags
  --from-entry E   explicit: from this entry on, by its file name
  --through-entry E up to and including this entry
  --max-bytes N    as many whole entries as fit into N bytes of transcript, from
                   the newest backward
  --manifest       print the room's manifest instead: each entry with its hash

substrate-offer design --for claude --max-bytes 20000
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	ask, manifest := door.Ask(c.Flags), c.Flags.Bool("manifest", false, "")
	space, people := c.Space(), c.Text()
	operands, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	ctx, records := context.Background(), tool.Records(operands)
	if err := check(c, *ask, *manifest, records); err != nil {
		return err
	}
	if records {
		return c.Each("floor", door.NewStream(ctx, door.Flags{Space: *space}).Offer(*ask))
	}
	name, err := c.Room(operands)
	if err != nil {
		return err
	}
	d, err := door.Open(*space)
	if err != nil {
		return err
	}
	if *manifest {
		return d.WriteManifest(ctx, c.Writer(), d.Key(name))
	}
	return show(ctx, c, d, d.Key(name), *ask, *people)
}
