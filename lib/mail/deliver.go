package mail

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// What can become of a message at a recipient.
const (
	queued    = "queued"
	delivered = "delivered"
	bounced   = "bounced"
	partial   = "partial" // of a whole message: some of its deliveries bounced
)

// delivery is what became of a message at one recipient, in the sender's own record.
type delivery struct {
	Address  string `json:"address"`
	Status   string `json:"status"`
	Error    string `json:"error"`
	At       string `json:"at"`
	Attempts int    `json:"attempts"`
}

func (d delivery) bounced() bool { return d.Status == bounced }

// recipients returns the addresses that a message is for, one for each directory.
func (m Message) recipients() []string {
	return m.Box.distinct(slices.Concat(m.To(), m.CC(), m.BCC()))
}

// plan returns what became of a message at each recipient. A record of another
// program's says nothing about it: what is not in sent is still to be done.
func (m Message) plan() []delivery {
	var known []delivery
	_ = json.Unmarshal(m.Get("deliveries"), &known) // what cannot be read is not known
	var plan []delivery
	for _, address := range m.recipients() {
		d := delivery{Address: address, Status: queued}
		if i := slices.IndexFunc(known, func(k delivery) bool { return k.Address == address }); i >= 0 {
			d = known[i]
		} else if m.Folder == Sent {
			d.Status = delivered
		}
		plan = append(plan, d)
	}
	if plan == nil {
		plan = []delivery{{Status: bounced, Error: "no recipient"}}
	}
	return plan
}

// status sums up what became of a message.
func (m Message) status() string { return sum(m.plan()) }

func sum(plan []delivery) string {
	n := map[string]int{}
	for _, d := range plan {
		n[d.Status]++
	}
	switch {
	case n[queued] > 0:
		return queued
	case n[bounced] == 0:
		return delivered
	case n[delivered] == 0:
		return bounced
	}
	return partial
}

func (m Message) deliveries() []record.Delivery {
	var all []record.Delivery
	for _, d := range m.plan() {
		at := timeText(parseTime(d.At))
		all = append(all, record.Delivery{Address: d.Address, Status: d.Status, Error: d.Error, At: at})
	}
	return all
}

// note puts what became of a message into its record.
func (m Message) note(plan []delivery) error {
	return set(m.Object, "status", sum(plan), "deliveries", plan)
}

// save writes the record anew with what became of the message.
func (m Message) save(plan []delivery) error {
	if err := m.note(plan); err != nil {
		return err
	}
	return disk.Replace(filepath.Join(m.dir(), messageFile), m.Indented())
}

// settle delivers a message that is on the desk, or has it bounce, and moves it to
// sent. After an error it is still on the desk, and may be settled again: nobody gets
// it twice. What bounced is noted before the sender is told, so that it stays so.
func (m *Message) settle(ctx context.Context, reader *body.Body, now time.Time) error {
	if err := m.complete(now); err != nil {
		return err
	}
	plan := m.plan()
	for i := range plan {
		d := &plan[i]
		if d.Status != queued {
			continue
		}
		err := m.handOver(ctx, d.Address, reader, now)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if d.Status, d.At = delivered, stamp.Record(now); err != nil {
			d.Status, d.Error = bounced, err.Error()
		}
		d.Attempts++
		if err := m.save(plan); err != nil {
			return err
		}
	}
	for _, d := range plan {
		if err := m.tell(ctx, d, now); err != nil {
			return err
		}
	}
	if m.Text("status") != sum(plan) {
		if err := m.save(plan); err != nil {
			return err
		}
	}
	return m.move(Sent)
}

// complete adds what the record of another program may not say. Whose outbox it was
// in is who it comes from.
func (m *Message) complete(now time.Time) error {
	before := string(m.Compact())
	var pairs []any
	if m.Text("id") == "" {
		pairs = append(pairs, "id", m.ID)
	}
	if m.From() != m.Box.body.Address() {
		pairs = append(pairs, "from", m.Box.body.Address())
	}
	if m.SentAt().IsZero() {
		pairs = append(pairs, "sent_at", stamp.Record(now))
	}
	if m.Null("identity") {
		pairs = append(pairs, "identity", m.Box.identity())
	}
	if err := set(m.Object, pairs...); err != nil || string(m.Compact()) == before {
		return err
	}
	return disk.Replace(filepath.Join(m.dir(), messageFile), m.Indented())
}

