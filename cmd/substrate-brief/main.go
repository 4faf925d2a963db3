// Command substrate-brief prints the courier text of a room; see substrate-brief(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-brief [ROOM] --for NAME [--tail N] [--space DIR]

Print a text for somebody who can only be handed text: who he is, where the room
stands, its transcript, and how to answer.

  --for NAME       whom the text is for
  --tail N         only the last N entries

substrate-brief design --for claude | xclip
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	who, tail, space := c.For(), door.Positive(c.Flags, "tail"), c.Space()
	operands, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	name, err := c.Room(operands)
	if err != nil {
		return err
	}
	if *who == "" {
		return c.Misuse("whom is it for? give --for NAME")
	}
	d, err := door.Open(*space)
	if err != nil {
		return err
	}
	text, err := d.Brief(context.Background(), d.Key(name), *who, *tail)
	if err != nil {
		return err
	}
	return c.Printf("%s", text)
}
