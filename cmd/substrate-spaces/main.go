// Command substrate-spaces keeps this machine's registry; see substrate-spaces(1).
package main

import (
	"context"
	"os"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-spaces list [--text]
       substrate-spaces show [DIR] [--text]
       substrate-spaces add [DIR] [--label LABEL] [--text]
       substrate-spaces remove LABEL|DIR|URL [--text]

Keep this machine's registry of spaces, which -A goes by; spaces on other machines
are there once they were joined. Removing one leaves the space itself alone. show
tells of the space at DIR, or of the nearest upward from here, registered or not.

  --label LABEL    what this machine calls it (default: made from DIR's name)

substrate-spaces add ~/atlas
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	label, text := c.Flags.String("label", "", ""), c.Text()
	operands, err := c.Parse(1, 2)
	if err != nil {
		return err
	}
	ctx := context.Background()
	var space record.Space
	switch op := operands[0]; {
	case op == "list" && len(operands) == 1:
		return list(ctx, c, *text)
	case op == "show":
		space, err = door.Show(ctx, append(operands, os.Getenv("SUBSTRATE_SPACE"))[1])
	case op == "add":
		space, err = door.Add(ctx, append(operands, ".")[1], *label)
	case op == "remove" && len(operands) == 2:
		space, err = door.Remove(ctx, operands[1])
	default:
		return c.Misuse("unknown operation, or an operand too few or too many: %q", operands[0])
	}
	if err != nil {
		return err
	}
	return c.Show(*text, space)
}
