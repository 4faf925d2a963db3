package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/tool"
)

// list prints the record of each space that can be read, and says of the others why not.
func list(ctx context.Context, c *tool.Call, text bool) error {
	doors, bad, err := door.All()
	for _, b := range bad {
		c.Warn(b)
	}
	if err != nil {
		return err
	}
	for _, d := range doors {
		space, err := d.Space(ctx)
		if err != nil {
			c.Fail(err)
		} else if err := c.Show(text, space); err != nil {
			return err
		}
	}
	return nil
}
