// Package remote is a store over a proxy's API: the rooms of a space whose
// directory is on another machine. The host decides everything; what is decided
// here on a head is asked for there, as the participant whose key it is, and
// decided again.
package remote

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"iter"
	"net/url"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// Key is what a participant acts with.
type Key struct{ Name, Key string }

// Store keeps the rooms of one space, the one at URL. It holds the keys of
// participants who act from here: a change is made as its author, or as the
// moderator, and what is read is what any of them may.
type Store struct {
	URL     string
	Keys    []Key
	Carrier Carrier
}

// rounds is how often a change is decided anew because the room has moved on.
const rounds = 64

// path returns the path of a room, or refuses a space that is not this one.
func (s *Store) path(key store.Key) (string, error) {
	if err := s.here(key.Space); err != nil {
		return "", err
	}
	if err := name.Check("room", key.Room); err != nil {
		return "", err
	}
	return "/v1/rooms/" + name.Component(key.Room), nil
}

func (s *Store) here(space string) error {
	if space != s.URL {
		return fault.New(fault.NotASpace, "not the space at %s: %q", s.URL, space)
	}
	return nil
}

// Head returns the newest head.
func (s *Store) Head(ctx context.Context, key store.Key) (store.Head, error) {
	path, err := s.path(key)
	if err != nil {
		return store.Head{}, err
	}
	var live record.LiveRoom
	if err := s.get(ctx, path, &live); err != nil {
		return store.Head{}, err
	}
	return head(live.RoomKeys, live.LastEntry), nil
}

// head makes a head of a room's record.
func head(k record.RoomKeys, last string) store.Head {
	return store.Head{
		Exists: true, Version: k.Version, Last: last,
		State: floor.State{
			Topic: k.Topic, Created: k.CreatedAt, Moderator: k.Moderator, Order: k.TurnOrder,
			Next: max(0, slices.Index(k.TurnOrder, k.Current)), Quieted: k.Quieted, Ended: k.Status == "ended",
		},
	}
}

// Update decides on a change and asks the host for it, again on a newer head as
// long as the room moves on in between.
func (s *Store) Update(
	ctx context.Context, key store.Key, fn func(store.Head) (store.Change, error),
) (store.Head, error) {
	path, err := s.path(key)
	if err != nil {
		return store.Head{}, err
	}
	id := "r-" + rand.Text() // of this change: a lost answer is asked for again
	for round := 0; ; round++ {
		h, err := s.Head(ctx, key)
		absent := fault.Is(err, fault.UnknownThread)
		if err != nil && !absent {
			return h, err
		}
		h.Members = func() ([]store.Member, error) { return s.Members(ctx, key.Space) }
		h.Posted = func(author, id string) (store.Posted, bool, error) { return s.posted(ctx, path, h, author, id) }
		change, refused := fn(h)
		seen := h.Version
		switch {
		case errors.Is(refused, store.ErrNoRoom) && absent:
			return h, err
		case refused != nil:
			return h, refused
		case absent:
			return s.create(ctx, key, change, id)
		case change.Entry != nil:
			h, err = s.post(ctx, path, h, change, id)
		default:
			// With another version it is another request.
			h, err = s.moderate(ctx, path, h, change.State, id+"-"+itoa(round))
		}
		if f := fault.From(err); f == nil || f.Version == nil || *f.Version == seen || round == rounds {
			return h, err
		}
	}
}

func (s *Store) create(ctx context.Context, key store.Key, c store.Change, id string) (store.Head, error) {
	ask := record.Opening{Thread: key.Room, Topic: c.State.Topic, Moderator: c.State.Moderator, TurnOrder: c.State.Order}
	var live record.LiveRoom
	err := s.write(ctx, c.State.Moderator, "/v1/rooms", id, ask, &live)
	return head(live.RoomKeys, live.LastEntry), err
}

func (s *Store) post(ctx context.Context, path string, h store.Head, c store.Change, id string) (store.Head, error) {
	ask := record.Posting{Body: c.Entry.Body, Version: &h.Version, As: c.Entry.Author}
	plain, err := h.State.Post(c.Entry.Author)
	if err != nil {
		return h, err
	}
	if !plain.Equal(c.State) {
		ask.To = c.State.Current()
	}
	if c.Entry.ID != "" {
		id = c.Entry.ID
	}
	var posted record.Posted
	if err := s.write(ctx, c.Entry.Author, path+"/entries", id, ask, &posted); err != nil {
		return h, err
	}
	after := store.Head{Exists: true, Version: posted.Version, Last: posted.Entry, State: c.State}
	if posted.Next != c.State.Current() { // the host knew more about the floor
		now, err := s.Head(ctx, store.Key{Space: s.URL, Room: posted.Thread})
		if err != nil {
			return h, err
		}
		after.State = now.State
	}
	return after, nil
}

func (s *Store) moderate(ctx context.Context, path string, h store.Head, after floor.State, id string) (store.Head, error) {
	if after.Equal(h.State) {
		return h, nil
	}
	ask, err := between(h.State, after)
	if err != nil {
		return h, err
	}
	ask.Version = &h.Version
	var live record.LiveRoom
	err = s.write(ctx, h.State.Moderator, path+"/moderate", id, ask, &live)
	return head(live.RoomKeys, live.LastEntry), err
}

