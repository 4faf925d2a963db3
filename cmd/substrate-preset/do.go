package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/tool"
)

// doer is one call of the program.
type doer struct {
	*tool.Call
	host preset.Host
	dir  string
	text bool
}

func (d doer) list() error {
	b, err := body.Find(d.dir)
	if err != nil {
		return err
	}
	rows, skipped, err := d.host.List(context.Background(), b.Dir())
	for _, s := range skipped {
		d.Warn(s)
	}
	for _, row := range rows {
		if err := d.Show(d.text, row); err != nil {
			return err
		}
	}
	return err
}

func (d doer) discover(dirs []string) error {
	files, err := d.host.Discover(dirs)
	for _, f := range files {
		if err := d.Show(d.text, f); err != nil {
			return err
		}
	}
	return err
}

func (d doer) swap(q preset.Request) error {
	b, err := body.Find(d.dir)
	if err != nil {
		return err
	}
	swap, unlogged, err := d.host.Swap(context.Background(), b, q)
	if unlogged != nil {
		d.Warn(unlogged)
	}
	if err != nil {
		return err
	}
	return d.Show(d.text, swap)
}
