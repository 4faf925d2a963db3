// Command substrate-carry does the HTTP for the programs for rooms; see substrate-carry(1).
package main

import (
	"github.com/substrate-tools/substrate/lib/carrier"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-carry

Carry requests to a substrate-proxy. The programs for rooms run this one when their
space is on another machine, so that none of them has HTTP in it; nobody else needs
to. Requests come on standard input and answers go to standard output, in the
protocol that lib/remote describes. It ends with its input.

substrate-carry <requests >answers
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	if _, err := c.Parse(0, 0); err != nil {
		return err
	}
	return carrier.Serve(c.Stdin, c.Writer())
}
