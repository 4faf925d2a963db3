package room

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// Draft is an entry to be posted.
type Draft struct {
	As     string // the author
	Body   string // as given; white space at both ends is cut
	Expect *int   // refuse unless this is the room's version
	ID     string // idempotency key; "" for none
	To     string // hand the floor on to, as the moderator; "" for the next in order
}

// maxID is the longest idempotency key, in bytes.
const maxID = 128

// errRepeated ends an update whose entry is there already.
var errRepeated = errors.New("repeated id")

// Post appends one entry to a room and moves its floor, as one change.
//
// A repeated ID among the author's last 64 entries returns the first receipt and
// writes nothing; that is looked at before everything else. Then it refuses with
// ended, not_in_thread, unknown_participant or not_your_turn, and then with stale.
func (r Rooms) Post(ctx context.Context, key store.Key, d Draft) (record.Posted, error) {
	body, err := r.body(d)
	if err != nil {
		return record.Posted{}, within(key, err)
	}
	posted := record.Posted{Type: "posted", Root: key.Space, Thread: key.Room, Author: d.As}
	var first store.Posted
	head, err := r.Store.Update(ctx, key, func(h store.Head) (store.Change, error) {
		if !h.Exists {
			return store.Change{}, store.ErrNoRoom
		}
		if d.ID != "" {
			p, repeated, err := h.Posted(d.As, d.ID)
			if err == nil && repeated {
				first, err = p, errRepeated
			}
			if err != nil {
				return store.Change{}, err
			}
		}
		return r.entry(h, d, body)
	})
	switch {
	case err == nil:
		return receipt(posted, head.Last, head.Version, head.State), nil
	case errors.Is(err, errRepeated):
		posted.Duplicate = true
		return receipt(posted, first.Entry, first.Version, first.State), nil
	}
	return record.Posted{}, within(key, err)
}

// entry decides what a draft makes of a room.
func (r Rooms) entry(h store.Head, d Draft, body string) (store.Change, error) {
	next, err := h.State.Post(d.As)
	if fault.Is(err, fault.NotInThread) {
		if members, lost := h.Members(); lost == nil {
			if unknown := registered(members)(d.As); unknown != nil {
				err = unknown
			}
		}
	}
	if err != nil {
		return store.Change{}, at(err, h)
	}
	if d.Expect != nil && *d.Expect != h.Version {
		return store.Change{}, at(stale(*d.Expect, h.Version), h)
	}
	if d.To != "" {
		if next, err = next.HandTo(d.As, d.To); err != nil {
			return store.Change{}, at(err, h)
		}
	}
	t, err := stamp.Next(r.now(), h.LastTime())
	entry := store.Draft{Time: t, Author: d.As, Pass: transcript.IsPass(body), ID: d.ID, Body: body}
	return store.Change{State: next, Entry: &entry}, err
}

func stale(expected, found int) error {
	return fault.New(fault.Stale, "stale version: expected %d, found %d", expected, found).
		WithHint("read what is new and try again")
}

// Receipt returns the receipt of an entry that its author posted with an ID, or
// refuses with unknown_entry when it is not among his last ones.
func (r Rooms) Receipt(ctx context.Context, key store.Key, author, id string) (record.Posted, error) {
	posted := record.Posted{Type: "posted", Root: key.Space, Thread: key.Room, Author: author, Duplicate: true}
	var found store.Posted
	_, err := r.Store.Update(ctx, key, func(h store.Head) (c store.Change, err error) {
		if !h.Exists {
			return c, store.ErrNoRoom
		}
		known := false
		if found, known, err = h.Posted(author, id); err == nil && known {
			err = errRepeated
		} else if err == nil {
			err = fault.New(fault.UnknownEntry, "no entry of %q with the id %q", author, id)
		}
		return c, err
	})
	if errors.Is(err, errRepeated) {
		return receipt(posted, found.Entry, found.Version, found.State), nil
	}
	return record.Posted{}, within(key, err)
}

// at adds where floor and version stand to a refusal.
func at(err error, h store.Head) error {
	return fault.From(err).At(h.State.Current(), h.Version)
}

// body returns a draft's text as it is stored, or what is wrong with the draft.
func (r Rooms) body(d Draft) (string, error) {
	limit := r.MaxBody
	if limit == 0 {
		limit = DefaultMaxBody
	}
	if len(d.Body) > limit {
		return "", fault.New(fault.TooLarge, "body is larger than %d bytes", limit).
			WithHint("--max-body sets the limit")
	}
	if i := strings.IndexByte(d.Body, 0); i >= 0 {
		return "", fault.New(fault.BadInput, "body has a NUL at byte %d", i)
	}
	if !utf8.ValidString(d.Body) {
		return "", fault.New(fault.BadInput, "body is not valid UTF-8 at byte %d", invalidAt(d.Body))
	}
	if len(d.ID) > maxID || strings.ContainsFunc(d.ID, func(c rune) bool { return c < ' ' || c > '~' }) {
		return "", fault.New(fault.BadInput, "id is not 1 to %d printable ASCII characters", maxID)
	}
	body := strings.TrimSpace(d.Body)
	if body == "" {
		return "", fault.New(fault.BadInput, "empty body").
			WithHint(`give a text on standard input, or pass with --pass`)
	}
	return body, nil
}

// invalidAt returns the offset of the first byte that is no part of a character.
func invalidAt(s string) int {
	for i := 0; i < len(s); {
		c, n := utf8.DecodeRuneInString(s[i:])
		if c == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(s)
}

// receipt fills in what a post made of a room.
func receipt(p record.Posted, entry string, version int, s floor.State) record.Posted {
	e, _ := transcript.ParseName(entry)
	p.Entry, p.Pass, p.Version = entry, e.Pass, version
	p.Next, p.Paused = s.Current(), s.Paused()
	return p
}

// Indented reports whether a text loses white space before its first line: the
// format cuts it, which changes what Markdown makes of an indented line.
func Indented(body string) bool {
	first, _, _ := strings.Cut(strings.TrimLeft(body, "\r\n"), "\n")
	return strings.HasPrefix(first, "    ") || strings.HasPrefix(first, "\t")
}
