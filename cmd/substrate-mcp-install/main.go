// Command substrate-mcp-install tells an MCP client of substrate-mcp; see substrate-mcp-install(1).
package main

import (
	"github.com/substrate-tools/substrate/lib/clients"
	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-mcp-install CLIENT [--remove] [--name NAME] [--space DIR]... [--file FILE] [--write]

Print what to add to the configuration of an MCP client, so that it starts
substrate-mcp. CLIENT is claude, codex, cursor, vscode, opencode or gemini. With
--write, add it, or change what is there: the rest of the file, its comments and
its order stay, and a copy of what was there is kept beside it.

  --remove         take it out again
  --name NAME      who the client acts as
  --space DIR      the space to serve, and others (default: all that are registered)
  --file FILE      another configuration than the user's own
  --write          write the file

substrate-mcp-install codex --name codex --write
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	name, spaces := c.Flags.String("name", "", ""), door.Spaces(c.Flags)
	file, write := c.Flags.String("file", "", ""), c.Flags.Bool("write", false, "")
	remove := c.Flags.Bool("remove", false, "")
	operands, err := c.Parse(1, 1)
	if err != nil {
		return err
	}
	client, err := clients.Named(operands[0])
	if err == nil && *file == "" {
		*file, err = client.File()
	}
	if err != nil {
		return err
	}
	var command []string
	if !*remove {
		if command, err = clients.Command(*name, *spaces); err != nil {
			return err
		}
	}
	if !*write {
		return describe(c, client, *file, command)
	}
	return apply(c, client, *file, command)
}
