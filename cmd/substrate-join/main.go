// Command substrate-join registers participants; see substrate-join(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-join NAME... --kind human|agent|other [--space DIR] [--text]
       substrate-join - [--kind human|agent|other] [--space DIR]
       substrate-join --packet FILE [--label LABEL] [--text]

Register participants in a space, all or none. Somebody who is registered as the
same kind already stays so. With - in place of names, participant records are
read from standard input, one change for each. With --packet, keep the key that
the host of a space on another machine made with substrate-key: from then on every
program for rooms works there, with --space URL.

  --kind KIND      human, agent or other; for records, where they name none
  --packet FILE    join the space on another machine that FILE leads to
  --label LABEL    what this machine calls that space (default: what its host does)

substrate-join claude codex --kind agent
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	kind, space, wait, text := c.Flags.String("kind", "", ""), c.Space(), c.LockTimeout(), c.Text()
	packet, label := c.Flags.String("packet", "", ""), c.Flags.String("label", "", "")
	names, err := c.Parse(0, -1)
	if err != nil {
		return err
	}
	if *packet != "" {
		return away(c, names, *packet, *label, *text)
	}
	if len(names) == 0 {
		return c.Misuse("operand missing")
	}
	ctx, flags := context.Background(), door.Flags{Space: *space, Wait: *wait}
	if tool.Records(names) {
		if err := c.Without("-", "text"); err != nil {
			return err
		}
		return c.Each("participant", door.NewStream(ctx, flags).Join(*kind))
	}
	return register(ctx, c, flags, names, *kind, *text)
}
