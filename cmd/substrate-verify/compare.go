package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/export"
)

// compare names the first difference from a room as it is here.
func compare(checked export.Checked, space, room string) error {
	d, err := door.Open(space)
	if err != nil {
		return err
	}
	return checked.Compare(context.Background(), d.Store, d.Key(room))
}
