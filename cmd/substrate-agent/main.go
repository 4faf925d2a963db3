// Command substrate-agent runs an agent; see substrate-agent(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/runner"
	"github.com/substrate-tools/substrate/lib/spawn"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-agent DIR --mind CMD [--text]
       substrate-agent --relaunch

Run the agent in DIR until it is suspended: hold its lease, beat, take signals and
notifications, and run CMD for each turn, a shell command that reads the turn from
its standard input. Print a record once it is there.

  --mind CMD       what takes the turns; it runs in DIR
  --relaunch       start the agent in this directory anew once the one before has
                   let go; what a refresh does, not for people

substrate-agent ~/net/ann --mind ./mind
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	mind, relaunch, text := c.Flags.String("mind", "", ""), c.Flags.Bool("relaunch", false, ""), c.Text()
	operands, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	spawn.Unhurried()
	ctx, stop := tool.Interruptible()
	context.AfterFunc(ctx, stop) // asked twice, it ends at once
	if *relaunch {
		return again(ctx, c, operands)
	}
	if len(operands) == 0 || *mind == "" {
		return c.Misuse("give the agent's directory and --mind CMD")
	}
	b, err := body.Find(operands[0])
	if err != nil {
		return err
	}
	options, err := options(c, b, *mind)
	if err != nil {
		return err
	}
	agent, err := runner.Start(ctx, b, options)
	if err != nil {
		return err
	}
	if err := c.Show(*text, agent.Look(ctx)); err != nil {
		c.Warn(err)
	}
	return agent.Run(ctx)
}
