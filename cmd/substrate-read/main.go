// Command substrate-read prints the entries of a room; see substrate-read(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-read [ROOM] [--tail N | --last N | --from LINE] [--from-entry E] [--through-entry E]
                      [--max-bytes N] [--meta] [--space DIR] [--text]
       substrate-read - [--max-bytes N] [--meta] [--space DIR] [--text]

Print the entries of a room; with --text, its transcript. Passes do not show.
With - in place of the room, offer records are read from standard input and what
they offered is printed again.

  --tail N         the last N entries
  --from-entry E   from this entry on, by its file name
  --through-entry E up to and including this entry
  --last N         the last N lines of the transcript; goes with --text
  --from LINE      the transcript from this line on; goes with --text
  --max-bytes N    whole entries only, up to N bytes of transcript
  --meta           say at the end what was read and where to go on

substrate-read design --tail 3 --text
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	part, limit, meta := door.Part(c.Flags), door.Positive(c.Flags, "max-bytes"), c.Flags.Bool("meta", false, "")
	space, text := c.Space(), c.Text()
	c.Exclude("last", "from", "tail", "from-entry", "through-entry")
	operands, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	ctx := context.Background()
	show := shower(ctx, c, *text, *meta, *limit)
	if tool.Records(operands) {
		if err := c.Without("-", "last", "from", "tail", "from-entry", "through-entry"); err != nil {
			return err
		}
		return c.Each("offer", door.NewStream(ctx, door.Flags{Space: *space}).Replay(show))
	}
	name, err := c.Room(operands)
	if err != nil {
		return err
	}
	d, err := door.Open(*space)
	if err != nil {
		return err
	}
	return show(d, d.Key(name), *part)
}
