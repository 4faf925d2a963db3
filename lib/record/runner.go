package record

import "fmt"

// Turn begins what a mind is given on its standard input: one turn. The notifications
// that it is about follow, each in a record of its own.
type Turn struct {
	Type            string    `json:"type"`   // "turn"
	ID              string    `json:"id"`     // the same whenever this turn is offered again
	Reason          string    `json:"reason"` // "notification" or "prompt"
	State           string    `json:"state"`  // of the agent: "active"
	StartedAt       string    `json:"started_at"`
	Dir             string    `json:"dir"`
	Address         string    `json:"address"`
	AgentID         string    `json:"agent_id"`
	Name            string    `json:"agent_name"`
	Offer           int       `json:"offer"`            // above 1: begun before, and its end is not known
	Attempt         int       `json:"attempt"`          // above 1: it failed before
	NewConversation bool      `json:"new_conversation"` // whatever was said before is over
	Cleared         string    `json:"cleared"`          // why it is over; "" without
	Prompt          string    `json:"prompt"`           // what .prompt said; "" without
	Notifications   int       `json:"notifications"`    // how many records follow
	Paths           TurnPaths `json:"paths"`
}

// TurnPaths are the files that a mind is likely to want.
type TurnPaths struct {
	Init     string `json:"init"`
	Resolved string `json:"resolved"` // the configuration in force
	Prompt   string `json:"prompt"`   // the system prompt
	History  string `json:"history"`  // the conversation, which is the mind's to write
	Mailbox  string `json:"mailbox"`
	Events   string `json:"events"`
}

// Control is the receipt of an operation on an agent.
type Control struct {
	Type     string `json:"type"` // "control"
	Op       string `json:"op"`
	By       string `json:"by"`      // address of who asked
	Address  string `json:"address"` // of the agent it was done to
	Dir      string `json:"dir"`
	Outcome  string `json:"outcome"` // such as "asleep" or "unconfirmed"
	Reason   string `json:"reason"`
	Deadline string `json:"alarm_deadline"` // "" when no alarm was set
	PID      int    `json:"pid"`            // of a process that was started, or 0
	Backup   string `json:"backup"`         // of a configuration that lost something, or ""
}

// Text says what was done.
func (c Control) Text() string {
	s := fmt.Sprintf("%s %s: %s", c.Op, c.Address, c.Outcome)
	if c.PID != 0 {
		s += fmt.Sprintf(", process %d", c.PID)
	}
	if c.Deadline != "" {
		s += ", alarm at " + c.Deadline
	}
	if c.Reason != "" {
		s += " (" + c.Reason + ")"
	}
	if c.Backup != "" {
		s += "; what could not be kept is in " + c.Backup
	}
	return OneLine(s)
}
