package mail

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/record"
)

// The channel email mirrors what is unread: how much, and the newest few with the
// beginning of their text. It is made from the inbox under the lock of the channels,
// so that of two who make it at once the later one has the later state; and it is left
// alone while it says what is so, since any change of it is news to the agent.

const (
	channel    = "email"
	maxShown   = 10
	maxPreview = 200 // characters
)

// head is what the mirror shows of a message.
type head struct {
	ID          string `json:"id"`
	From        string `json:"from"`
	Name        string `json:"from_name"`
	Subject     string `json:"subject"`
	Preview     string `json:"preview"`
	Cut         bool   `json:"cut"`
	ReceivedAt  string `json:"received_at"`
	Attachments int    `json:"attachments"`

	at, sent time.Time
}

func (m Message) head() head {
	h := head{
		ID: m.ID, ReceivedAt: timeText(m.Time()), Attachments: len(texts(m.Get("attachments"))),
		at: m.Time(), sent: m.SentAt(),
	}
	h.From, _ = cut(m.From(), maxPreview)
	h.Name, _ = cut(m.Sub("identity").Text("agent_name"), maxPreview)
	h.Subject, _ = cut(m.Subject(), maxPreview)
	h.Preview, h.Cut = cut(m.Body(), maxPreview)
	return h
}

// mirror is the data of the channel.
type mirror struct {
	Count  int    `json:"count"` // of all that is unread
	Newest string `json:"newest_received_at"`
	Emails []head `json:"emails"`
}

// unread is what is known of the unread messages of an inbox. Between two looks it
// remembers those that it has read.
type unread struct {
	box     Box
	heads   map[string]head
	seen    map[string]bool // what read.json said last
	trouble trouble
	more    int // how many of them were not read yet, for want of time
	still   still
}

func newUnread(x Box) *unread {
	files := still{paths: []string{x.path(Inbox), x.path(readFile)}}
	return &unread{box: x, heads: map[string]head{}, trouble: trouble{}, still: files}
}

// changed reports whether a look could show anything new.
func (u *unread) changed() bool { return u.trouble.waits() || !u.still.holds() }

// look looks at the inbox, and reads as many messages as budget that it has not read
// before: those that seem the newest first.
func (u *unread) look(budget int, done *Settled) error {
	u.still.begin()
	entries, err := u.box.entries(Inbox)
	if err != nil {
		u.still.doubt()
		return err
	}
	if ids, err := u.box.read(); err == nil {
		u.seen = setOf(ids)
	} else {
		done.Failed = append(done.Failed, err) // what it said last still holds
	}
	seen := u.seen
	entries = slices.DeleteFunc(entries, func(e entry) bool { return seen[e.id] })
	slices.SortStableFunc(entries, func(a, b entry) int { return b.at.Compare(a.at) })
	there := map[string]bool{}
	u.more = 0
	for _, e := range entries {
		there[e.id] = true
		if _, known := u.heads[e.id]; known || !u.trouble.ready(Inbox+"/"+e.id) {
			continue
		}
		if budget--; budget < 0 {
			u.more++
			continue
		}
		u.read(e.id, done)
	}
	for id := range u.heads {
		if !there[id] {
			delete(u.heads, id)
		}
	}
	u.trouble.keep(Inbox, there)
	if u.more > 0 {
		u.still.doubt()
	}
	return nil
}

// read reads one message.
func (u *unread) read(id string, done *Settled) {
	key := Inbox + "/" + id
	m, err := u.box.load(Inbox, id)
	if err == nil {
		u.heads[id] = m.head()
		u.trouble.clear(key)
		return
	}
	switch last := u.trouble.add(key, err); {
	case errors.Is(err, fs.ErrNotExist): // not complete yet, or gone
	case !last:
		done.Failed = append(done.Failed, err)
	default:
		if failed := u.box.setAside(Inbox, id); failed != nil {
			done.Failed = append(done.Failed, failed)
		} else {
			done.Aside = append(done.Aside, err)
		}
	}
}

// mirror returns what the channel is to say.
func (u *unread) mirror() mirror {
	m := mirror{Count: len(u.heads) + u.more, Emails: []head{}}
	for _, h := range u.heads {
		m.Emails = append(m.Emails, h)
	}
	slices.SortFunc(m.Emails, func(a, b head) int {
		return cmp.Or(b.at.Compare(a.at), b.sent.Compare(a.sent), strings.Compare(b.ID, a.ID))
	})
	m.Emails = m.Emails[:min(len(m.Emails), maxShown)]
	if len(m.Emails) > 0 {
		m.Newest = m.Emails[0].ReceivedAt
	}
	return m
}

// is reports whether a channel says this already.
func (m mirror) is(have notice.Channel) bool {
	if m.Count == 0 || have.Version == "" || have.Err != nil {
		return m.Count == 0 && have.Version == ""
	}
	return m.says(have.Data())
}

func (m mirror) says(data *body.Object) bool {
	line, err := record.Encode(m)
	return err == nil && string(data.Compact()) == strings.TrimSuffix(string(line), "\n")
}

// follows reports whether there is nothing in it that was not in the data before, but
// for older messages that those which were read made room for.
func (m mirror) follows(data *body.Object) bool {
	var before []head
	if json.Unmarshal(data.Get("emails"), &before) != nil || m.Count > int(data.Number("count")) {
		return false
	}
	return !slices.ContainsFunc(m.Emails, func(h head) bool {
		shown := slices.ContainsFunc(before, func(b head) bool { return b.ID == h.ID })
		older := len(before) == maxShown && h.ReceivedAt <= before[maxShown-1].ReceivedAt
		return !shown && !older
	})
}

func (m mirror) envelope() notice.Envelope {
	header := "1 unread mail"
	if m.Count != 1 {
		header = fmt.Sprintf("%d unread mails", m.Count)
	}
	return notice.Envelope{
		Header: header, Icon: "✉", Data: m,
		Instructions: "these are previews; substrate-mail read ID shows a message whole and marks it read, " +
			"substrate-mail dismiss ID marks it read, substrate-mail reply ID answers where it came from",
	}
}

// errSame leaves a channel as it is.
var errSame = errors.New("nothing new")

// publish makes the channel say what is so, and reports whether it had to.
func (u *unread) publish(ctx context.Context, budget int, done *Settled, now time.Time) (bool, error) {
	if err := u.look(budget, done); err != nil {
		return false, err
	}
	store := notice.Open(u.box.body).Within(u.box.wait)
	have, err := store.Read(channel)
	if err != nil || u.mirror().is(have) {
		return false, err
	}
	_, err = store.Update(ctx, channel, notice.Any, now,
		func(data *body.Object) (notice.Envelope, bool, error) {
			if err := u.look(0, done); err != nil {
				return notice.Envelope{}, false, err
			}
			m := u.mirror()
			if m.Count > 0 && m.says(data) {
				return notice.Envelope{}, false, errSame
			}
			e := m.envelope()
			e.Seen = m.follows(data)
			return e, m.Count > 0, nil
		})
	if errors.Is(err, errSame) {
		return false, nil
	}
	return err == nil, err
}

// Mirror makes the channel email say what is unread now. What is done to the inbox by
// its owner is followed by this. A human has no use for it.
func (x Box) Mirror(ctx context.Context, now time.Time) error {
	u := newUnread(x)
	if x.body.Manifest().IsHuman() {
		if have, err := notice.Open(x.body).Read(channel); err != nil || have.Version == "" {
			return err
		}
	}
	_, err := u.publish(ctx, 10*maxWork, &Settled{}, now)
	return err
}
