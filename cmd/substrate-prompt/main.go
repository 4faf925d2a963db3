// Command substrate-prompt composes an agent's system prompt; see substrate-prompt(1).
package main

import (
	"io"

	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/prompt"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-prompt DIR [--dry-run] [--text]
       substrate-prompt --guidance [--text]

Compose the system prompt of the agent in DIR from its sections, write it to
system/system.md and each section that is made from something else beside it,
and say what it is composed of. With --text, print the prompt itself.

  --dry-run        write nothing
  --guidance       print the guidance for minds, which is the same for all agents

substrate-prompt ~/net/ann --text
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	dry, guidance, text := c.Flags.Bool("dry-run", false, ""), c.Flags.Bool("guidance", false, ""), c.Text()
	operands, err := c.Parse(0, 1)
	switch {
	case err != nil:
		return err
	case *guidance == (len(operands) == 1):
		return c.Misuse("either an agent's directory or --guidance")
	case *guidance:
		return guide(c, *text)
	}
	p, err := prompt.For(preset.Here(), operands[0])
	if err != nil {
		return err
	}
	made := p.Record()
	if !*dry {
		if made, err = p.Write(); err != nil {
			return err
		}
	}
	for _, f := range p.Findings {
		if err := c.Aside(*text, f); err != nil {
			return err
		}
	}
	if !*text {
		return c.Print(made)
	}
	_, err = io.WriteString(c.TextWriter(), p.String())
	return err
}
