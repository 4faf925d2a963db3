package mail

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

// DefaultSubscriptions are the outboxes that an agent looks into besides its own.
var DefaultSubscriptions = []string{"../human"}

// Poller is the mail of a running agent: it delivers what is due in its outbox, takes
// what is for it from the outboxes of those who have no process, and keeps the channel
// email. What one call does is bounded; it waits for no lock.
type Poller struct {
	box    Box
	own    *Outgoing
	others []string // directories
	claims map[string]*Outgoing
	found  []*Outgoing // of them, those that were there when it was looked last
	round  int
	unread *unread
	swept  time.Time
}

// NewPoller returns the mail of the agent of a mailbox. The subscriptions are
// directories, relative ones below the agent's own.
func NewPoller(x Box, subscriptions []string) *Poller {
	x = x.Within(0)
	p := &Poller{box: x, own: NewOutgoing(x), claims: map[string]*Outgoing{}, unread: newUnread(x)}
	for _, dir := range subscriptions {
		if !filepath.IsAbs(dir) {
			dir = x.body.Path(dir)
		}
		p.others = append(p.others, dir)
	}
	return p
}

// Polled says what a poll found.
type Polled struct {
	Settled      // of all outboxes
	Unread  int  // messages in the inbox
	Changed bool // the channel email did
}

// Poll looks once. What fails does not keep it from the rest.
func (p *Poller) Poll(ctx context.Context, now time.Time) (Polled, error) {
	var all Polled
	p.own.still.gone = !disk.Exists(p.box.path())
	p.unread.still.gone = p.own.still.gone
	p.sweep(now, &all)
	for _, o := range append([]*Outgoing{p.own}, p.subscribed()...) {
		done, err := o.Deliver(ctx, now)
		if ctx.Err() != nil {
			return all, ctx.Err()
		}
		if err != nil {
			done.Failed = append(done.Failed, err)
		}
		all.Messages = append(all.Messages, done.Messages...)
		all.Aside = append(all.Aside, done.Aside...)
		all.Failed = append(all.Failed, done.Failed...)
		all.More = all.More || done.More
	}
	p.unread.trouble.round()
	if p.unread.changed() {
		changed, err := p.unread.publish(ctx, maxWork, &all.Settled, now)
		if err != nil {
			p.unread.still.doubt()
			if !fault.Is(err, fault.Busy) {
				all.Failed = append(all.Failed, err)
			}
		}
		all.Changed, all.More = changed, all.More || p.unread.more > 0
	}
	all.Unread = len(p.unread.heads) + p.unread.more
	return all, nil
}

// searchEvery is in how many polls the outboxes of others are looked for once. A poll
// is a tick: the half second of the format would cost every idle agent a second wake-up.
const searchEvery = 4

// subscribed returns the outboxes of others that are there.
func (p *Poller) subscribed() []*Outgoing {
	if p.round++; p.round%searchEvery != 1 {
		return p.found
	}
	p.found = nil
	for _, dir := range p.others {
		b, err := body.Open(dir)
		if err != nil || b.Same(p.box.body) || !disk.Exists(b.Path(body.MailDir, Outbox)) {
			continue
		}
		if p.claims[b.Dir()] == nil {
			p.claims[b.Dir()] = newClaims(Open(b, p.box.env).Within(0), p.box.body)
		}
		p.found = append(p.found, p.claims[b.Dir()])
	}
	return p.found
}

const (
	sweepPeriod = 10 * time.Minute
	leftAfter   = time.Hour
)

// sweep removes what senders that died had not finished to write.
func (p *Poller) sweep(now time.Time, all *Polled) {
	if since := now.Sub(p.swept); since >= 0 && since < sweepPeriod {
		return
	}
	p.swept = now
	left, err := os.ReadDir(p.box.path())
	for _, f := range left {
		info, gone := f.Info()
		if err == nil && gone == nil && disk.IsTemp(f.Name()) && now.Sub(info.ModTime()) > leftAfter {
			err = os.RemoveAll(p.box.path(f.Name()))
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		all.Failed = append(all.Failed, err)
	}
}
