package record

import (
	"cmp"
	"fmt"
	"strings"
)

// Mail is a message in a folder of an agent's mailbox.
type Mail struct {
	Type        string     `json:"type"` // "mail"
	Dir         string     `json:"dir"`  // of the agent whose mailbox it is
	Folder      string     `json:"folder"`
	ID          string     `json:"id"`
	From        string     `json:"from"`
	SenderID    string     `json:"sender_id"` // the sender's agent_id; "" when not known
	SenderName  string     `json:"sender_name"`
	To          Names      `json:"to"`
	CC          Names      `json:"cc"`
	BCC         Names      `json:"bcc"` // in the sender's own records alone
	Subject     string     `json:"subject"`
	Message     string     `json:"message"`
	Cut         bool       `json:"cut"` // the message goes on
	SentAt      string     `json:"sent_at"`
	ReceivedAt  string     `json:"received_at"` // "" in the sender's own records
	Read        bool       `json:"read"`        // true outside the inbox
	Attachments Names      `json:"attachments"` // paths
	Status      string     `json:"status"`      // of what was sent: see Mailed; "" of what was received
	Deliveries  []Delivery `json:"deliveries"`
}

// Line says what a message is, without its text.
func (m Mail) Line() string {
	at, mark := cmp.Or(m.ReceivedAt, m.SentAt, "-"), ""
	if !m.Read {
		mark = "  (unread)"
	}
	if m.Status != "" {
		mark += "  " + m.Status
	}
	if n := len(m.Attachments); n > 0 {
		mark += fmt.Sprintf("  %d attached", n)
	}
	to := strings.Join(m.To, ", ")
	return OneLine(fmt.Sprintf("%s  %s  %s > %s  %s%s", m.ID, at, m.From, to, m.Subject, mark))
}

// Text shows a message. Its own lines are indented: none of them passes for one of
// ours.
func (m Mail) Text() string {
	var b strings.Builder
	b.WriteString(m.Line() + "\n")
	for _, list := range []struct {
		name string
		all  Names
	}{{"cc", m.CC}, {"bcc", m.BCC}, {"attached", m.Attachments}} {
		if len(list.all) > 0 {
			b.WriteString(OneLine(list.name+": "+strings.Join(list.all, ", ")) + "\n")
		}
	}
	for line := range strings.Lines(m.Message) {
		b.WriteString("    " + strings.TrimRight(line, "\r\n") + "\n")
	}
	if m.Cut {
		b.WriteString("    (cut)\n")
	}
	return b.String()
}

// Delivery is what became of a message at one recipient.
type Delivery struct {
	Address string `json:"address"`
	Status  string `json:"status"` // "queued", "delivered" or "bounced"
	Error   string `json:"error"`  // why it bounced
	At      string `json:"at"`     // when it was tried last; "" before
}

// Mailed is the receipt of a message.
type Mailed struct {
	Type       string     `json:"type"` // "mailed"
	Dir        string     `json:"dir"`  // of the sender
	ID         string     `json:"id"`
	Status     string     `json:"status"`     // "queued", "delivered", "bounced", or "partial": some bounced
	DeliverAt  string     `json:"deliver_at"` // "" for at once
	Deliveries []Delivery `json:"deliveries"`
	Duplicate  bool       `json:"duplicate"` // the id was known; no other message was made
}

// Text says what became of a message.
func (m Mailed) Text() string {
	s := m.Status + " " + m.ID
	if m.Duplicate {
		s += " (sent before)"
	}
	if m.DeliverAt != "" {
		s += "  not before " + m.DeliverAt
	}
	for _, d := range m.Deliveries {
		s += fmt.Sprintf("  %s: %s", d.Address, d.Status)
		if d.Error != "" {
			s += " (" + d.Error + ")"
		}
	}
	return OneLine(s)
}

// Handled says which messages were marked as read.
type Handled struct {
	Type      string `json:"type"` // "handled"
	Dir       string `json:"dir"`
	Dismissed Names  `json:"dismissed"`
	Already   Names  `json:"already_handled"`
	NotFound  Names  `json:"not_found"`
}

// Text says which messages were marked as read.
func (h Handled) Text() string {
	var parts []string
	for _, list := range []struct {
		name string
		ids  Names
	}{{"dismissed", h.Dismissed}, {"already handled", h.Already}, {"not found", h.NotFound}} {
		if len(list.ids) > 0 {
			parts = append(parts, list.name+": "+strings.Join(list.ids, ", "))
		}
	}
	return OneLine(strings.Join(parts, "; "))
}

// Filed says where a message went.
type Filed struct {
	Type string `json:"type"` // "filed"
	Dir  string `json:"dir"`
	ID   string `json:"id"`
	From string `json:"from"` // folder
	To   string `json:"to"`   // folder; "" when it was deleted
}

// Text says where a message went.
func (f Filed) Text() string {
	if f.To == "" {
		return OneLine("deleted " + f.ID + " from " + f.From)
	}
	return OneLine("moved " + f.ID + " from " + f.From + " to " + f.To)
}

// Contact is somebody in an agent's list of contacts.
type Contact struct {
	Type    string `json:"type"` // "contact"
	Dir     string `json:"dir"`  // of the agent whose list it is
	Address string `json:"address"`
	Name    string `json:"name"`
	Note    string `json:"note"`
	Removed bool   `json:"removed"` // it was taken out just now
}

// Text says who somebody is.
func (c Contact) Text() string {
	s := c.Address
	if c.Name != "" {
		s += "  " + c.Name
	}
	if c.Note != "" {
		s += "  " + c.Note
	}
	if c.Removed {
		s += "  (removed)"
	}
	return OneLine(s)
}
