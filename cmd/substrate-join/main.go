// Command substrate-join registers participants; see substrate-join(1).
package main

import (
	"context"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/tool"
)

const usage = `usage: substrate-join NAME... --kind human|agent|other [--space DIR]
       substrate-join - [--kind human|agent|other] [--space DIR]

Register participants in a space, all or none. Somebody who is registered as the
same kind already stays so. With - in place of names, participant records are
read from standard input, one change for each.

  --kind KIND      human, agent or other; for records, where they name none
  --space DIR      the space (default: the nearest one upward from here)
  --lock-timeout D how long a lock is waited for (default 10s)
  --errors json    report errors as records

substrate-join claude codex --kind agent
`

func main() { tool.Main(usage, run) }

func run(c *tool.Call) error {
	kind, space, wait := c.Flags.String("kind", "", ""), c.Space(), c.LockTimeout()
	names, err := c.Parse(1, -1)
	if err != nil {
		return err
	}
	d, err := door.Open(*space, *wait)
	if err != nil {
		return err
	}
	if tool.Records(names) {
		return c.Each("participant", func(line record.Line) (any, error) {
			p := record.Participant{Kind: *kind}
			if err := line.Decode(&p); err != nil {
				return nil, err
			}
			return join(d, store.Member{Name: p.Name, Kind: p.Kind})
		})
	}
	var members []store.Member
	for _, name := range names {
		members = append(members, store.Member{Name: name, Kind: *kind})
	}
	if _, err := join(d, members...); err != nil {
		return err
	}
	for _, m := range members {
		if err := c.Print(participant(d, m)); err != nil {
			return err
		}
	}
	return nil
}

// join registers members and returns the record of the first.
func join(d *door.Door, members ...store.Member) (record.Participant, error) {
	_, err := d.Store.Register(context.Background(), d.Root, members)
	return participant(d, members[0]), err
}

func participant(d *door.Door, m store.Member) record.Participant {
	return record.Participant{Type: "participant", Root: d.Root, Name: m.Name, Kind: m.Kind}
}
