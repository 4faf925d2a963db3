package main

import (
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/tool"
)

// check refuses flags that do not go together.
func check(c *tool.Call, ask room.Ask, manifest, records bool) error {
	switch {
	case manifest && records:
		return c.Misuse("a manifest is of one room")
	case manifest:
		return c.Without("--manifest", "for", "policy", "from-entry", "through-entry", "max-bytes", "text")
	case ask.For == "":
		return c.Misuse("whom is it for? give --for NAME")
	case records:
		if err := c.Without("-", "from-entry", "through-entry", "text"); err != nil {
			return err
		}
	}
	return ask.Check()
}
