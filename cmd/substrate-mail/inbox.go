package main

import (
	"context"
	"time"

	"github.com/substrate-tools/substrate/lib/mail"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/tool"
)

func (p *post) check() error {
	if p.sort != "newest" && p.sort != "oldest" {
		return p.Misuse("sort is newest or oldest, not %q", p.sort)
	}
	p.filter.Subject, p.filter.Oldest = p.draft.Subject, p.sort == "oldest"
	if err := p.limit(&p.filter.Count); err != nil {
		return err
	}
	return p.show(p.box.Check(p.filter))
}

func (p *post) search(pattern string) error {
	n := 0
	if err := p.limit(&n); err != nil {
		return err
	}
	return p.show(p.box.Search(pattern, n))
}

func (p *post) limit(n *int) error {
	if *p.count == nil {
		return nil
	}
	if *n = **p.count; *n < 1 {
		return p.Misuse("not a number of messages: %d", *n)
	}
	return nil
}

// show prints messages, cut, and warns of those that cannot be read.
func (p *post) show(all []mail.Message, skipped []error, err error) error {
	if err != nil {
		return err
	}
	for _, s := range skipped {
		p.Warn(s)
	}
	for _, m := range all {
		if err := p.Show(*p.people, line{m.Record(mail.Preview)}); err != nil {
			return err
		}
	}
	return nil
}

// read prints messages whole. They are marked as read after that: what could not be
// printed was not read.
func (p *post) read(ctx context.Context, ids []string, now time.Time) error {
	var unread []string
	for _, id := range ids {
		m, err := p.box.Find(id)
		if err != nil {
			p.Fail(err)
			continue
		}
		if err := p.Show(*p.people, m.Record(-1)); err != nil {
			return err
		}
		if !m.Read {
			unread = append(unread, id)
		}
	}
	if len(unread) == 0 {
		return nil
	}
	if _, err := p.box.Dismiss(ctx, unread); err != nil {
		return err
	}
	p.mirror(ctx, now)
	return nil
}

func (p *post) dismiss(ctx context.Context, ids []string, now time.Time) error {
	done, err := p.box.Dismiss(ctx, ids)
	if err != nil {
		return err
	}
	p.mirror(ctx, now)
	if len(done.NotFound) > 0 {
		p.No()
	}
	return p.Show(*p.people, done)
}

// each files one message after the other; one that cannot be does not keep back the
// others.
func (p *post) each(
	ctx context.Context, ids []string, now time.Time,
	file func(context.Context, string) (record.Filed, error),
) error {
	defer p.mirror(ctx, now)
	for _, id := range ids {
		done, err := file(ctx, id)
		if err != nil {
			p.Fail(err)
		} else if err := p.Show(*p.people, done); err != nil {
			return err
		}
	}
	return nil
}

// mirror brings the channel email up to date. If that fails the running agent does it
// a moment later.
func (p *post) mirror(ctx context.Context, now time.Time) {
	if err := p.box.Mirror(ctx, now); err != nil {
		p.Warn(err)
	}
}

func (p *post) contacts(ctx context.Context, operands []string) error {
	if len(operands) == 0 {
		if err := p.Without("contacts", "name", "note"); err != nil {
			return err
		}
		all, err := p.box.Contacts()
		if err != nil {
			return err
		}
		return tool.ShowAll(p.Call, *p.people, all)
	}
	if len(operands) != 2 {
		return p.Misuse("an operation on contacts has an address: contacts add ADDRESS")
	}
	var r record.Contact
	var err error
	switch op, address := operands[0], operands[1]; op {
	case "add":
		r, err = p.box.AddContact(ctx, address, p.change)
	case "edit":
		r, err = p.box.EditContact(ctx, address, p.change)
	case "remove":
		if err = p.Without("remove", "name", "note"); err == nil {
			r, err = p.box.RemoveContact(ctx, address)
		}
	default:
		return p.Misuse("unknown operation on contacts: %q", op)
	}
	if err != nil {
		return err
	}
	return p.Show(*p.people, r)
}
