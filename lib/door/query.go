package door

import (
	"context"
	"flag"
	"iter"
	"strings"

	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/record"
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
			// Asked first, so that a space that cannot be read is not taken for
			// an empty one.
			if _, err := d.Store.Members(ctx, d.Root); err != nil {
				if !yield(record.Room{}, err) {
					return
				}
				continue
			}
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
		d, err := Open(q.Space)
		return []*Door{d}, err
	}
	doors, bad, err := All()
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

// At returns the query of one room, which may be named after the label of its
// space; of labels that fit, the longest counts.
func At(spot, space string) (Query, error) {
	if space != "" || !strings.Contains(spot, "/") {
		return Query{Space: space, Rooms: []string{spot}}, nil
	}
	q := Query{Rooms: []string{spot}}
	machine, err := home.Open()
	if err != nil {
		return q, nil // no labels
	}
	spaces, _, err := machine.Spaces()
	away, _, _ := machine.Remotes()
	for _, r := range away {
		spaces = append(spaces, home.Space{Label: r.Label, Root: r.Packet.URL})
	}
	longest := 0
	for _, s := range spaces {
		if room, ok := strings.CutPrefix(spot, s.Label+"/"); ok && len(s.Label) > longest {
			longest = len(s.Label)
			q = Query{Space: s.Root, Rooms: []string{room}}
		}
	}
	return q, err
}

// Spaces defines --space, which may be given more than once.
func Spaces(flags *flag.FlagSet) *[]string {
	var spaces []string
	flags.Func("space", "", func(dir string) error {
		spaces = append(spaces, dir)
		return nil
	})
	return &spaces
}
