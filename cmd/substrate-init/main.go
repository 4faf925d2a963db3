// Command substrate-init makes a space; see substrate-init(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-init [DIR] [--as NAME] [--label LABEL] [--no-register] [--text]

Make a space in DIR (or here), with this machine's crew as its participants, and
register it on this machine. Nothing that is there is overwritten.

  --as NAME        be one of its participants, a human
  --label LABEL    what this machine calls it (default: made from DIR's name)
  --no-register    leave this machine's files alone; needs no home directory

substrate-init ~/atlas --as dan
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	as, label, text := c.As(), c.Flags.String("label", "", ""), c.Text()
	alone := c.Flags.Bool("no-register", false, "")
	operands, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	if *alone && *label != "" {
		return c.Misuse("--no-register leaves --label nothing to name")
	}
	var me []store.Member
	if *as != "" {
		me = []store.Member{{Name: *as, Kind: "human"}}
	}
	ctx := context.Background()
	d, bad, err := door.Found(ctx, append(operands, ".")[0], *label, me, !*alone)
	for _, b := range bad {
		c.Warn(b)
	}
	if err != nil {
		return err
	}
	space, err := d.Space(ctx)
	if err != nil {
		return err
	}
	if *text {
		return c.Printf("made a space in %s, called %q here\n", space.Root, space.Label)
	}
	return c.Print(space)
}
