package main

import (
	"github.com/substrate-tools/substrate/lib/prompt"
	"github.com/substrate-tools/substrate/lib/tool"
)

// guide shows the guidance for minds.
func guide(c *tool.Call, text bool) error {
	g, err := prompt.Guidance(prompt.Resident)
	if err != nil {
		return err
	}
	return c.Show(text, g)
}
