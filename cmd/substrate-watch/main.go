// Command substrate-watch tells when floors change; see substrate-watch(1).
package main

import (
	"time"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-watch [ROOM...] [--for NAME] [--entries [--since E]] [--once] [--timeout D]
                       [--exec CMD] [--inbox DIR] [--scan D] [-A] [--space DIR] [--text]

Print a line whenever the floor of a room changes, and nothing while none does.
A line is a state, not an event: several changes in quick succession may show as
one, and the last line is right.

  --for NAME       only floors that come to NAME, or are his already when the
                   watch begins, and the ends of rooms he takes turns in
  --entries        print entries as they land instead, each of them
  --since E        begin with those that came after entry E
  --once           end after the first line
  --timeout D      end after D; exit 99 if nothing was printed
  --exec CMD       run CMD for each line; never twice at once for a room, and
                   again after a pause when it fails
  --inbox DIR      put each line into the inbox of the agent whose directory DIR is,
                   where it wakes him; goes with --for
  --scan D         look at everything every D without being woken (default 15s)

substrate-watch --for claude --exec ./take-a-turn
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	who, entries, since := c.For(), c.Flags.Bool("entries", false, ""), c.Flags.String("since", "", "")
	once, timeout := c.Flags.Bool("once", false, ""), c.Duration("timeout", -1)
	command, scan := c.Flags.String("exec", "", ""), c.Duration("scan", 15*time.Second)
	agent := c.Flags.String("inbox", "", "")
	all, space, text := c.AllSpaces(), c.Space(), c.Text()
	names, err := c.Parse(0, -1)
	if err != nil {
		return err
	}
	if *entries && *command+*agent != "" || *since != "" && !*entries || *agent != "" && *who == "" {
		return c.Misuse("--exec goes with floors, --since with --entries, --inbox with --for")
	}
	if err := room.CheckCursor(*since); err != nil {
		return err
	}
	w := watch{c: c, text: *text, once: *once, entries: *entries, since: *since, f: room.Follower{For: *who}}
	ctx, stop, err := w.hand(*agent, *command, *timeout)
	if err != nil {
		return err
	}
	defer stop()
	q := door.Query{Space: *space, All: *all, Rooms: names, For: *who}
	return w.follow(ctx, q, *scan)
}
