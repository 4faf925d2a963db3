// Command substrate-read prints the entries of a room; see substrate-read(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/tool"
	"github.com/substrate-tools/substrate/lib/transcript"
)

const usage = `usage: substrate-read [ROOM] [--last N | --from LINE | --tail N |
                      --from-entry E --through-entry E] [--max-bytes N] [--meta] [--space DIR] [--text]

Print the entries of a room; with --text, its transcript. Passes do not show.

  --tail N         the last N entries
  --from-entry E   from this entry on, by its file name
  --through-entry E up to and including this entry
  --last N         the last N lines of the transcript; goes with --text
  --from LINE      the transcript from this line on; goes with --text
  --max-bytes N    whole entries only, up to N bytes of transcript
  --meta           say at the end what was read and where to go on
  --space DIR      the space (default: the nearest one upward from here)
  --text           print the transcript, not records
  --errors json    report errors as records

substrate-read design --tail 3 --text
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	part, limit, meta := door.Part(c.Flags), c.Flags.Int("max-bytes", 0, ""), c.Flags.Bool("meta", false, "")
	space, text := c.Space(), c.Text()
	c.Exclude("last", "from", "tail", "from-entry", "through-entry")
	operands, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	name, err := c.Room(operands)
	if err != nil {
		return err
	}
	d, err := door.Open(*space, 0)
	if err != nil {
		return err
	}
	key := d.Key(name)
	reading, err := d.Read(context.Background(), key, *part, *limit)
	if err != nil {
		return err
	}
	if *text {
		if err := transcript.WriteText(c.TextWriter(), reading.Entries(), reading.First()); err != nil {
			return err
		}
	} else {
		for e, err := range reading.Entries() {
			if err != nil {
				return err
			}
			if err := c.Print(room.Entry(key, e)); err != nil {
				return err
			}
		}
	}
	switch {
	case *meta && *text:
		c.Notice("%s", reading.Window().Text())
	case *meta:
		return c.Print(reading.Window())
	}
	return nil
}
