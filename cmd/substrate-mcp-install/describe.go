package main

import (
	"github.com/substrate-tools/substrate/lib/clients"
	"github.com/substrate-tools/substrate/lib/tool"
)

// describe says what would be done.
func describe(c *tool.Call, client clients.Client, file string, command []string) error {
	if command == nil {
		c.Notice("--write takes %q out of %s", clients.EntryName, file)
		return nil
	}
	snippet, err := client.Snippet(command)
	if err != nil {
		return err
	}
	c.Notice("add this to %s, or run this again with --write:", file)
	return c.Printf("%s", snippet)
}

// apply does it.
func apply(c *tool.Call, client clients.Client, file string, command []string) error {
	backup, changed, err := client.Apply(file, command)
	switch {
	case err != nil:
		return err
	case !changed:
		c.Notice("nothing to change in %s", file)
	case backup == "":
		c.Notice("wrote %s", file)
	default:
		c.Notice("wrote %s; what was there is in %s", file, backup)
	}
	return nil
}
