package main

import (
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/tool"
)

// parse returns where to listen, and who has a key: nil without a file of keys, for
// all on this machine.
func parse(c *tool.Call, who, file *string) (address string, keys *keyring.Ring, err error) {
	operands, err := c.Parse(0, 1)
	if err == nil && *who != "" {
		err = name.Check("participant", *who)
	}
	if err == nil && *file != "" {
		keys, err = keyring.Read(*file)
	}
	return append(operands, "127.0.0.1:0")[0], keys, err
}
