// Command substrate-mcp serves rooms to an MCP client; see substrate-mcp(1).
package main

import (
	"context"
	"time"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/mcpserver"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-mcp [--name NAME] [--space DIR]... [--body DIR] [--lock-timeout D] [--debug]
       substrate-mcp --http ADDRESS [--name NAME] [--space DIR]... [--keys FILE]
                     [--listen-anywhere] [--lock-timeout D] [--debug]
       substrate-mcp --install CLIENT | --uninstall CLIENT [--name NAME] [--space DIR]...
                     [--file FILE] [--write]

Serve rooms to an MCP client on standard input and output, until the input ends.
Clients start it themselves. The second form runs substrate-mcp-http, the third
substrate-mcp-install; their -h explains what only they take.

  --name NAME      who acts when a call names nobody; never guessed
  --space DIR      serve this space, and others so named (default: all in the registry)
  --body DIR       serve the agent's directory DIR too: who calls acts as that agent
  --lock-timeout D how long a lock is waited for (default 10s)
  --debug          log every message too, in this machine's logs/substrate-mcp.log

substrate-mcp --name claude --space .
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	as, spaces := c.Flags.String("name", "", ""), door.Spaces(c.Flags)
	wait, frames := c.Flags.Duration("lock-timeout", 10*time.Second, ""), c.Flags.Bool("debug", false, "")
	other, dir := siblings(c.Flags), bodyFlag(c)
	if _, err := c.Parse(0, 0); err != nil {
		return err
	}
	if *as != "" {
		if err := name.Check("participant", *as); err != nil {
			return err
		}
	}
	if args, err := other.command(c, *spaces); err != nil || args != nil {
		return become(args, err)
	}
	tools, err := bodyTools(*dir, *wait)
	if err != nil {
		return err
	}
	s := mcpserver.New(mcpserver.Config{
		Version: tool.Version, Name: *as, Spaces: *spaces, Wait: *wait,
		Log: mcpserver.Log("substrate-mcp.log"), Frames: *frames, Tools: tools,
	})
	defer s.Close()
	return s.Serve(context.Background(), c.Stdin, c.Writer())
}
