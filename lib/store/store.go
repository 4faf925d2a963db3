// Package store is the seam between the rules of a room and the bytes it is kept
// in. Rules live above it as pure functions, bytes below it; storetest is the
// conformance suite that every store passes with identical answers.
package store

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// ErrNoRoom is for Update's fn to return when it was given a head that does not
// exist and does not mean to create the room. Update then fails with the code
// unknown_thread and what the store has to say about it.
var ErrNoRoom = errors.New("no such room")

// Key names a room: the space it is in and its name there. What a space is named
// by is the store's own affair; for files it is the absolute path of the root.
type Key struct {
	Space string
	Room  string
}

// Store keeps rooms.
//
// Every method refuses a room that is not there with the code unknown_thread and
// a space that is not there with not_a_space.
type Store interface {
	// Update runs fn on the newest head and commits its result as one atomic
	// record, or runs it again on a newer head. fn is pure; its error is
	// returned unchanged and nothing is written. A head that does not exist is
	// given to fn as well, and a change to it creates the room. It returns the
	// head that the change made. An error with the code io or unreachable says
	// that the outcome is not known: ask again with the same ID.
	Update(ctx context.Context, room Key, fn func(Head) (Change, error)) (Head, error)

	// Head returns the newest head, at a cost that does not grow with the room.
	Head(ctx context.Context, room Key) (Head, error)

	// Read returns a snapshot of a room and the entries of it that part names.
	// They are fetched while they are ranged over, and may be ranged over once.
	Read(ctx context.Context, room Key, part Part) (View, error)

	// Watch yields the key of a room that may have changed (an empty Key.Room asks
	// for every room of the space), or one without a room when any of them may
	// have, which is also how it begins: with everything armed, so that who looks
	// then misses nothing later. It is a wake-up, not the truth: read the head
	// again. It ends with ctx, or with an error.
	Watch(ctx context.Context, room Key) iter.Seq2[Key, error]

	// List returns the rooms of a space in the byte order of their names.
	List(ctx context.Context, space string) iter.Seq2[Key, error]

	// Members returns who is registered in a space.
	Members(ctx context.Context, space string) ([]Member, error)

	// Register adds those of the members that are not registered yet, as one
	// change, and returns everybody.
	Register(ctx context.Context, space string, members []Member) ([]Member, error)
}

// Member is a participant registered in a space.
type Member struct {
	Name string
	Kind string // human, agent or other
}

// Check refuses a participant with a bad name or an unknown kind.
func (m Member) Check() error {
	switch m.Kind {
	case "human", "agent", "other":
		return name.Check("participant", m.Name)
	}
	return fault.New(fault.BadInput, "unknown kind of participant: %q", m.Kind).
		WithHint("a kind is human, agent or other")
}

// Head is what a change is decided on.
type Head struct {
	Exists  bool
	Version int    // entries, passes included
	Last    string // name of the last entry, "" in an empty room
	State   floor.State

	// Two things that most decisions do not need, and that are looked up when
	// they are asked for. Only a head given to Update's fn has them.
	Members func() ([]Member, error)                               // of the space
	Posted  func(author, id string) (p Posted, ok bool, err error) // by an ID among the author's last IDWindow entries
}

// LastTime returns the time of the last entry, zero in an empty room.
func (h Head) LastTime() time.Time {
	if h.Last == "" {
		return time.Time{}
	}
	e, _ := transcript.ParseName(h.Last)
	return e.Time
}

// Posted is what is remembered of an entry that had an ID.
type Posted struct {
	Entry   string
	Version int         // of the room with that entry as its last
	State   floor.State // of the room right after it, where that is still known
}

// IDWindow is how many of an author's last entries a repeated ID is looked for in.
const IDWindow = 64

// Change is a new state of a room and at most one entry.
type Change struct {
	State floor.State
	Entry *Draft // nil for moderation
}

// Draft is an entry that is about to be written.
type Draft struct {
	Time   time.Time // after the last entry's; see stamp.Next
	Author string
	Pass   bool
	ID     string // idempotency key, "" for none
	Body   string // trimmed
}

// Name returns the name of the entry a draft becomes.
func (d Draft) Name() string { return transcript.Name(d.Time, d.Author, d.Pass) }

// Part says which entries to read. The zero Part is all visible ones.
type Part struct {
	From, Through string // entry names, inclusive; "" leaves that end open
	FromLine      int    // from the entry that holds this transcript line on
	Last          int    // only so many, from the end
	LastLines     int    // only as many as hold the last so many transcript lines
	After         string // only later ones than this name, known or not
	Passes        bool   // passes too
	Bodies        bool   // with their bodies
	Files         bool   // with their bodies and the content of their files
}

// View is one snapshot of a room.
type View struct {
	Head    Head
	Lines   int // transcript lines of the whole room
	Visible int // entries that are no passes
	// Damage says why Head.State is not known; the entries are there all the same.
	Damage  error
	Entries iter.Seq2[transcript.Entry, error]
}
