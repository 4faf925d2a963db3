package main

import (
	"context"
	"time"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/tool"
)

// read completes a draft, and returns the room it is for.
func read(c *tool.Call, operands []string, body *tool.Body, d room.Draft) (string, room.Draft, error) {
	name, err := c.Room(operands)
	if err != nil {
		return "", d, err
	}
	if d.As, err = c.Actor(d.As); err != nil {
		return "", d, err
	}
	d.Body, err = body.Read()
	return name, d, err
}

// post posts it, and prints the receipt.
func post(
	ctx context.Context, c *tool.Call, d *door.Door, key store.Key, draft room.Draft, patience time.Duration, text bool,
) error {
	posted, err := d.PostWithin(ctx, key, draft, patience)
	if err != nil {
		return err
	}
	if room.Indented(draft.Body) {
		c.Notice("the white space before the first line was cut, as the format has it")
	}
	return c.Show(text, posted)
}
