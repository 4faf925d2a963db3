package door

import (
	"context"
	"encoding/json"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// Stream does for records what the programs do for flags. A record that names the
// root of a space goes there, any other to the space of the flags.
type Stream struct {
	ctx   context.Context
	flags Flags
	doors map[string]*Door
}

// NewStream returns a Stream.
func NewStream(ctx context.Context, f Flags) *Stream {
	return &Stream{ctx, f, map[string]*Door{}}
}

// at opens each space once.
func (s *Stream) at(root string) (*Door, error) {
	if d, ok := s.doors[root]; ok {
		return d, nil
	}
	f := s.flags
	if root != "" {
		f.Space = root
	}
	d, err := f.Open()
	if err == nil {
		s.doors[root] = d
	}
	return d, err
}

// Join registers the participants of participant records; kind is for those that
// name none.
func (s *Stream) Join(kind string) func(record.Line) (any, error) {
	return func(line record.Line) (any, error) {
		p := record.Participant{Kind: kind}
		if err := line.Decode(&p); err != nil {
			return nil, err
		}
		d, err := s.at(p.Root)
		if err != nil {
			return nil, err
		}
		joined, err := d.Join(s.ctx, store.Member{Name: p.Name, Kind: p.Kind})
		if err != nil {
			return nil, err
		}
		return joined[0], nil
	}
}

// Create creates the rooms of room records.
func (s *Stream) Create(line record.Line) (any, error) {
	var o record.Opening
	if err := line.Decode(&o); err != nil {
		return nil, err
	}
	d, err := s.at(o.Root)
	if err != nil {
		return nil, err
	}
	return d.Rooms.Open(s.ctx, d.Key(o.Thread), room.Opening{
		Topic: o.Topic, Moderator: o.Moderator, Order: o.TurnOrder,
	})
}

// Post posts the entries of draft records. as, unless it is empty, is who acts: a
// record may leave the name out and may not say another, so that whoever pipes
// somebody's output in can hold him to it.
func (s *Stream) Post(as string) func(record.Line) (any, error) {
	return func(line record.Line) (any, error) {
		draft := record.Draft{As: as}
		if err := line.Decode(&draft); err != nil {
			return nil, err
		}
		if draft.As == "" || draft.Thread == "" {
			return nil, fault.New(fault.BadInput, "line %d: a draft needs thread, as and body", line.Number)
		}
		if as != "" && draft.As != as {
			return nil, fault.New(fault.Denied, "line %d: draft is by %q, and not by %q", line.Number, draft.As, as)
		}
		d, err := s.at(draft.Root)
		if err != nil {
			return nil, err
		}
		return d.Post(s.ctx, d.Key(draft.Thread), room.Draft{
			As: draft.As, Body: draft.Body, Expect: draft.Expect, ID: draft.ID, To: draft.To,
		})
	}
}

// Offer makes an offer of each floor record. One that says that its room has ended
// goes on as it is.
func (s *Stream) Offer(a room.Ask) func(record.Line) (any, error) {
	return func(line record.Line) (any, error) {
		var floor record.Floor
		if err := line.Decode(&floor); err != nil {
			return nil, err
		}
		if floor.Status == "ended" {
			return json.RawMessage(line.Raw), nil
		}
		d, err := s.at(floor.Root)
		if err != nil {
			return nil, err
		}
		return d.Offer(s.ctx, d.Key(floor.Thread), a)
	}
}

// Replay shows what each offer record offered.
func (s *Stream) Replay(show func(*Door, store.Key, store.Part) error) func(record.Line) (any, error) {
	return func(line record.Line) (any, error) {
		var o record.Offer
		if err := line.Decode(&o); err != nil || o.Entries == 0 {
			return nil, err
		}
		d, err := s.at(o.Root)
		if err == nil {
			err = show(d, d.Key(o.Thread), room.Replay(o))
		}
		return nil, err
	}
}

// Turn takes a turn on each offer record.
func (s *Stream) Turn(take func(*Door, record.Offer) (any, error)) func(record.Line) (any, error) {
	return func(line record.Line) (any, error) {
		var o record.Offer
		if err := line.Decode(&o); err != nil {
			return nil, err
		}
		d, err := s.at(o.Root)
		if err != nil {
			return nil, err
		}
		return take(d, o)
	}
}
