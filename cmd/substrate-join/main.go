// Command substrate-join registers participants; see substrate-join(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-join NAME... --kind human|agent|other [--space DIR] [--text]
       substrate-join - [--kind human|agent|other] [--space DIR]

Register participants in a space, all or none. Somebody who is registered as the
same kind already stays so. With - in place of names, participant records are
read from standard input, one change for each.

  --kind KIND      human, agent or other; for records, where they name none

substrate-join claude codex --kind agent
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	kind, space, wait, text := c.Flags.String("kind", "", ""), c.Space(), c.LockTimeout(), c.Text()
	names, err := c.Parse(1, -1)
	if err != nil {
		return err
	}
	ctx, flags := context.Background(), door.Flags{Space: *space, Wait: *wait}
	if tool.Records(names) {
		if err := c.Without("-", "text"); err != nil {
			return err
		}
		return c.Each("participant", door.NewStream(ctx, flags).Join(*kind))
	}
	if *kind == "" {
		return c.Misuse("which kind? give --kind")
	}
	d, err := flags.Open()
	if err != nil {
		return err
	}
	var members []store.Member
	for _, name := range names {
		members = append(members, store.Member{Name: name, Kind: *kind})
	}
	joined, err := d.Join(ctx, members...)
	for _, p := range joined {
		if err := c.Show(*text, p); err != nil {
			return err
		}
	}
	return err
}
