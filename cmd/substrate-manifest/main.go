// Command substrate-manifest reads an agent's configuration; see substrate-manifest(1).
package main

import (
	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-manifest check DIR [--refresh] [--text]
       substrate-manifest resolve DIR [--text]
       substrate-manifest explain DIR [--text]

Read the configuration of the agent in DIR, its init.json with the active preset
in place, the way an agent does at its start. Say what is wrong with it, write
what comes of it to system/manifest.resolved.json, or say where each value comes
from. init.json is never written, and no secret is shown.

  --refresh        as at a refresh, where an agent keeps what it had before

substrate-manifest check ~/net/ann
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	refresh, text := c.Flags.Bool("refresh", false, ""), c.Text()
	operands, err := c.Parse(2, 2)
	if err != nil {
		return err
	}
	b, err := body.Open(operands[1])
	if err != nil {
		return err
	}
	r := preset.Here().Read(b.Dir(), preset.When(*refresh))
	switch operands[0] {
	case "check":
		if r.Config == nil {
			c.No()
		}
		if err := tool.ShowAll(c, *text, r.Findings); err != nil {
			return err
		}
		return c.Show(*text, r.Reading)
	case "resolve":
		written, err := preset.Here().WriteResolved(r)
		if err != nil {
			return err
		}
		return c.Show(*text, written)
	case "explain":
		settings, err := r.Explain()
		if err != nil {
			return err
		}
		return tool.ShowAll(c, *text, settings)
	}
	return c.Misuse("unknown operation: %q", operands[0])
}
