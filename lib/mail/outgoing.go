package mail

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
)

// maxWork is how many messages one call delivers or reads.
const maxWork = 100

// Outgoing delivers what is due in an outbox. Between two calls it remembers what
// waits there, so that it reads each message once.
type Outgoing struct {
	box     Box
	reader  *body.Body // who takes for itself what is in another's outbox
	waiting map[string]waiting
	trouble trouble
	still   still
	next    time.Time // when the first of what waits is due; zero for none
}

// waiting is a message in an outbox that was looked at.
type waiting struct {
	due, sent time.Time
	wanted    bool
}

// NewOutgoing returns the deliverer of a mailbox's own outbox.
func NewOutgoing(x Box) *Outgoing {
	folders := still{paths: []string{x.path(Outbox), x.path(desk)}}
	return &Outgoing{box: x, waiting: map[string]waiting{}, trouble: trouble{}, still: folders}
}

// newClaims returns the deliverer of what is for reader in the outbox of somebody who
// has no process of its own, a human. It takes a message away by renaming it, so that
// one of many readers delivers it, to all whom it is for.
func newClaims(x Box, reader body.Body) *Outgoing {
	o := NewOutgoing(x)
	o.reader = &reader
	return o
}

// Settled says what a call of Deliver did.
type Settled struct {
	Messages []Message // what was delivered or bounced; it is in sent now
	Aside    []error   // what cannot be read and was moved to .dead
	Failed   []error   // what has to be tried again; the next call does
	More     bool      // there was more than one call does
}

// Deliver delivers what is due. While another process does, it returns at once where
// the mailbox was opened Within(0), and has busy as its error elsewhere.
func (o *Outgoing) Deliver(ctx context.Context, now time.Time) (Settled, error) {
	o.trouble.round()
	var done Settled
	if !o.trouble.waits() && o.still.holds() && (o.next.IsZero() || now.Before(o.next)) {
		return done, nil
	}
	o.still.begin()
	due, err := o.due(now, &done)
	if err == nil {
		var left []entry
		if left, err = o.box.entries(desk); err == nil && len(left)+len(due) > 0 {
			o.still.doubt()
			return o.deliver(ctx, due, now, done)
		}
	}
	if err != nil || done.More {
		o.still.doubt()
	}
	return done, err
}

// deliver delivers what is on the desk and what is due, under the lock.
func (o *Outgoing) deliver(ctx context.Context, due []entry, now time.Time, done Settled) (Settled, error) {
	unlock, err := o.box.take(ctx)
	if err != nil {
		if fault.Is(err, fault.Busy) && o.box.wait == 0 {
			return done, nil
		}
		return done, err
	}
	defer unlock()
	left, err := o.box.entries(desk)
	if err != nil {
		return done, err
	}
	work := 0
	for _, folder := range []string{desk, Outbox} {
		for _, e := range map[string][]entry{desk: left, Outbox: due}[folder] {
			if work++; work > maxWork {
				done.More = true
				return done, nil
			}
			o.one(ctx, folder, e.id, now, &done)
			if ctx.Err() != nil {
				return done, ctx.Err()
			}
		}
	}
	return done, nil
}

// one delivers one message, under the lock.
func (o *Outgoing) one(ctx context.Context, folder, id string, now time.Time, done *Settled) {
	m, err := o.box.load(folder, id)
	if err == nil && folder == Outbox {
		if err = m.move(desk); errors.Is(err, fs.ErrNotExist) {
			return // a reader of another program's was faster
		}
	}
	if err == nil {
		err = m.settle(ctx, o.reader, now)
	}
	switch {
	case err == nil:
		done.Messages = append(done.Messages, m)
		delete(o.waiting, id)
		o.trouble.clear(folder + "/" + id)
	case ctx.Err() == nil:
		o.fail(folder, id, err, done)
	}
}

// fail notes that a message could not be read or settled.
func (o *Outgoing) fail(folder, id string, err error, done *Settled) {
	if !o.trouble.add(folder+"/"+id, err) {
		if !errors.Is(err, fs.ErrNotExist) {
			done.Failed = append(done.Failed, err)
		}
		return
	}
	if failed := o.box.setAside(folder, id); failed != nil {
		done.Failed = append(done.Failed, failed)
		return
	}
	done.Aside = append(done.Aside, err)
}

// due returns what is due in the outbox, the oldest first. It takes no lock.
func (o *Outgoing) due(now time.Time, done *Settled) ([]entry, error) {
	entries, err := o.box.entries(Outbox)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	o.next = time.Time{}
	var due []entry
	budget := maxWork
	for _, e := range entries {
		there[e.id] = true
		w, known := o.waiting[e.id]
		if !known && o.trouble.ready(Outbox+"/"+e.id) {
			if budget--; budget < 0 {
				done.More = true
				continue
			}
			m, err := o.box.load(Outbox, e.id)
			if err != nil {
				o.fail(Outbox, e.id, err, done)
				continue
			}
			w, known = waiting{m.Due(), m.Time(), o.wants(m)}, true
			o.waiting[e.id] = w
		}
		switch {
		case !known || !w.wanted:
		case !w.due.After(now):
			due = append(due, e)
		case o.next.IsZero() || w.due.Before(o.next):
			o.next = w.due
		}
	}
	for id := range o.waiting {
		if !there[id] {
			delete(o.waiting, id)
		}
	}
	o.trouble.keep(Outbox, there)
	slices.SortStableFunc(due, func(a, b entry) int {
		return o.waiting[a.id].sent.Compare(o.waiting[b.id].sent)
	})
	return due, nil
}

// wants reports whether a message is ours to deliver.
func (o *Outgoing) wants(m Message) bool {
	if o.reader == nil {
		return true
	}
	return slices.ContainsFunc(m.recipients(), func(address string) bool {
		to, err := m.Box.lead(address)
		return err == nil && to.Same(*o.reader)
	})
}

// Deliver delivers one message of the own outbox, whether or not it is due, and
// returns how it came out.
func (x Box) Deliver(ctx context.Context, id string, now time.Time) (Message, error) {
	unlock, err := x.take(ctx)
	if err != nil {
		return Message{}, err
	}
	defer unlock()
	m, err := x.outgoing(id)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return m, unknown(id)
	case err != nil || m.Folder == Sent:
		return m, err
	case m.Folder == Outbox:
		if err := m.move(desk); err != nil {
			return m, err
		}
	}
	return m, m.settle(ctx, nil, now)
}
