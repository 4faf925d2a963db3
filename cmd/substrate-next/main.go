// Command substrate-next says whose turn it is; see substrate-next(1).
package main

import (
	"context"
	"time"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-next [ROOM] [--for NAME [--wait D]] [--held D] [-A] [--space DIR] [--text]

Print the room, or every active one, and who holds its floor. With --for, print
only rooms where NAME holds it, and exit 1 when there is none.

  --for NAME       only rooms where it is NAME's turn
  --wait D         wait until there is one, D at most; exit 99 if none comes, 1 if
                   ROOM has ended
  --held D         only rooms whose floor has been where it is for D or longer

substrate-next --for claude --wait 10m
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	who, wait, held := c.For(), c.Flags.Duration("wait", 0, ""), c.Flags.Duration("held", 0, "")
	all, space, text := c.AllSpaces(), c.Space(), c.Text()
	names, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	if room, err := c.Room(names); err == nil && !*all {
		names = []string{room}
	}
	if *wait > 0 && *who == "" {
		return c.Misuse("for whom? --wait goes with --for NAME")
	}
	q := door.Query{Space: *space, All: *all, Rooms: names, For: *who}
	ctx, cancel := context.WithTimeout(context.Background(), *wait)
	defer cancel()
	found := 0
	for room, err := range q.Find(context.Background(), c.Warn) {
		if err != nil {
			c.Fail(err)
			continue
		}
		if !wanted(room, *who, *held, len(names) > 0) {
			continue
		}
		found++
		if err := c.Show(*text, room); err != nil {
			return err
		}
	}
	switch {
	case found > 0 || *who == "" && *held == 0:
		return nil
	case *wait > 0:
		room, err := q.Await(ctx, c.Warn, func(s string) { c.Notice("%s", s) })
		if err != nil {
			return err
		}
		return c.Show(*text, room)
	}
	c.No()
	return nil
}

// wanted reports whether a room is one that was asked for. One that has ended has
// no floor, and shows only when it was named.
func wanted(room record.Room, who string, held time.Duration, named bool) bool {
	if room.Status == "ended" && (who != "" || held > 0 || !named) {
		return false
	}
	if held > 0 {
		since, err := time.Parse(time.RFC3339, room.FloorSince)
		if err != nil || time.Since(since) < held {
			return false
		}
	}
	return who == "" || room.Current == who
}
