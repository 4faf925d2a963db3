// Command substrate-doctor says what is wrong here; see substrate-doctor(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-doctor [--fix] [-A] [--space DIR] [--text]

Say what is in order and what is not, one finding a line, and what to run or do
about it. Exit 1 when something is wrong that stands in the way of work.

  --fix            repair what can be repaired without losing anything

substrate-doctor --text
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	fix, all, space := c.Flags.Bool("fix", false, ""), c.AllSpaces(), c.Space()
	text, wait := c.Text(), c.LockTimeout()
	if _, err := c.Parse(0, 0); err != nil {
		return err
	}
	var failed error
	found := func(f record.Finding) {
		if f.Level == "fail" {
			c.No()
		}
		if failed == nil {
			failed = c.Show(*text, f)
		}
	}
	programs(found)
	door.Examine(context.Background(), door.Query{Space: *space, All: *all}, *fix, *wait, found)
	return failed
}