// posted asks for the receipt of an entry with an ID.
func (s *Store) posted(ctx context.Context, path string, h store.Head, author, id string) (store.Posted, bool, error) {
	var p record.Posted
	answer, err := s.as(ctx, author, Request{Method: "GET", Path: path + "/posted?id=" + url.QueryEscape(id)})
	if err == nil {
		err = decode(answer, &p)
	}
	if fault.Is(err, fault.UnknownEntry) || fault.Is(err, fault.UnknownThread) {
		return store.Posted{}, false, nil
	}
	state := h.State
	state.Next = max(0, slices.Index(state.Order, p.Next))
	state.Ended = state.Ended && !p.Paused
	return store.Posted{Entry: p.Entry, Version: p.Version, State: state}, err == nil, err
}

// Read takes a snapshot of a room on the host.
func (s *Store) Read(ctx context.Context, key store.Key, part store.Part) (store.View, error) {
	path, err := s.path(key)
	if err != nil {
		return store.View{}, err
	}
	answer, err := s.any(ctx, Request{Method: "GET", Path: path + "/entries?" + query(part)})
	if err != nil {
		return store.View{}, err
	}
	return view(answer)
}

// List returns the rooms that the participants here are in.
func (s *Store) List(ctx context.Context, space string) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		rooms, err := s.rooms(ctx, space)
		if err != nil {
			yield(store.Key{Space: space}, err)
			return
		}
		for _, room := range rooms {
			if !yield(store.Key{Space: space, Room: room}, nil) {
				return
			}
		}
	}
}

func (s *Store) rooms(ctx context.Context, space string) (rooms []string, err error) {
	if err := s.here(space); err != nil {
		return nil, err
	}
	for _, k := range s.Keys {
		answer, err := s.as(ctx, k.Name, Request{Method: "GET", Path: "/v1/rooms"})
		if err != nil {
			return nil, err
		}
		for line, err := range lines(answer.Body) {
			var r record.LiveRoom
			if err == nil {
				err = line.Decode(&r)
			}
			if err != nil {
				return nil, err
			}
			rooms = append(rooms, r.Thread)
		}
	}
	slices.Sort(rooms)
	return slices.Compact(rooms), nil
}

// Members returns who is registered in the space.
func (s *Store) Members(ctx context.Context, space string) ([]store.Member, error) {
	if err := s.here(space); err != nil {
		return nil, err
	}
	var p record.Participants
	err := s.get(ctx, "/v1/participants", &p)
	return members(p), err
}

// Owner returns whose key the host takes the store's first one for.
func (s *Store) Owner(ctx context.Context) (string, error) {
	var host record.Host
	err := s.get(ctx, "/v1", &host)
	return host.For, err
}

// Register adds participants on the host.
func (s *Store) Register(ctx context.Context, space string, who []store.Member) ([]store.Member, error) {
	if err := s.here(space); err != nil {
		return nil, err
	}
	ask := record.Participants{Type: "participants"}
	for _, m := range who {
		ask.Participants = append(ask.Participants, record.Member(m))
	}
	var p record.Participants
	err := s.write(ctx, "", "/v1/participants", "r-"+rand.Text(), ask, &p)
	return members(p), err
}

func members(p record.Participants) []store.Member {
	all := make([]store.Member, len(p.Participants))
	for i, m := range p.Participants {
		all[i] = store.Member(m)
	}
	return all
}

// query returns a part as the host is asked for it.
func query(p store.Part) string {
	q := url.Values{}
	for key, value := range map[string]string{"from_entry": p.From, "through_entry": p.Through, "after": p.After} {
		if value != "" {
			q.Set(key, value)
		}
	}
	for key, n := range map[string]int{"from_line": p.FromLine, "last": p.Last, "last_lines": p.LastLines} {
		if n != 0 {
			q.Set(key, itoa(n))
		}
	}
	for key, on := range map[string]bool{"passes": p.Passes, "files": p.Files, "bodies": p.Bodies || p.Files} {
		q.Set(key, map[bool]string{false: "0", true: "1"}[on])
	}
	return q.Encode()
}

// entry makes an entry of its record. Author, time and pass are read from its
// name, as everywhere.
func entry(raw record.Line) (transcript.Entry, error) {
	var r record.FullEntry
	if err := json.Unmarshal(raw.Raw, &r); err != nil {
		return transcript.Entry{}, broken(err)
	}
	e, ok := transcript.ParseName(r.Entry.Entry)
	if !ok {
		return e, broken(errors.New("not the name of an entry: " + strings.ToValidUTF8(r.Entry.Entry, "?")))
	}
	e.Version, e.StartLine, e.Bytes, e.SHA256 = r.Version, r.StartLine, r.Bytes, r.SHA256
	e.Lines, e.ID, e.Body, e.File = r.EndLine-r.StartLine+1, r.ID, r.Body, r.File
	return e, nil
}
