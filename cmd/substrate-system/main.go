// Command substrate-system governs the lives of agents; see substrate-system(1).
package main

import (
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-system sleep [--delay SECONDS] [--force] [--body DIR] [--text]
       substrate-system lull ADDRESS [--reason TEXT] [--body DIR] [--text]
       substrate-system interrupt ADDRESS [--reason TEXT] [--body DIR] [--text]
       substrate-system suspend ADDRESS [--reason TEXT] [--body DIR] [--text]
       substrate-system cpr ADDRESS [--reason TEXT] [--body DIR] [--text]
       substrate-system clear ADDRESS [--reason TEXT] [--body DIR] [--text]
       substrate-system nirvana ADDRESS --reason TEXT [--body DIR] [--text]
       substrate-system refresh [ADDRESS] [--preset PRESET | --revert] [--reason TEXT] [--body DIR]
                                [--text]
       substrate-system refresh --check | --verify [--body DIR] [--text]

Sleep until something happens; or put another agent to sleep, cancel its turn, end
its process, revive it, have it begin a new conversation, destroy it for good, or
start anew, oneself or another. What is done to another takes the right karma.

  --delay SECONDS  wake me then at the latest
  --force          sleep over notifications that wait
  --reason TEXT    why; nirvana does not go without
  --preset PRESET  with another preset, a path as substrate-preset list shows it
  --revert         with the default preset
  --check          say what stands in the way of a refresh, and do nothing
  --verify         say how the agent is after one

substrate-system sleep --delay 600
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	s := define(c)
	operands, err := c.Parse(1, 2)
	if err != nil {
		return err
	}
	return s.do(operands[0], operands[1:])
}
