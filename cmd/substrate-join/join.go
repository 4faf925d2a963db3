package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/tool"
)

// away joins a space on another machine.
func away(c *tool.Call, names []string, packet, label string, text bool) error {
	if len(names) > 0 {
		return c.Misuse("names to register here, or a packet to join with")
	}
	p, err := door.JoinRemote(context.Background(), packet, label)
	if err != nil {
		return err
	}
	return c.Show(text, p)
}

// register registers participants of one kind.
func register(ctx context.Context, c *tool.Call, flags door.Flags, names []string, kind string, text bool) error {
	if kind == "" {
		return c.Misuse("which kind? give --kind")
	}
	d, err := flags.Open()
	if err != nil {
		return err
	}
	var members []store.Member
	for _, name := range names {
		members = append(members, store.Member{Name: name, Kind: kind})
	}
	joined, err := d.Join(ctx, members...)
	if err != nil {
		return err
	}
	return tool.ShowAll(c, text, joined)
}
