// Command substrate-identity keeps who the person at this machine is; see substrate-identity(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-identity [--text]
       substrate-identity NAME [--kind human|agent|other] [--text]

Print who the person at this machine is, or remember NAME as that. Interactive
scripts go by it; no program acts as somebody whom --as does not name.

  --kind KIND      human (the default), agent or other

substrate-identity dan
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	kind, text := c.Flags.String("kind", "human", ""), c.Text()
	operands, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	machine, err := home.Open()
	if err != nil {
		return err
	}
	if len(operands) == 1 {
		err := machine.Remember(context.Background(), store.Member{Name: operands[0], Kind: *kind})
		if err != nil {
			return err
		}
	} else if err := c.Without("no NAME", "kind"); err != nil {
		return err
	}
	who, err := machine.Person()
	if err != nil {
		return err
	}
	return c.Show(*text, record.Identity{Type: "identity", Name: who.Name, Kind: who.Kind})
}
