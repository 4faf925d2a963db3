// Command substrate-mcp-http serves rooms to MCP clients over HTTP; see substrate-mcp-http(1).
package main

import (
	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/mcpserver"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-mcp-http [ADDRESS] [--name NAME] [--space DIR]... [--keys FILE]
                          [--listen-anywhere] [--lock-timeout D] [--debug] [--text]

Serve rooms to MCP clients over streamable HTTP, until interrupted. Print where:
ADDRESS is 127.0.0.1:0 unless it is given, and port 0 is any that is free.

  --name NAME      who acts when a call names nobody; never guessed
  --space DIR      serve this space, and others so named (default: every space in
                   this machine's registry, read anew at every call)
  --keys FILE      serve only who has a key, as its owner; lines of a name and the
                   SHA-256 of his key in hex
  --listen-anywhere
                   ADDRESS may be reached from elsewhere; goes with --keys
  --debug          log more, in this machine's logs/substrate-mcp-http.log

substrate-mcp-http 127.0.0.1:8127 --space . --keys keys
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	who, spaces := c.Flags.String("name", "", ""), door.Spaces(c.Flags)
	file, anywhere := c.Flags.String("keys", "", ""), c.Flags.Bool("listen-anywhere", false, "")
	wait, frames, text := c.LockTimeout(), c.Flags.Bool("debug", false, ""), c.Text()
	address, keys, err := parse(c, who, file)
	if err != nil {
		return err
	}
	l, where, err := mcpserver.Listen(address, *anywhere, keys != nil)
	if err != nil {
		return err
	}
	s := mcpserver.New(mcpserver.Config{
		Version: tool.Version, Name: *who, Spaces: *spaces, Wait: *wait,
		Log: mcpserver.Log("substrate-mcp-http.log"), Frames: *frames,
	})
	defer s.Close()
	if *anywhere {
		c.Notice(mcpserver.TrustBoundary)
	}
	if err := c.Show(*text, where); err != nil {
		return err
	}
	ctx, stop := tool.Interruptible()
	defer stop()
	return s.ServeHTTP(ctx, l, s.Handler(keys, !*anywhere))
}
