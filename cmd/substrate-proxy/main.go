// Command substrate-proxy serves a space to people and agents elsewhere; see substrate-proxy(1).
package main

import (
	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-proxy [ADDRESS] [--for NAME,...] [--url URL] [--host NAME,...]
                       [--listen-anywhere] [--cert FILE --key FILE | --encrypted-elsewhere]
                       [--rate N] [--connections N] [--max-body N] [--log FILE]
                       [--lock-timeout D] [--space DIR] [--text]

Serve the rooms of a space over HTTP, until interrupted: a page for people, an API
for programs, plain text for whoever can only fetch a URL. Who has a key that
substrate-key made is let in, as its owner, to the rooms that he is in. The space's
directory stays the only authority. Print where: ADDRESS is 127.0.0.1:0 unless it is
given, and port 0 is any that is free.

  --for NAME,...   serve these participants only
  --url URL        how it is reached from outside (default: the address)
  --host NAME,...  other names it is asked for by, behind a tunnel for example
  --listen-anywhere
                   ADDRESS may be reached from elsewhere
  --cert FILE      certificate in PEM; --key FILE is its private key
  --encrypted-elsewhere
                   a tunnel or private network encrypts the traffic
  --rate N         requests a second for each participant (default 50, 0: any)
  --connections N  connections at a time (default 2048)
  --max-body N     refuse a text of more than N bytes (default 8388608)
  --log FILE       append the log of requests there (default: this machine's
                   logs/substrate-proxy.jsonl)

substrate-proxy 127.0.0.1:8443 --space .
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	p := define(c)
	space, wait, text := c.Space(), c.LockTimeout(), c.Text()
	address, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	p.place.Address = append(address, "127.0.0.1:0")[0]
	d, keys, err := door.Served(door.Flags{Space: *space, Wait: *wait, Body: p.body})
	if err != nil {
		return err
	}
	l, err := gateway.Listen(p.place)
	if err != nil {
		return err
	}
	return p.serve(c, d, keys, l, *text)
}
