// Command substrate-attend takes an agent's turns; see substrate-attend(1).
package main

import (
	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-attend NAME [--exec CMD] [--room [LABEL/]ROOM] [--reply self | stdout]
                        [--context full | incremental] [--attempts N] [--pause D] [--timeout D]
                        [--max-bytes N] [-A] [--space DIR] [--text]
       substrate-attend NAME --room - [--exec CMD] [--reply self | stdout] [--attempts N] [--pause D]
                        [--timeout D] [--text]
       substrate-attend --all [-A] [--space DIR] [--text]

Run a command, afresh each time, whenever NAME gets the floor: the offered
transcript is on its standard input, what to do in SUBSTRATE_PROMPT. A turn that
brings no entry is tried again after growing pauses, and then left alone. With
--room -, offer records are read from standard input and a turn is taken on each.

  --all            every agent in agents.yaml
  --exec CMD       the command (default: the run line in agents.yaml); by sh
  --room R         only this room; LABEL is what this machine calls its space
  --reply R        self: the command posts (default); stdout: what it prints is posted
  --context C      what is offered: full (default), or incremental
  --attempts N     how often a turn is tried (default 3)
  --pause D        before the second attempt (default 5s); then three times as long
  --timeout D      after which the command is killed (default 30m)
  --max-bytes N    offer as many whole entries as fit into N bytes

substrate-attend claude --exec 'claude -p "$SUBSTRATE_PROMPT"' --reply stdout
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	every, spot := c.Flags.Bool("all", false, ""), c.Flags.String("room", "", "")
	adjust := adjustments(c)
	all, space, text := c.AllSpaces(), c.Space(), c.Text()
	machine, names, err := whom(c, every, spot)
	if err != nil {
		return err
	}
	ctx, stop := tool.Interruptible()
	defer stop()
	a := attendance{c: c, machine: machine, adjust: adjust, text: *text}
	if *spot == "-" {
		return a.offers(ctx, names[0], door.Flags{Space: *space, Wait: files.DefaultWait})
	}
	q := door.Query{Space: *space, All: *all}
	if *spot != "" {
		if q, err = door.At(*spot, *space); err != nil {
			return err
		}
	}
	return a.serve(ctx, names, q)
}
