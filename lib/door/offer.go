package door

import (
	"context"
	"errors"
	"flag"
	"io"
	"strconv"
	"strings"

	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// Offer makes an offer of a room. An incremental one goes on where this machine
// remembers that the last one ended; a cursor that cannot be read is as none.
func (d *Door) Offer(ctx context.Context, key store.Key, a room.Ask) (record.Offer, error) {
	if a.Policy == room.Incremental && a.Cursor == "" {
		if machine, err := home.Open(); err == nil {
			cursor, _ := machine.Cursor(a.For, key.Space, key.Room)
			a.Cursor = cursor.Entry
		}
	}
	return d.Rooms.Offer(ctx, key, a)
}

// WriteOffered writes the transcript text that an offer names.
func (d *Door) WriteOffered(ctx context.Context, w io.Writer, o record.Offer) error {
	if o.Entries == 0 {
		return nil
	}
	view, err := d.Store.Read(ctx, store.Key{Space: o.Root, Room: o.Thread}, room.Replay(o))
	if err != nil {
		return err
	}
	return transcript.WriteText(w, view.Entries, 0)
}

// OfferText returns what an offer says and, fenced, the transcript it offers.
func (d *Door) OfferText(ctx context.Context, o record.Offer) (string, error) {
	text, err := d.Framed(ctx, o)
	return o.Prompt + "\n" + room.Fence(text), err
}

// Framed returns the transcript text that an offer names, for a frame: see
// transcript.Framed.
func (d *Door) Framed(ctx context.Context, o record.Offer) (string, error) {
	if o.Entries == 0 {
		return "", nil
	}
	view, err := d.Store.Read(ctx, store.Key{Space: o.Root, Room: o.Thread}, room.Replay(o))
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for e, err := range view.Entries {
		if err != nil {
			return "", err
		}
		text.WriteString(transcript.Framed(e, 0))
	}
	return text.String(), nil
}

// Ask defines the flags that say what an offer is to hold.
func Ask(flags *flag.FlagSet) *room.Ask {
	var a room.Ask
	flags.StringVar(&a.For, "for", "", "")
	flags.StringVar(&a.Policy, "policy", room.Full, "")
	flags.StringVar(&a.From, "from-entry", "", "")
	flags.StringVar(&a.Through, "through-entry", "", "")
	positive(flags, "max-bytes", &a.MaxBytes)
	return &a
}

// Part defines the flags that name a part of a room.
func Part(flags *flag.FlagSet) *store.Part {
	var p store.Part
	positive(flags, "tail", &p.Last)
	flags.StringVar(&p.From, "from-entry", "", "")
	flags.StringVar(&p.Through, "through-entry", "", "")
	positive(flags, "last", &p.LastLines)
	positive(flags, "from", &p.FromLine)
	return &p
}

// Positive defines a flag that is a number above 0, or 0 when it is not given.
func Positive(flags *flag.FlagSet, name string) *int {
	n := new(int)
	positive(flags, name, n)
	return n
}

func positive(flags *flag.FlagSet, name string, n *int) {
	flags.Func(name, "", func(s string) error {
		v, err := strconv.Atoi(s)
		if err != nil || v < 1 {
			return errors.New("not a number above 0")
		}
		*n = v
		return nil
	})
}
