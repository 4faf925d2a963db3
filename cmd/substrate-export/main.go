// Command substrate-export writes the record of a room; see substrate-export(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/export"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-export [ROOM] -o DIR | FILE.tar | - [--through-entry E] [--sign KEY]
                        [--space DIR] [--text]

Write the transcript, the manifest and the entries of a room as one directory or
tar. The same room through the same entry gives the same bytes.

  -o OUT           a new directory, or a tar: FILE.tar, or - for standard output
  --through-entry E up to and including this entry
  --sign KEY       sign the manifest with this SSH key

substrate-export design -o design.tar --sign ~/.ssh/id_ed25519
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	to, through, key := c.Flags.String("o", "", ""), c.Flags.String("through-entry", "", ""), c.Flags.String("sign", "", "")
	space, text := c.Space(), c.Text()
	operands, err := c.Parse(0, 1)
	if err != nil {
		return err
	}
	name, err := c.Room(operands)
	if err != nil {
		return err
	}
	if *to == "" {
		return c.Misuse("where to? give -o")
	}
	d, err := door.Open(*space)
	if err != nil {
		return err
	}
	out := export.Tar(c.Writer())
	if *to != "-" {
		if out, err = export.To(*to); err != nil {
			return err
		}
	}
	made, err := export.Write(context.Background(), d.Store, d.Key(name), *through, out, export.Signer(*key))
	if err = out.Close(err); err != nil {
		return err
	}
	if *to == "-" {
		c.Notice("%d entries, manifest %s", made.Entries, made.ManifestSHA256)
		return nil
	}
	return c.Show(*text, made)
}
