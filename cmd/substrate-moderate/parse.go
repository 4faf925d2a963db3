package main

import (
	"context"
	"strconv"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/tool"
)

// operands is how many follow the room.
var operands = map[string]int{
	"next": 1, "invite": 1, "quiet": 2, "order": 1, "topic": 1, "end": 0, "resume": 0,
}

// where returns the room, which may be the one that a hook was called for, and what
// follows it.
func where(c *tool.Call, given []string) (name string, args []string, err error) {
	n, known := operands[given[0]]
	if !known {
		return "", nil, c.Misuse("unknown operation: %q", given[0])
	}
	if len(given) == 1+n {
		name, err = c.Room(nil)
		if err == nil || len(given) == 1 {
			return name, given[1:], err
		}
	}
	if len(given) != 2+n {
		return "", nil, c.Misuse("%s takes %d operands after the room, not %d", given[0], n, max(len(given)-2, 0))
	}
	return given[1], given[2:], nil
}

// parse returns the act that an operation names, nil for invite, which is more
// than a change of the room.
func parse(c *tool.Call, op string, args []string) (room.Act, error) {
	switch op {
	case "next":
		return room.Hand(args[0]), nil
	case "quiet":
		turns, err := strconv.Atoi(args[1])
		if err != nil {
			return nil, c.Misuse("not a number of turns: %q", args[1])
		}
		return room.Quiet(args[0], turns), nil
	case "order":
		return room.Order(tool.Split(args[0])), nil
	case "topic":
		return room.Topic(args[0]), nil
	case "end":
		return room.End, nil
	case "resume":
		return room.Resume, nil
	}
	return nil, nil
}

// perform does it.
func perform(d *door.Door, name, who string, act room.Act, args []string) (record.Room, error) {
	if act == nil {
		return d.Invite(context.Background(), d.Key(name), who, args[0])
	}
	return d.Moderate(context.Background(), d.Key(name), who, act)
}
