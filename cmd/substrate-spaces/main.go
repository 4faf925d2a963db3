// Command substrate-spaces keeps this machine's registry; see substrate-spaces(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-spaces list [--text]
       substrate-spaces add [DIR] [--label LABEL] [--text]
       substrate-spaces remove LABEL|DIR [--text]

Keep this machine's registry of spaces, which -A goes by. Removing a space from
it leaves the space itself alone.

  --label LABEL    what this machine calls it (default: made from DIR's name)

substrate-spaces add ~/work/atlas
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	label, text := c.Flags.String("label", "", ""), c.Text()
	operands, err := c.Parse(1, 2)
	if err != nil {
		return err
	}
	ctx := context.Background()
	switch op := operands[0]; {
	case op == "list" && len(operands) == 1:
		doors, bad, err := door.All()
		for _, b := range bad {
			c.Warn(b)
		}
		if err != nil {
			return err
		}
		for _, d := range doors {
			space, err := d.Space(ctx)
			if err != nil {
				c.Fail(err)
			} else if err := c.Show(*text, space); err != nil {
				return err
			}
		}
		return nil
	case op == "add":
		space, err := door.Add(ctx, append(operands, ".")[1], *label)
		if err != nil {
			return err
		}
		return c.Show(*text, space)
	case op == "remove" && len(operands) == 2:
		gone, err := door.Remove(ctx, operands[1])
		if err != nil {
			return err
		}
		return c.Show(*text, gone)
	}
	return c.Misuse("unknown operation, or an operand too few or too many: %q", operands[0])
}
