package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/tool"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// shower returns what prints a part of a room, and with meta, what that was.
func shower(ctx context.Context, c *tool.Call, text, meta bool, limit int) func(*door.Door, store.Key, store.Part) error {
	return func(d *door.Door, key store.Key, part store.Part) error {
		rd, err := d.Read(ctx, key, part, limit)
		switch {
		case err != nil:
			return err
		case text:
			err = transcript.WriteText(c.TextWriter(), rd.Entries(), rd.First())
		default:
			err = tool.PrintAll(c, rd.Entries(), func(e transcript.Entry) any { return room.Entry(key, e) })
		}
		if err != nil || !meta {
			return err
		}
		return c.Aside(text, rd.Window())
	}
}
