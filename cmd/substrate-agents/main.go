// Command substrate-agents lists the agents of a network; see substrate-agents(1).
package main

import (
	"context"
	"os"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-agents [NETDIR] [--body DIR] [--text]

List the agents whose directories are children of NETDIR: state, age of the
heartbeat, whether somebody holds the lease, active turn, unread mail. Without
NETDIR they are the agent of --body and its peers.


substrate-agents ~/net | jq -r 'select(.alive | not) | .address'
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	dir, text := c.Workdir(), c.Text()
	operands, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	network := ""
	if len(operands) == 1 {
		network = operands[0]
	} else {
		b, err := body.Find(*dir)
		if err != nil {
			return err
		}
		network = b.Network()
	}
	bodies, err := body.List(network)
	if err != nil {
		return err
	}
	env := body.ReadEnv(os.LookupEnv)
	for _, b := range bodies {
		if err := c.Show(*text, b.Look(context.Background(), time.Now(), env)); err != nil {
			return err
		}
	}
	return nil
}
