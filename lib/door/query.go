package door

import (
	"context"
	"flag"
	"iter"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// Query names rooms: those of one space, or of every registered one.
type Query struct {
	Space string // see Open
	All   bool
	Rooms []string // none: all of them
	For   string   // somebody the rooms are looked at for; must be known
}

// Find yields the rooms. An error is about one room or one space, and the others
// go on. skip is told what this machine's registry holds in vain.
func (q Query) Find(ctx context.Context, skip func(error)) iter.Seq2[record.Room, error] {
	return func(yield func(record.Room, error) bool) {
		doors, err := q.doors(skip)
		if err == nil && q.For != "" {
			err = known(ctx, doors, q.For)
		}
		if err != nil {
			yield(record.Room{}, err)
			return
		}
		for _, d := range doors {
			for found, err := range d.List(ctx, d.Root, q.Rooms) {
				if !yield(found, err) {
					return
				}
			}
		}
	}
}

func (q Query) doors(skip func(error)) ([]*Door, error) {
	if !q.All {
		d, err := Open(q.Space, 0)
		return []*Door{d}, err
	}
	doors, bad, err := All(0)
	for _, b := range bad {
		skip(b)
	}
	return doors, err
}

// known refuses a name that is registered in none of the spaces.
func known(ctx context.Context, doors []*Door, who string) (err error) {
	for _, d := range doors {
		if err = d.Known(ctx, d.Root, who); err == nil {
			return nil
		}
	}
	return err
}

// Part defines the flags that name a part of a room, of which one may be given.
func Part(flags *flag.FlagSet) *store.Part {
	var p store.Part
	flags.IntVar(&p.Last, "tail", 0, "")
	flags.StringVar(&p.From, "from-entry", "", "")
	flags.StringVar(&p.Through, "through-entry", "", "")
	flags.IntVar(&p.LastLines, "last", 0, "")
	flags.IntVar(&p.FromLine, "from", 0, "")
	return &p
}

// PostRecord posts a draft record. as is who acts where the record names nobody.
func (d *Door) PostRecord(ctx context.Context, line record.Line, as string) (any, error) {
	draft := record.Draft{As: as}
	if err := line.Decode(&draft); err != nil {
		return nil, err
	}
	if draft.As == "" || draft.Thread == "" {
		return nil, fault.New(fault.BadInput, "line %d: a draft needs thread, as and body", line.Number)
	}
	key, err := d.Elsewhere(draft.Root, draft.Thread)
	if err != nil {
		return nil, err
	}
	return d.Post(ctx, key, room.Draft{
		As: draft.As, Body: draft.Body, Expect: draft.Expect, ID: draft.ID, To: draft.To,
	})
}
