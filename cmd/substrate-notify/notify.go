package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"os"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/tool"
)

// maxText is the longest text that is put, in bytes.
const maxText = 1 << 20

// notify is a run of the program.
type notify struct {
	*tool.Call
	dir      *string
	wait     *time.Duration
	people   *bool
	envelope notice.Envelope
	event    notice.Event
	expect   *notice.Version
	message  *string
	file     string
	asJSON   bool
	force    bool
	reason   string
}

func define(c *tool.Call) *notify {
	n := &notify{Call: c, dir: c.Workdir(), wait: c.LockTimeout(), people: c.Text()}
	f := c.Flags
	f.StringVar(&n.envelope.Header, "header", "", "")
	f.StringVar(&n.envelope.Icon, "icon", "", "")
	f.StringVar(&n.envelope.Priority, "priority", "", "")
	f.StringVar(&n.envelope.Instructions, "instructions", "", "")
	f.StringVar(&n.event.Source, "source", "", "")
	f.StringVar(&n.event.Ref, "ref", "", "")
	f.StringVar(&n.event.Key, "key", "", "")
	f.StringVar(&n.file, "f", "", "")
	f.BoolVar(&n.asJSON, "json", false, "")
	f.BoolVar(&n.force, "force", false, "")
	f.StringVar(&n.reason, "reason", "", "")
	f.Func("m", "", func(s string) error {
		n.message = &s
		return nil
	})
	f.Func("expect", "", func(s string) error {
		v := notice.Version(s)
		n.expect = &v
		return nil
	})
	c.Exclude("m", "f")
	return n
}

// only refuses flags that an operation has no use for.
func (n *notify) only(op string, flags ...string) error {
	useless := map[string]bool{}
	n.Flags.VisitAll(func(f *flag.Flag) {
		switch f.Name {
		case "body", "lock-timeout", "text", "errors":
		default:
			useless[f.Name] = true
		}
	})
	for _, name := range flags {
		delete(useless, name)
	}
	var names []string
	for name := range useless {
		names = append(names, name)
	}
	return n.Without(op, names...)
}

func (n *notify) do(ctx context.Context, s notice.Store, operands []string, now time.Time) error {
	op, what := operands[0], append(operands, "")[1]
	switch {
	case op == "check":
		return n.check(s, what)
	case op == "put" && what == notice.System:
		return n.publish(ctx, s, now)
	case op == "put" && what != "":
		return n.put(ctx, s, what, now)
	case op == "dismiss-channel" && what != "":
		if err := n.only(op, "force", "reason", "expect"); err != nil {
			return err
		}
		d := notice.Dismissal{Channel: what, Force: n.force, Reason: n.reason, Seen: n.expect}
		return n.dismissed(s)(s.DismissChannel(ctx, d))
	case op == "dismiss-event" && what != "":
		if err := n.only(op); err != nil {
			return err
		}
		return n.dismissed(s)(s.DismissEvent(ctx, what, now))
	case op == "dismiss-ref" && what != "":
		if err := n.only(op); err != nil {
			return err
		}
		return n.dismissed(s)(s.DismissRef(ctx, what, now))
	}
	return n.Misuse("unknown operation, or an operand missing: %q", op)
}

func (n *notify) check(s notice.Store, channel string) error {
	if err := n.only("check"); err != nil {
		return err
	}
	if channel != "" {
		c, err := s.Read(channel)
		if err == nil {
			err = c.Err
		}
		if err != nil || c.Version == "" {
			return err
		}
		return n.Show(*n.people, n.record(s, s.Delivered(), c))
	}
	all, err := s.Snapshot()
	if err != nil {
		return err
	}
	for _, skipped := range all.Skipped {
		n.Warn(skipped)
	}
	seen := s.Delivered()
	for _, c := range all.Channels {
		if err := n.Show(*n.people, n.record(s, seen, c)); err != nil {
			return err
		}
	}
	return nil
}

