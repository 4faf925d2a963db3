package gateway

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// The longest request body but for that of an entry, and the longest key that makes
// asking again harmless, in bytes.
const (
	maxAsk = 1 << 20
	maxKey = 128
)

// read decodes a request's body of limit bytes at most.
func (g *Gateway) read(w http.ResponseWriter, r *http.Request, limit int64, v any) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind != "application/json" {
		return fault.New(fault.BadInput, "%w: %q", errNotJSON, record.Clip(r.Header.Get("Content-Type"), 64)).
			WithHint("send the header Content-Type: application/json")
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return fault.New(fault.TooLarge, "request is larger than %d bytes", limit)
	case err != nil:
		return fault.New(fault.BadInput, "the request stops in the middle")
	}
	return record.Line{Number: 1, Raw: data}.Decode(v)
}

// maxPosting is the longest request for an entry: JSON may write a byte as six.
func (g *Gateway) maxPosting() int64 { return 6*int64(g.Longest()) + 4096 }

// Longest is the longest body of an entry, in bytes.
func (g *Gateway) Longest() int {
	if g.Rooms.MaxBody > 0 {
		return g.Rooms.MaxBody
	}
	return room.DefaultMaxBody
}

// post appends an entry. The Idempotency-Key is the entry's id.
func (g *Gateway) post(w http.ResponseWriter, r *http.Request, who string) error {
	key, _, err := g.In(r.Context(), who, r.PathValue("room"))
	if err != nil {
		return err
	}
	var ask record.Posting
	if err := g.read(w, r, g.maxPosting(), &ask); err != nil {
		return err
	}
	if ask.As != "" && ask.As != who {
		return fault.New(fault.Denied, "this is the key of %q, and not of %q", who, record.Clip(ask.As, 64)).In(key.Room)
	}
	if ask.Version == nil {
		return noVersion
	}
	p, err := g.Post(r, key, room.Draft{
		As: who, Body: ask.Body, Expect: ask.Version, ID: r.Header.Get("Idempotency-Key"), To: ask.To,
	})
	if err != nil {
		return err
	}
	status := http.StatusCreated
	if p.Duplicate {
		status = http.StatusOK
	}
	return send(w, status, p)
}

// Post posts a draft and counts it.
func (g *Gateway) Post(r *http.Request, key store.Key, d room.Draft) (record.Posted, error) {
	p, err := g.Rooms.Post(r.Context(), key, d)
	if err != nil {
		return p, hidden(err, key.Room)
	}
	if !p.Duplicate {
		g.counts.posts.Add(1)
	}
	p.Root = ""
	return p, nil
}

// open creates a room, moderated by whose key it is.
func (g *Gateway) open(w http.ResponseWriter, r *http.Request, who string) error {
	var ask record.Opening
	return g.change(w, r, who, &ask, func() (any, error) {
		if ask.Moderator != who {
			return nil, fault.New(fault.Denied, "this is the key of %q, and not of %q", who, record.Clip(ask.Moderator, 64))
		}
		key := store.Key{Space: g.Space, Room: ask.Thread}
		made, err := g.Rooms.Open(r.Context(), key, room.Opening{
			Topic: ask.Topic, Moderator: ask.Moderator, Order: ask.TurnOrder,
		})
		return record.LiveRoom{Type: "room", RoomKeys: public(made.RoomKeys)}, err
	})
}

func (g *Gateway) moderate(w http.ResponseWriter, r *http.Request, who string) error {
	key, _, err := g.In(r.Context(), who, r.PathValue("room"))
	if err != nil {
		return err
	}
	var ask record.Moderation
	return g.change(w, r, who, &ask, func() (any, error) {
		if ask.Version == nil {
			return nil, noVersion
		}
		if _, err := g.Moderate(r, key, who, ask); err != nil {
			return nil, err
		}
		// The name of the last entry goes with it; moderation leaves it alone.
		h, err := g.Rooms.Store.Head(r.Context(), key)
		return record.LiveRoom{Type: "room", RoomKeys: public(g.Rooms.Keys(key, h)), LastEntry: h.Last}, err
	})
}

// Moderate applies an act of moderation.
func (g *Gateway) Moderate(r *http.Request, key store.Key, who string, ask record.Moderation) (record.Room, error) {
	var act room.Act
	switch ask.Op {
	case "invite":
		found, err := g.Rooms.InviteAt(r.Context(), key, who, ask.Version, ask.Name)
		return found, hidden(err, key.Room)
	case "next":
		act = room.Hand(ask.Name)
	case "quiet":
		act = room.Quiet(ask.Name, ask.Turns)
	case "order":
		act = room.Order(ask.Order)
	case "topic":
		act = room.Topic(ask.Topic)
	case "end":
		act = room.End
	case "resume":
		act = room.Resume
	default:
		return record.Room{}, fault.New(fault.BadInput, "unknown operation: %q", record.Clip(ask.Op, 64)).
			WithHint("next, invite, quiet, order, topic, end or resume")
	}
	found, err := g.Rooms.ModerateAt(r.Context(), key, who, ask.Version, act)
	return found, hidden(err, key.Room)
}

func (g *Gateway) register(w http.ResponseWriter, r *http.Request, who string) error {
	var ask record.Participants
	return g.change(w, r, who, &ask, func() (any, error) {
		members := make([]store.Member, len(ask.Participants))
		for i, m := range ask.Participants {
			members[i] = store.Member(m)
			if err := members[i].Check(); err != nil {
				return nil, err
			}
		}
		all, err := g.Rooms.Store.Register(r.Context(), g.Space, members)
		return everybody(all), err
	})
}

// change reads what is asked for and does it, once for each Idempotency-Key of a
// participant: who lost the answer gets it again.
func (g *Gateway) change(w http.ResponseWriter, r *http.Request, who string, ask any, do func() (any, error)) error {
	if err := g.read(w, r, maxAsk, ask); err != nil {
		return err
	}
	id := r.Header.Get("Idempotency-Key")
	if len(id) > maxKey || strings.ContainsFunc(id, func(c rune) bool { return c < ' ' || c > '~' }) {
		return fault.New(fault.BadInput, "Idempotency-Key is not 1 to %d printable ASCII characters", maxKey)
	}
	asked, err := json.Marshal(ask)
	if err != nil {
		return err
	}
	again := sha256.Sum256(asked) // of many large ones this is all that is kept
	type outcome struct {
		asked  [sha256.Size]byte
		status int
		answer any
	}
	decide := func() (outcome, bool) {
		o := outcome{asked: again, status: http.StatusOK}
		var err error
		if o.answer, err = do(); err != nil {
			f := g.Public(err)
			o.status, o.answer = Status(f), record.ErrorOf(f)
		}
		// Trouble of the host's may be over when it is asked for again.
		return o, o.status < http.StatusInternalServerError
	}
	var o outcome
	if id == "" {
		o, _ = decide()
	} else {
		v, _ := g.once.Do(who+" "+r.URL.Path+" "+id, func() (any, bool) { return decide() })
		o = v.(outcome)
	}
	if o.asked != again {
		return fault.New(fault.BadInput, "this Idempotency-Key was used for something else").
			WithHint("take a new one for each change")
	}
	return send(w, o.status, o.answer)
}
