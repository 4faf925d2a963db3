package main

import (
	"context"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/mail"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/tool"
)

// maxText is how much of a text is read, in bytes: more than may be sent, so that its
// length can be said.
const maxText = 16 << 20

// post is a run of the program.
type post struct {
	*tool.Call
	box         mail.Box
	dir         *string
	wait, delay *time.Duration
	people      *bool
	draft       mail.Draft
	mode        string
	cc, bcc     *[]string
	message     *string
	file        string
	filter      mail.Filter
	sort        string
	count       **int
	change      mail.Change
}

func define(c *tool.Call) *post {
	p := &post{Call: c, dir: c.Workdir(), wait: c.LockTimeout(), people: c.Text(), count: c.Count("n")}
	p.cc, p.bcc, p.delay = c.List("cc"), c.List("bcc"), c.Duration("delay", 0)
	f := c.Flags
	f.StringVar(&p.draft.Subject, "subject", "", "")
	f.StringVar(&p.draft.ID, "id", "", "")
	f.StringVar(&p.mode, "mode", "peer", "")
	f.StringVar(&p.file, "f", "", "")
	f.StringVar(&p.filter.Folder, "folder", mail.Inbox, "")
	f.StringVar(&p.filter.From, "from", "", "")
	f.StringVar(&p.filter.Contains, "contains", "", "")
	f.BoolVar(&p.filter.Unread, "unread-only", false, "")
	f.BoolVar(&p.filter.Attachments, "has-attachments", false, "")
	f.StringVar(&p.sort, "sort", "newest", "")
	f.Func("attach", "", func(s string) error {
		p.draft.Attachments = append(p.draft.Attachments, s)
		return nil
	})
	texts := map[string]**string{"m": &p.message, "name": &p.change.Name, "note": &p.change.Note}
	for name, text := range texts {
		f.Func(name, "", func(s string) error {
			*text = &s
			return nil
		})
	}
	for name, at := range map[string]*time.Time{"after": &p.filter.After, "before": &p.filter.Before} {
		f.Func(name, "", func(s string) (err error) {
			*at, err = mail.ParseTime(s)
			return err
		})
	}
	c.Exclude("m", "f")
	return p
}

// flags are those that each operation has a use for.
var flags = map[string][]string{
	"send": {"subject", "f", "m", "cc", "bcc", "attach", "delay", "id", "mode"},
	"check": {
		"folder", "from", "subject", "contains", "after", "before", "unread-only", "has-attachments", "sort", "n",
	},
	"read":     nil,
	"reply":    {"f", "m", "attach", "delay", "id"},
	"dismiss":  nil,
	"archive":  nil,
	"delete":   nil,
	"search":   {"n"},
	"contacts": {"name", "note"},
}

// only refuses flags that an operation has no use for.
func (p *post) only(op string) error {
	var useless []string
	p.Flags.VisitAll(func(f *flag.Flag) {
		if !slices.Contains(append(flags[op], "body", "lock-timeout", "text", "errors"), f.Name) {
			useless = append(useless, f.Name)
		}
	})
	return p.Without(op, useless...)
}

func (p *post) do(ctx context.Context, op string, operands []string, now time.Time) error {
	if _, known := flags[op]; !known {
		return p.Misuse("unknown operation: %q", op)
	}
	if err := p.only(op); err != nil {
		return err
	}
	switch {
	case op == "contacts":
		return p.contacts(ctx, operands)
	case op == "check" && len(operands) == 0:
		return p.check()
	case op == "check":
		return p.Misuse("unexpected operand: %q", operands[0])
	case len(operands) == 0:
		return p.Misuse("operand missing: %s what?", op)
	case op == "send":
		return p.send(ctx, operands, now)
	case op == "read":
		return p.read(ctx, operands, now)
	case op == "dismiss":
		return p.dismiss(ctx, operands, now)
	case op == "archive":
		return p.each(ctx, operands, now, p.box.Archive)
	case op == "delete":
		return p.each(ctx, operands, now, p.box.Delete)
	case len(operands) > 1:
		return p.Misuse("unexpected operand: %q", operands[1])
	case op == "reply":
		return p.reply(ctx, operands[0], now)
	}
	return p.search(operands[0])
}

func (p *post) send(ctx context.Context, to []string, now time.Time) error {
	if p.mode != "peer" && p.mode != "abs" {
		return p.Misuse("a mode is peer or abs, not %q", p.mode)
	}
	p.draft.To, p.draft.CC, p.draft.BCC, p.draft.Abs = to, *p.cc, *p.bcc, p.mode == "abs"
	return p.out(ctx, now)
}

func (p *post) reply(ctx context.Context, id string, now time.Time) error {
	d, err := p.box.Reply(id)
	if err != nil {
		return err
	}
	d.Attachments, d.ID = p.draft.Attachments, p.draft.ID
	p.draft = d
	return p.out(ctx, now)
}

// out sends the draft, delivers it if it is due, and says what became of it. What
// else is due in the outbox goes out on the way.
func (p *post) out(ctx context.Context, now time.Time) error {
	var err error
	if p.draft.Message, err = p.text(); err != nil {
		return err
	}
	p.draft.Delay = *p.delay
	m, known, err := p.box.Send(ctx, p.draft, now)
	if err != nil {
		return err
	}
	if !m.Due().After(now) {
		if m, err = p.box.Deliver(ctx, m.ID, now); err != nil {
			return err
		}
	}
	receipt := m.Receipt()
	receipt.Duplicate = known
	if err := p.Show(*p.people, receipt); err != nil {
		return err
	}
	for _, bounced := range m.Bounces() {
		p.Fail(bounced)
	}
	rest, err := mail.NewOutgoing(p.box.Within(0)).Deliver(ctx, now)
	for _, failed := range append(rest.Failed, rest.Aside...) {
		p.Warn(failed)
	}
	if err != nil {
		p.Warn(err)
	}
	return nil
}

// text returns the text of a message. The newline at its end, which shells and
// editors put there, is not part of it.
func (p *post) text() (string, error) {
	switch {
	case p.message != nil && p.file != "":
		return "", p.Misuse("both of -f and -m")
	case p.message != nil:
		return *p.message, nil
	}
	in := p.Stdin
	if p.file != "" && p.file != "-" {
		f, err := os.Open(p.file)
		if err != nil {
			return "", fault.New(fault.BadInput, "%w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxText+1))
	switch {
	case err != nil:
		return "", fault.New(fault.BadInput, "%w", err)
	case len(data) > maxText:
		return "", fault.New(fault.TooLarge, "text of more than %d bytes", maxText)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

// line shows a message without its text.
type line struct{ record.Mail }

func (l line) Text() string { return l.Line() }
