package body

import (
	"encoding/json"
	"errors"
	"io/fs"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/record"
)

// Status is what an agent is doing, as .status.json says at every tick.
type Status struct {
	Identity   Identity     `json:"identity"`
	Runtime    Runtime      `json:"runtime"`
	Tokens     Tokens       `json:"tokens"`
	ActiveTurn *Turn        `json:"active_turn"`            // null between turns
	Deferred   record.Names `json:"deferred_notifications"` // channels that wait for the turn's end
}

// Identity is who an agent is, in short.
type Identity struct {
	AgentID  string `json:"agent_id"`
	Name     string `json:"agent_name"`
	Nickname string `json:"nickname"`
	Address  string `json:"address"`
}

// Runtime is the process of an agent and how it gets on.
type Runtime struct {
	Process
	Running        bool     `json:"running"`
	State          string   `json:"state"`
	HeartbeatAge   *float64 `json:"heartbeat_age"` // seconds
	StateChangedAt string   `json:"state_changed_at"`
	LastProgressAt string   `json:"last_progress_at"`
	NoProgress     float64  `json:"no_progress_seconds"`
}

// Tokens is what an agent's mind has used, as far as it says so.
type Tokens struct {
	Input    int64   `json:"input"`
	Output   int64   `json:"output"`
	Thinking int64   `json:"thinking"`
	Cached   int64   `json:"cached"`
	Context  Context `json:"context"`
}

// Context is how full the window of an agent's mind is.
type Context struct {
	Tokens int64   `json:"tokens"`
	Limit  int64   `json:"limit"` // 0: unknown
	Usage  float64 `json:"usage"` // tokens / limit
}

// Turn is a turn that an agent is in.
type Turn struct {
	ID        string `json:"id"`
	StartedAt string `json:"started_at"`
	Cause     string `json:"cause"`
}

// WriteStatus writes .status.json: whole, not durable, since it is made again a
// second later.
func (b Body) WriteStatus(s Status) error {
	line, err := record.Encode(s)
	if err != nil {
		return err
	}
	o, err := ParseObject(line)
	if err != nil {
		return err
	}
	return disk.Refresh(b.Path(StatusFile), o.Indented())
}

// WriteLastStatus writes .status.json for the time when nobody writes it any more.
func (b Body) WriteLastStatus(s Status) error {
	return errors.Join(b.WriteStatus(s), disk.EndRefresh(b.Path(StatusFile)))
}

// Status reads .status.json. It says what was so when it was written; whether the
// agent still is there, the heartbeat and the lease say.
func (b Body) Status() (Status, Kind) {
	data, err := disk.ReadFile(b.Path(StatusFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Status{}, Absent
	}
	var s Status
	if err != nil || json.Unmarshal(data, &s) != nil {
		return Status{}, Malformed
	}
	return s, Present
}
