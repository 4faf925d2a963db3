// Command substrate-verify checks an export; see substrate-verify(1).
package main

import (
	"github.com/substrate-tools/substrate/lib/export"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-verify DIR | FILE.tar [--signers FILE --signer NAME] [--room ROOM]
                        [--space DIR] [--text]

Check an export against its manifest and the manifest against its signature, and
name the first difference.

  --signers FILE   the keys that are trusted, as in ssh-keygen(1)
  --signer NAME    whose signature it must be, as FILE names him
  --room ROOM      compare with this room too: what was edited or deleted since

substrate-verify design.tar --signers keys --signer dan@example.org
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	signers, signer := c.Flags.String("signers", "", ""), c.Flags.String("signer", "", "")
	room, space, text := c.Flags.String("room", "", ""), c.Space(), c.Text()
	operands, err := c.Parse(1, 1)
	if err != nil {
		return err
	}
	if (*signers == "") != (*signer == "") {
		return c.Misuse("--signers and --signer go together")
	}
	dir, done, err := export.Open(operands[0])
	if err != nil {
		return err
	}
	defer done()
	checked, err := export.Verify(dir)
	if err == nil {
		err = checked.VerifySignature(*signers, *signer)
	}
	if err != nil {
		return err
	}
	checked.Record.Signer = *signer
	if checked.Record.Signed && *signers == "" {
		c.Notice("the signature is good; whose it is was not asked: give --signers and --signer")
	}
	if *room != "" {
		err = compare(checked, *space, *room)
	}
	if err != nil {
		return err
	}
	return c.Show(*text, checked.Record)
}
