package record

import (
	"encoding/json"
	"fmt"
)

// Agent is a body, an agent's directory, and how its agent is.
type Agent struct {
	Type        string `json:"type"` // "agent"
	Dir         string `json:"dir"`  // real path
	Address     string `json:"address"`
	AgentID     string `json:"agent_id"` // "" before the first start
	Name        string `json:"agent_name"`
	Nickname    string `json:"nickname"`
	Kind        string `json:"kind"`         // "agent" or "human"
	State       string `json:"state"`        // "suspended": no process; "" for a human
	Alive       bool   `json:"alive"`        // the heartbeat is fresh, or it is a human
	Heartbeat   string `json:"heartbeat"`    // "present", "absent" or "malformed"
	HeartbeatMS int64  `json:"heartbeat_ms"` // how old it is, in milliseconds, where it is present
	Lease       string `json:"lease"`        // "held" or "free"; "" where that is not known
	ActiveTurn  string `json:"active_turn"`  // "" between turns
	Unread      int    `json:"unread"`       // messages in its inbox
}

// Text says how an agent is.
func (a Agent) Text() string {
	who := a.Address
	if a.Name != "" {
		who += " (" + a.Name + ")"
	}
	s := fmt.Sprintf("%s  %s", who, a.Kind)
	if a.Kind != "human" {
		s += "  " + a.life()
	}
	if a.ActiveTurn != "" {
		s += "  in turn " + a.ActiveTurn
	}
	return OneLine(fmt.Sprintf("%s  %d unread  %s", s, a.Unread, a.Dir))
}

func (a Agent) life() string {
	s := a.State
	if s == "" {
		s = "never started"
	}
	if a.Heartbeat == "present" {
		s += fmt.Sprintf("  heartbeat %.1f s old", float64(a.HeartbeatMS)/1000)
	} else {
		s += "  heartbeat " + a.Heartbeat
	}
	if a.Lease == "held" && !a.Alive {
		s += "  holds its lease and does not move"
	}
	return s
}

// Notification is a channel of an agent's notifications.
type Notification struct {
	Type         string          `json:"type"` // "notification"
	Dir          string          `json:"dir"`
	Channel      string          `json:"channel"`
	Version      string          `json:"version"`   // of its bytes
	Delivered    bool            `json:"delivered"` // this version was put before the agent
	Header       string          `json:"header"`
	Icon         string          `json:"icon"`
	Priority     string          `json:"priority"` // "low", "normal" or "high"
	PublishedAt  string          `json:"published_at"`
	Instructions string          `json:"instructions"`
	Data         json.RawMessage `json:"data"`
}

// Text says what a channel is about.
func (n Notification) Text() string {
	s := fmt.Sprintf("%s  %s  %s  %s", n.Channel, n.Priority, n.PublishedAt, n.Header)
	if !n.Delivered {
		s += "  (not delivered)"
	}
	return OneLine(s)
}

// Published is the receipt of an event.
type Published struct {
	Type      string `json:"type"` // "published"
	Dir       string `json:"dir"`
	Channel   string `json:"channel"`
	EventID   string `json:"event_id"` // "" when it is a duplicate of one that was dismissed
	Source    string `json:"source"`
	RefID     string `json:"ref_id"`
	Key       string `json:"idempotency_key"`
	At        string `json:"at"`
	Duplicate bool   `json:"duplicate"` // the key was known; nothing was written
}

// Text says what became of an event.
func (p Published) Text() string {
	switch {
	case p.Duplicate && p.EventID == "":
		return OneLine("published before and dismissed: " + p.Key)
	case p.Duplicate:
		return OneLine("published before: " + p.EventID)
	}
	return OneLine("published " + p.EventID + " in " + p.Channel)
}

// Dismissed is the receipt of a dismissal.
type Dismissed struct {
	Type      string `json:"type"` // "dismissed"
	Dir       string `json:"dir"`
	Channel   string `json:"channel"`
	Cleared   bool   `json:"cleared"`
	Removed   int    `json:"removed"`   // events; 1 for a channel that has none
	Remaining int    `json:"remaining"` // events
	Forced    bool   `json:"forced"`
	Why       string `json:"why"` // "already_empty" or "no_matching_event" where nothing was cleared
}

// Text says what a dismissal did.
func (d Dismissed) Text() string {
	if !d.Cleared {
		return OneLine(d.Channel + ": nothing to dismiss: " + d.Why)
	}
	return OneLine(fmt.Sprintf("%s: dismissed %d, %d left", d.Channel, d.Removed, d.Remaining))
}
