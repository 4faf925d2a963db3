// Package record holds the record types of substrate-records(5), and JSON Lines
// in and out with limits and line numbers.
package record

import "encoding/json"

// Names is a list that is written [] when there is nothing in it, never null.
type Names []string

// MarshalJSON writes the list.
func (n Names) MarshalJSON() ([]byte, error) {
	if n == nil {
		return []byte("[]"), nil
	}
	return json.Marshal([]string(n))
}

// Counts is a map from name to number, written {} when empty, never null.
type Counts map[string]int

// MarshalJSON writes the map, its keys sorted.
func (c Counts) MarshalJSON() ([]byte, error) {
	if c == nil {
		return []byte("{}"), nil
	}
	return json.Marshal(map[string]int(c))
}

// Member is one participant inside a space record.
type Member struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Space describes a space.
type Space struct {
	Type         string   `json:"type"` // "space"
	Root         string   `json:"root"`
	Label        string   `json:"label"`
	Version      int      `json:"version"`
	Participants []Member `json:"participants"`
	Rooms        int      `json:"rooms"`
}

// Participant says that somebody is registered in a space.
type Participant struct {
	Type string `json:"type"` // "participant"
	Root string `json:"root"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

// Room is a room and where its floor is.
type Room struct {
	Type string `json:"type"` // "room"
	RoomKeys
}

// RoomKeys are the keys that room and floor records share.
type RoomKeys struct {
	Root       string `json:"root"`
	Label      string `json:"label"`
	Thread     string `json:"thread"`
	Topic      string `json:"topic"`
	Status     string `json:"status"` // "active" or "ended"
	Moderator  string `json:"moderator"`
	Current    string `json:"current"`
	Paused     bool   `json:"paused"`
	TurnOrder  Names  `json:"turn_order"`
	Quieted    Counts `json:"quieted"`
	Version    int    `json:"version"` // entries, passes included
	CreatedAt  string `json:"created_at"`
	FloorSince string `json:"floor_since"`
}

// Opening asks for a new room; it is a room record of which open reads a part.
type Opening struct {
	Root      string   `json:"root"`
	Thread    string   `json:"thread"`
	Topic     string   `json:"topic"`
	Moderator string   `json:"moderator"`
	TurnOrder []string `json:"turn_order"`
}

// Entry is one entry of a room.
type Entry struct {
	Type      string `json:"type"` // "entry"
	Thread    string `json:"thread"`
	Entry     string `json:"entry"` // file name
	Author    string `json:"author"`
	Time      string `json:"time"`
	StartLine int    `json:"start_line"` // 1-based, in the room's transcript
	EndLine   int    `json:"end_line"`
	Bytes     int64  `json:"bytes"`  // size of the file
	SHA256    string `json:"sha256"` // of the file
	Body      string `json:"body"`
}

// Window says which part of a room a read returned.
type Window struct {
	Type         string `json:"type"` // "window"
	Thread       string `json:"thread"`
	Version      int    `json:"version"`
	TotalLines   int    `json:"total_lines"`
	FromEntry    string `json:"from_entry"`
	ThroughEntry string `json:"through_entry"`
	StartLine    int    `json:"start_line"`
	EndLine      int    `json:"end_line"`
	Entries      int    `json:"entries"`
	Bytes        int    `json:"bytes"`      // of transcript text
	NextEntry    string `json:"next_entry"` // where to go on; "" at the end
}

// Draft is an entry to be posted. Only thread, as and body are needed.
type Draft struct {
	Root   string `json:"root"`
	Thread string `json:"thread"`
	As     string `json:"as"`
	Body   string `json:"body"`
	Expect *int   `json:"expect"`
	ID     string `json:"id"`
	To     string `json:"to"`
}

// Posted is the receipt of an entry.
type Posted struct {
	Type      string `json:"type"` // "posted"
	Root      string `json:"root"`
	Thread    string `json:"thread"`
	Entry     string `json:"entry"`
	Author    string `json:"author"`
	Pass      bool   `json:"pass"`
	Version   int    `json:"version"`
	Next      string `json:"next"` // who holds the floor now
	Paused    bool   `json:"paused"`
	Duplicate bool   `json:"duplicate"` // the id was known; nothing was written
}

// Error is a refusal or a failure.
type Error struct {
	Type    string `json:"type"` // "error"
	Code    string `json:"code"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
	Thread  string `json:"thread"`
	Current string `json:"current"`
	Version *int   `json:"version"` // null where no room was looked at
}

// Finding is one thing that doctor looked at.
type Finding struct {
	Type    string `json:"type"`  // "finding"
	Level   string `json:"level"` // "ok", "warn" or "fail"
	Check   string `json:"check"`
	Message string `json:"message"`
	Fix     string `json:"fix"` // what to run or do; "" when nothing
}

// Floor says that a room changed and where its floor is now.
type Floor struct {
	Type  string `json:"type"`  // "floor"
	Event string `json:"event"` // "floor", "ended", "resumed" or "changed"
	RoomKeys
}

// Offer is a part of a room that is put before somebody: facts about what was
// presented, no claim about what was understood.
type Offer struct {
	Type         string `json:"type"` // "offer"
	Root         string `json:"root"`
	Label        string `json:"label"`
	Thread       string `json:"thread"`
	Topic        string `json:"topic"`
	For          string `json:"for"`
	Policy       string `json:"policy"`     // "full", "incremental" or "explicit"
	Version      int    `json:"version"`    // of the room with through_entry, and the passes behind it, as its last
	FromEntry    string `json:"from_entry"` // "" when there is nothing to offer
	ThroughEntry string `json:"through_entry"`
	StartLine    int    `json:"start_line"`
	EndLine      int    `json:"end_line"`
	Entries      int    `json:"entries"`
	Bytes        int    `json:"bytes"`      // of transcript text
	NextEntry    string `json:"next_entry"` // the newest entry left out for want of room; "" when none was
	Fallback     bool   `json:"fallback"`   // full, since there was no usable cursor
	Prompt       string `json:"prompt"`
}

// Export says what the record of a room was written as, or what was verified.
type Export struct {
	Type           string `json:"type"` // "export" or "verified"
	Root           string `json:"root"`
	Thread         string `json:"thread"`
	Version        int    `json:"version"`
	ThroughEntry   string `json:"through_entry"`
	Entries        int    `json:"entries"` // passes left out
	Bytes          int64  `json:"bytes"`   // of the entries' files
	ManifestSHA256 string `json:"manifest_sha256"`
	Signed         bool   `json:"signed"`
	Signer         string `json:"signer"` // whom verify found to have signed it; "" when not asked
}

// Run says what became of one turn of an agent.
type Run struct {
	Type    string `json:"type"` // "run"
	Thread  string `json:"thread"`
	For     string `json:"for"`
	Version int    `json:"version"` // of the room, as it was offered
	Outcome string `json:"outcome"` // "posted", "passed", "no_turn", "failed" or "timeout"
	Status  int    `json:"status"`  // exit status of the command; 128 + n when signal n ended it
	TookMS  int64  `json:"took_ms"`
}
