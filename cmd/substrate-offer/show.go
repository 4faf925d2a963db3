package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/tool"
)

// show prints an offer, or what it offers as somebody reads it.
func show(ctx context.Context, c *tool.Call, d *door.Door, key store.Key, ask room.Ask, people bool) error {
	offer, err := d.Offer(ctx, key, ask)
	if err != nil {
		return err
	}
	if !people {
		return c.Print(offer)
	}
	text, err := d.OfferText(ctx, offer)
	if err != nil {
		return err
	}
	return c.Printf("%s", text)
}
