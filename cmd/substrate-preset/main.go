// Command substrate-preset lists and activates presets; see substrate-preset(1).
package main

import (
	"strings"

	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-preset list [--body DIR] [--text]
       substrate-preset discover [DIR...] [--text]
       substrate-preset swap PRESET [--tokens N] [--body DIR] [--text]
       substrate-preset revert [--tokens N] [--body DIR] [--text]

List the presets that an agent may use and whether their models can be reached
now; list the presets that lie in a library, allowed or not; make another preset
the active one, or go back to the default. PRESET is a path as list shows it.

  --tokens N       what the conversation has now, in tokens (default: what the
                   agent's status says; unknown fits everywhere)

substrate-preset swap ~/.lingtai-tui/presets/fast.json --body ~/net/ann
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	tokens, dir, text, wait := c.Count("tokens"), c.Workdir(), c.Text(), c.LockTimeout()
	operands, err := c.Parse(1, -1)
	if err != nil {
		return err
	}
	d := doer{c, preset.Here(), *dir, *text}
	ask := preset.Request{Tokens: preset.Known(*tokens), Wait: *wait}
	switch op, rest := operands[0], operands[1:]; {
	case op == "list" && len(rest) == 0:
		return d.list()
	case op == "discover":
		return d.discover(rest)
	case op == "swap" && len(rest) == 1 && strings.TrimSpace(rest[0]) != "":
		ask.Preset = rest[0]
		return d.swap(ask)
	case op == "revert" && len(rest) <= 1:
		ask.Preset, ask.Revert = strings.Join(rest, ""), true
		return d.swap(ask)
	}
	return c.Misuse("unknown operation, or an operand too few or too many: %q", operands[0])
}
