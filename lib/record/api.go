package record

import "github.com/substrate-tools/substrate/lib/fault"

// What a proxy's API answers with besides the records of pipes. They are the same
// records with keys added; root is always empty there, since a path on the host
// is nobody's business elsewhere.

// Host is the record of the space with the owner of the key that was shown.
type Host struct {
	Space
	For string `json:"for"`
}

// LiveRoom is a room record with the name of its last entry.
type LiveRoom struct {
	Type string `json:"type"` // "room"
	RoomKeys
	LastEntry string `json:"last_entry"` // "" in an empty room
}

// Snapshot begins an answer that goes on with the entries of a room.
type Snapshot struct {
	Type string `json:"type"` // "snapshot"
	RoomKeys
	LastEntry      string `json:"last_entry"`
	TotalLines     int    `json:"total_lines"`     // transcript lines of the whole room
	VisibleEntries int    `json:"visible_entries"` // entries that are no passes
	Damage         *Error `json:"damage"`          // why the floor is not known; null when it is
}

// FullEntry is an entry record with what a store tells of it besides.
type FullEntry struct {
	Entry
	Version int    `json:"version"` // of the room with this entry as its last
	Pass    bool   `json:"pass"`
	ID      string `json:"id"`
	File    []byte `json:"file,omitempty"` // base64 of the whole file, where it was asked for
}

// Posting asks for an entry. Version must be given.
type Posting struct {
	Body    string `json:"body"`
	Version *int   `json:"version"`
	To      string `json:"to"`
	As      string `json:"as"` // "" or the owner of the key
}

// Moderation asks for an act of moderation. Version must be given.
type Moderation struct {
	Op      string   `json:"op"` // next, invite, quiet, order, topic, end or resume
	Name    string   `json:"name"`
	Turns   int      `json:"turns"`
	Order   []string `json:"order"`
	Topic   string   `json:"topic"`
	Version *int     `json:"version"`
}

// Participants asks to register, or lists, who is registered.
type Participants struct {
	Type         string   `json:"type"` // "participants"
	Participants []Member `json:"participants"`
}

// ErrorOf returns the record of an error.
func ErrorOf(f *fault.Error) Error {
	return Error{
		Type: "error", Code: string(f.Code), Message: f.Message, Hint: f.Hint,
		Thread: f.Thread, Current: f.Current, Version: f.Version,
	}
}

// Key tells of a key, and never shows it.
type Key struct {
	Type      string `json:"type"` // "key"
	Root      string `json:"root"`
	Name      string `json:"name"`
	Kind      string `json:"kind"` // "key", "link", "session" or "revoked"
	Hash      string `json:"hash"` // the first digits, to tell keys apart
	CreatedAt string `json:"created_at"`
	ExpiresAt string `json:"expires_at"` // "": never
	URL       string `json:"url"`        // of the proxy the key is for; "" where it is not known
	Packet    string `json:"packet"`     // file the key was written to; ""
}

// Text tells of a key.
func (k Key) Text() string {
	s := k.Name
	if k.Kind != "" {
		s += "  " + k.Kind
	}
	if k.Hash != "" {
		s += "  " + k.Hash
	}
	if k.CreatedAt != "" {
		s += "  made " + k.CreatedAt
	}
	if k.ExpiresAt != "" {
		s += "  ends " + k.ExpiresAt
	}
	if k.Packet != "" {
		s += "  for " + k.URL + " in " + k.Packet
	}
	return OneLine(s)
}