// tell tells the sender that a message bounced, once for each attempt.
func (m *Message) tell(ctx context.Context, d delivery, now time.Time) error {
	if !d.bounced() || !m.Box.body.Settled() {
		return nil
	}
	subject, _ := cut(record.OneLine(m.Subject()), 100)
	to, when := "Mail to "+d.Address, "that is mended"
	switch d.Error {
	case string(noAgent(d.Address)), string(notRunning(d.Address)):
		when = d.Address + " is there"
	}
	if d.Address == "" {
		to = "Mail to nobody"
	}
	_, _, err := notice.Open(m.Box.body).Within(m.Box.wait).Publish(ctx, notice.Event{
		Source: "email.bounce",
		Ref:    m.Text("id"),
		Key:    fmt.Sprintf("email.bounce:%s:%s:%d", m.Text("id"), d.Address, d.Attempts),
		Body: fmt.Sprintf("%s bounced: %s. Subject: %q. It is not queued: once %s, send it again "+
			"(substrate-mail send with --id %s and the same words).", to, d.Error, subject, when, m.ID),
	}, now)
	return err
}

// A bounce is why a message bounces, as its sender reads it.
type bounce string

func (b bounce) Error() string { return string(b) }

func noAgent(address string) bounce    { return bounce("No agent at " + address) }
func notRunning(address string) bounce { return bounce(address + " is not running") }

// Bounces returns an error for each recipient who did not get a message that was
// settled.
func (m Message) Bounces() []error {
	var all []error
	for _, d := range m.plan() {
		switch {
		case !d.bounced():
		case d.Error == string(noAgent(d.Address)):
			all = append(all, fault.New(fault.UnknownParticipant, "no agent at %.150q", d.Address))
		case d.Error == string(notRunning(d.Address)):
			all = append(all, fault.New(fault.Unreachable, "bounced, not running: %.150q", d.Address).
				WithHint("nothing is queued there; send it again once its heartbeat is fresh, with --id %s", m.ID))
		default:
			all = append(all, fault.New(fault.IO, "bounced at %.150q: %s", d.Address, d.Error))
		}
	}
	return all
}

// handOver is the handshake with one recipient: there is an agent; it is a human or
// has a fresh heartbeat; what is attached is there; then the message is put into its
// inbox, whole, by one rename. An error means that nothing was, on its side; what it
// has already is not given again, even if it is no longer there. reader is who
// delivers for itself what it finds in another's outbox: it is there.
func (m *Message) handOver(ctx context.Context, address string, reader *body.Body, now time.Time) error {
	to, err := m.Box.lead(address)
	if err != nil {
		return noAgent(address)
	}
	box := Open(to, m.Box.env)
	if box.has(m) {
		return nil
	}
	manifest := to.Manifest()
	switch {
	case !manifest.IsAgent():
		return noAgent(address)
	case reader != nil && to.Same(*reader), manifest.IsHuman():
	case !to.Heartbeat().Alive(now, m.Box.env.Threshold):
		return notRunning(address)
	}
	attached, err := m.sources()
	if err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	copied, err := m.forRecipient(filepath.IsAbs(address), attached, now)
	if err != nil {
		return err
	}
	return box.receive(m, copied, attached)
}

// sources returns where what is attached is now: in the entry, or where the record of
// another program says.
func (m *Message) sources() ([]file, error) {
	var paths []string
	for _, says := range texts(m.Get("attachments")) {
		name, err := baseName(says)
		if err != nil {
			return nil, err
		}
		path := filepath.Join(m.dir(), filesDir, name)
		if !disk.Exists(path) {
			path = says
			if !filepath.IsAbs(says) {
				path = m.Box.body.Path(says)
			}
		}
		paths = append(paths, path)
	}
	return files(paths)
}

// own are the keys of the sender's record that are nobody else's business.
var own = []string{"bcc", "status", "deliveries", "delay", "deliver_at", "mode", "_return_route"}

// forRecipient returns the message as a recipient gets it.
func (m *Message) forRecipient(abs bool, attached []file, now time.Time) (*body.Object, error) {
	o, err := body.ParseObject(m.Compact())
	if err != nil {
		return nil, err
	}
	for _, key := range own {
		o.Delete(key)
	}
	if abs {
		back := &body.Object{}
		if err := set(back, "mode", "abs", "address", m.Box.body.Dir(),
			"sender_agent_id", m.Box.body.Manifest().AgentID()); err != nil {
			return nil, err
		}
		if err := o.Set("_return_route", back); err != nil {
			return nil, err
		}
	}
	return o, set(o, "received_at", stamp.Record(now), "attachments", names(attached))
}
