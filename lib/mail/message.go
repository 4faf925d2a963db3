package mail

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// Message is an entry of a mailbox. Keys that we do not know stay in its Object.
type Message struct {
	Box    Box
	Folder string
	ID     string // the name of its directory
	Read   bool   // always outside the inbox
	*body.Object
}

// ParseMessage reads a message.json. Any JSON object is a message, however little it
// says; see the methods for how its keys are read.
func ParseMessage(data []byte) (*body.Object, error) { return body.ParseObject(data) }

// texts returns a value that is a list of texts, or one text alone. What is no text
// is skipped.
func texts(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		if one == "" {
			return nil
		}
		return []string{one}
	}
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	var all []string
	for _, raw := range many {
		if json.Unmarshal(raw, &one) == nil && string(raw) != "null" && one != "" {
			all = append(all, one)
		}
	}
	return all
}

// From returns the sender's address as it stands there.
func (m Message) From() string { return m.Text("from") }

// To, CC and BCC return the recipients.
func (m Message) To() []string { return texts(m.Get("to")) }

// CC returns who got a copy.
func (m Message) CC() []string { return texts(m.Get("cc")) }

// BCC returns who got a copy without the others knowing; it stands in the sender's
// own record alone.
func (m Message) BCC() []string { return texts(m.Get("bcc")) }

// Subject returns what it is about.
func (m Message) Subject() string { return m.Text("subject") }

// Body returns its text.
func (m Message) Body() string { return m.Text("message") }

// SentAt and ReceivedAt return the times, zero where there is none that can be read.
func (m Message) SentAt() time.Time { return parseTime(m.Text("sent_at")) }

// ReceivedAt returns when it was delivered.
func (m Message) ReceivedAt() time.Time { return parseTime(m.Text("received_at")) }

// Time returns when it came, or was sent.
func (m Message) Time() time.Time {
	for _, t := range []time.Time{m.ReceivedAt(), m.SentAt()} {
		if !t.IsZero() {
			return t
		}
	}
	if len(m.ID) < len(idTime) {
		return time.Time{}
	}
	t, _ := time.Parse(idTime, m.ID[:len(idTime)]) // zero for an ID of another form
	return t
}

func parseTime(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", idTime} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// dir returns the path of the entry.
func (m Message) dir() string { return m.Box.path(m.Folder, m.ID) }

// Attachments returns the paths of what is attached. Only the base name of what the
// message says is looked at, unless nothing of that name is in the entry and it is an
// absolute path, as older records of what was sent have it.
func (m Message) Attachments() []string {
	var all []string
	for _, says := range texts(m.Get("attachments")) {
		path := ""
		if name, err := baseName(says); err == nil {
			path = filepath.Join(m.dir(), filesDir, name)
		}
		if (path == "" || !disk.Exists(path)) && filepath.IsAbs(says) && m.Folder != Inbox {
			path = filepath.Clean(says)
		}
		if path != "" {
			all = append(all, path)
		}
	}
	return all
}

// baseName returns the last part of an attachment's path, which is all that counts of
// it at the other end.
func baseName(path string) (string, error) {
	name := path[strings.LastIndexAny(path, `/\`)+1:]
	if name == "" || name == "." || name == ".." || disk.IsTemp(name) || !plain(name) {
		return "", fault.New(fault.BadInput, "no name of a file: %.150q", path)
	}
	return name, nil
}

// mark tells a message from every other, whatever its ID: two senders may have used
// the same. It is the same in the sender's record and in what was delivered.
func (m Message) mark() string {
	return markOf(m.Object)
}

func markOf(o *body.Object) string {
	line, _ := record.Encode([]string{ // texts always encode
		o.Text("id"), o.Text("from"), o.Sub("identity").Text("agent_id"), o.Text("sent_at"), o.Text("subject"),
		o.Text("message"),
	})
	return fmt.Sprintf("%x", sha256.Sum256(line))[:32]
}

// Record returns the message as a record, its text cut to so many characters; below 0
// it is whole.
func (m Message) Record(limit int) record.Mail {
	r := record.Mail{
		Type: "mail", Dir: m.Box.body.Dir(), Folder: m.Folder, ID: m.ID, From: m.From(),
		SenderID: m.Sub("identity").Text("agent_id"), SenderName: m.Sub("identity").Text("agent_name"),
		To: m.To(), CC: m.CC(), BCC: m.BCC(), Subject: m.Subject(), Message: m.Body(),
		SentAt: timeText(m.SentAt()), ReceivedAt: timeText(m.ReceivedAt()), Read: m.Read,
		Attachments: m.Attachments(), Deliveries: []record.Delivery{},
	}
	if limit >= 0 {
		r.Message, r.Cut = cut(r.Message, limit)
	}
	switch {
	case m.Folder == Inbox || m.Folder == Archive:
	case m.Null("deliveries"): // of another program's
		r.Status = m.Text("status")
	default:
		r.Status, r.Deliveries = m.status(), m.deliveries()
	}
	return r
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return stamp.Record(t)
}