func (n *notify) record(s notice.Store, seen notice.Delivered, c notice.Channel) record.Notification {
	r := record.Notification{
		Type: "notification", Dir: s.Body().Dir(), Channel: c.Name, Version: string(c.Version),
		Delivered: seen.Versions[c.Name] == c.Version,
		Header:    c.Object.Text("header"), Icon: c.Object.Text("icon"), Priority: c.Object.Text("priority"),
		PublishedAt: c.Object.Text("published_at"), Instructions: c.Object.Text("instructions"),
		Data: c.Object.Get("data"),
	}
	if c.Object.Null("data") {
		r.Data = json.RawMessage("{}")
	}
	return r
}

func (n *notify) put(ctx context.Context, s notice.Store, channel string, now time.Time) error {
	err := n.only("put "+channel, "header", "icon", "priority", "instructions", "f", "m", "json", "expect")
	if err != nil {
		return err
	}
	if n.envelope.Header == "" {
		return n.Misuse("what is it about? give --header TEXT")
	}
	text, given, err := n.read()
	if err != nil {
		return err
	}
	switch n.envelope.Data = map[string]string{}; {
	case n.asJSON:
		o, err := body.ParseObject([]byte(text))
		if err != nil {
			return fault.New(fault.BadInput, "the text is no JSON object: %w", err)
		}
		n.envelope.Data = o
	case given:
		n.envelope.Data = map[string]string{"body": text}
	}
	expect := notice.Any
	if n.expect != nil {
		expect = notice.At(*n.expect)
	}
	c, err := s.Put(ctx, channel, expect, n.envelope, now)
	if err != nil {
		return err
	}
	return n.Show(*n.people, n.record(s, s.Delivered(), c))
}

func (n *notify) publish(ctx context.Context, s notice.Store, now time.Time) error {
	if err := n.only("put system", "source", "ref", "key", "priority", "f", "m"); err != nil {
		return err
	}
	if n.event.Source == "" {
		return n.Misuse("who does the event come from? give --source NAME")
	}
	text, given, err := n.read()
	if err != nil {
		return err
	}
	if !given || text == "" {
		return n.Misuse("what is the event? give -m TEXT or -f FILE")
	}
	n.event.Body, n.event.Priority = text, n.envelope.Priority
	e, published, err := s.Publish(ctx, n.event, now)
	if err != nil {
		return err
	}
	return n.Show(*n.people, record.Published{
		Type: "published", Dir: s.Body().Dir(), Channel: notice.System, EventID: e.ID, Source: e.Source,
		RefID: e.Ref, Key: e.Key, At: e.At, Duplicate: !published,
	})
}

// read returns the text, and whether one was given.
func (n *notify) read() (text string, given bool, err error) {
	switch {
	case n.message != nil && n.file != "":
		return "", false, n.Misuse("both of -f and -m")
	case n.message != nil:
		return *n.message, true, nil
	case n.file == "":
		return "", false, nil
	}
	in := n.Stdin
	if n.file != "-" {
		f, err := os.Open(n.file)
		if err != nil {
			return "", false, fault.New(fault.BadInput, "%w", err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxText+1))
	switch {
	case err != nil:
		return "", false, fault.New(fault.BadInput, "%w", err)
	case len(data) > maxText:
		return "", false, fault.New(fault.TooLarge, "text of more than %d bytes", maxText)
	}
	return string(data), true, nil
}

// dismissed prints what a dismissal did.
func (n *notify) dismissed(s notice.Store) func(notice.Cleared, error) error {
	return func(d notice.Cleared, err error) error {
		if err != nil {
			return err
		}
		return n.Show(*n.people, record.Dismissed{
			Type: "dismissed", Dir: s.Body().Dir(), Channel: d.Channel, Cleared: d.Cleared, Removed: d.Removed,
			Remaining: d.Remaining, Forced: d.Forced, Why: string(d.Why),
		})
	}
}
