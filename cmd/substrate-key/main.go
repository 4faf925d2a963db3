// Command substrate-key keeps the keys that let others into a space; see substrate-key(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-key make NAME --url URL [--packet FILE | --print] [--ca FILE] [--space DIR]
                     [--text]
       substrate-key rotate NAME --url URL [--packet FILE | --print] [--ca FILE] [--space DIR]
                     [--text]
       substrate-key link NAME --url URL [--space DIR]
       substrate-key revoke NAME [--space DIR] [--text]
       substrate-key list [--space DIR] [--text]

Keep the keys with which participants come in through substrate-proxy. A key makes
whoever has it NAME, in the rooms that NAME is in. It goes into a join packet, a
file for substrate-join --packet on the other machine; only its hash stays here.

make gives NAME a key, rotate ends whatever he has and gives him another, revoke
ends it all, at once. link prints an address that opens the page for people, once
and within a day: send it to NAME alone.

  --url URL        where the proxy is reached, as https://host:port
  --packet FILE    write the packet there (default: NAME.packet, %2F for each /)
  --print          print the packet instead, secret as it is
  --ca FILE        certificate to trust the proxy by, in PEM, where no public one is

substrate-key make ann --url https://host.example:8443
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	k := keys{c: c, url: c.Flags.String("url", "", ""), file: c.Flags.String("packet", "", "")}
	k.show, k.ca = c.Flags.Bool("print", false, ""), c.Flags.String("ca", "", "")
	space, wait := c.Space(), c.LockTimeout()
	k.text = c.Text()
	operands, err := c.Parse(1, 2)
	if err != nil {
		return err
	}
	if k.door, k.ring, err = door.Served(door.Flags{Space: *space, Wait: *wait}); err != nil {
		return err
	}
	return k.do(context.Background(), operands)
}
