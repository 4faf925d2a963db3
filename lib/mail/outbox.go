package mail

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// What is sent goes through three folders, from each to the next by one rename, under
// one lock: outbox, where it waits until it is due; the desk, where whoever holds the
// lock delivers it; sent, where it stays with what became of it. Whatever is on the
// desk when the lock is taken was left there by a holder that died, and is gone on
// with: the record says which recipients are settled, and each of the others is asked
// whether it has the message before it is delivered.

// take takes the lock of the outbox, and clears what its last holder had not finished
// to write.
func (x Box) take(ctx context.Context) (unlock func(), err error) {
	dir, err := x.make(desk)
	if err != nil {
		return nil, err
	}
	unlock, err = disk.Lock(ctx, x.path(".outbox.lock"), x.wait)
	if err != nil {
		return nil, err
	}
	if err := clear(dir); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// clear removes temporary files and directories from the desk, and from the entries
// on it.
func clear(dir string) error {
	found, err := os.ReadDir(dir)
	for _, f := range found {
		path := filepath.Join(dir, f.Name())
		switch {
		case err != nil:
		case disk.IsTemp(f.Name()):
			err = os.RemoveAll(path)
		case f.IsDir() && f.Name() != filesDir:
			err = clear(path)
		}
	}
	return err
}

// lock takes the lock of the mailbox: of what was read, of the folders inbox and
// archive, and of the contacts.
func (x Box) lock(ctx context.Context) (unlock func(), err error) {
	if _, err := x.body.Make(body.MailDir); err != nil {
		return nil, err
	}
	return disk.Lock(ctx, x.path(".lock"), x.wait)
}

// Send puts a draft into the outbox, from where Deliver takes it. One whose ID is
// known is not sent again, unless some of its recipients did not get it: then they
// are tried once more. known is true for either.
func (x Box) Send(ctx context.Context, d Draft, now time.Time) (m Message, known bool, err error) {
	if err := d.check(); err != nil {
		return m, false, err
	}
	if err := d.resolve(x); err != nil {
		return m, false, err
	}
	attached, err := files(d.Attachments)
	if err != nil {
		return m, false, err
	}
	unlock, err := x.take(ctx)
	if err != nil {
		return m, false, err
	}
	defer unlock()
	if d.ID != "" {
		m, err := x.outgoing(d.ID)
		if !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				m, err = x.again(m, d, attached)
			}
			return m, true, err
		}
	}
	if err := x.refuseThird(d, attached); err != nil {
		return m, false, err
	}
	m, err = x.publish(d, attached, now)
	return m, false, err
}

// publish makes the entry of the outbox.
func (x Box) publish(d Draft, attached []file, now time.Time) (Message, error) {
	m := Message{Box: x, Folder: Outbox, ID: d.ID, Read: true}
	if _, err := x.make(Outbox); err != nil {
		return m, err
	}
	for m.ID == "" {
		id := newID(now)
		if _, err := x.outgoing(id); errors.Is(err, fs.ErrNotExist) {
			m.ID = id
		}
	}
	var err error
	if m.Object, err = x.compose(d, m.ID, attached, now); err != nil {
		return m, err
	}
	staged, err := disk.TempDir(x.path(desk))
	if err == nil {
		err = fill(staged, m.Object, attached)
	}
	if err == nil {
		err = disk.MoveNew(staged, m.dir())
	}
	if err != nil {
		return m, errors.Join(err, os.RemoveAll(staged))
	}
	return m, disk.MakeDurable(x.path(Outbox))
}

// again returns a message that was sent before, and puts it on the desk if somebody
// did not get it.
func (x Box) again(m Message, d Draft, attached []file) (Message, error) {
	if !d.same(m, attached) || !slices.Equal(m.recipients(), x.distinct(slices.Concat(d.To, d.CC, d.BCC))) {
		return m, fault.New(fault.Exists, "another message has this id: %.150q", d.ID)
	}
	plan := m.plan()
	if m.Folder == Outbox || !slices.ContainsFunc(plan, delivery.bounced) {
		return m, nil
	}
	// It is moved first: a record in sent that says queued would be nobody's. One that
	// is on the desk was left there.
	if m.Folder == Sent {
		if err := m.move(desk); err != nil {
			return m, err
		}
	}
	for i := range plan {
		if plan[i].bounced() {
			plan[i].Status, plan[i].Error = queued, ""
		}
	}
	return m, m.save(plan)
}

// same reports whether a draft says what a message does.
func (d Draft) same(m Message, attached []file) bool {
	var have []string
	for _, says := range texts(m.Get("attachments")) {
		name, _ := baseName(says)
		have = append(have, name)
	}
	return d.Subject == m.Subject() && d.Message == m.Body() && slices.Equal(have, names(attached))
}

// maxRecent is how many of the newest messages that were sent are looked at.
const maxRecent = 200

// refuseThird refuses a message that would be the third identical one in a row to
// somebody. What bounced does not count.
func (x Box) refuseThird(d Draft, attached []file) error {
	recent, err := x.recent()
	if err != nil {
		return err
	}
	for _, address := range x.distinct(slices.Concat(d.To, d.CC, d.BCC)) {
		row := 0
		for _, m := range recent {
			i := slices.IndexFunc(m.plan(), func(to delivery) bool {
				return to.Address == address && !to.bounced()
			})
			if i < 0 {
				continue
			}
			if !d.same(m, attached) {
				break
			}
			if row++; row == 2 {
				return fault.New(fault.Denied, "third identical message in a row: to %.150q", address).
					WithHint("it was sent twice already; wait for the answer, or say something new")
			}
		}
	}
	return nil
}

// recent returns what was sent last, the newest first.
func (x Box) recent() ([]Message, error) {
	var all []Message
	for _, folder := range []string{Outbox, desk, Sent} {
		entries, err := x.entries(folder)
		if err != nil {
			return nil, err
		}
		slices.SortStableFunc(entries, func(a, b entry) int { return b.at.Compare(a.at) })
		for _, e := range entries[:min(len(entries), maxRecent)] {
			if m, err := x.load(folder, e.id); err == nil {
				all = append(all, m)
			}
		}
	}
	newestFirst(all)
	return all, nil
}

// outgoing returns a message of our own, wherever it is on its way.
func (x Box) outgoing(id string) (m Message, err error) {
	for _, folder := range []string{Outbox, desk, Sent} {
		m, err = x.load(folder, id)
		if !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
		if disk.Exists(x.path(folder, id)) {
			return m, fault.New(fault.Corrupt, "no message in it: %q", x.path(folder, id))
		}
	}
	return m, err
}

// Receipt says how a message stands that was sent.
func (m Message) Receipt() record.Mailed {
	return record.Mailed{
		Type: "mailed", Dir: m.Box.body.Dir(), ID: m.ID, Status: m.status(), DeliverAt: timeText(m.Due()),
		Deliveries: m.deliveries(),
	}
}

func unknown(id string) error {
	return fault.New(fault.UnknownEntry, "no such message: %.150q", id).
		WithHint("substrate-mail check lists them")
}

// Due returns when a message is to be delivered, zero for at once.
func (m Message) Due() time.Time { return parseTime(m.Text("deliver_at")) }
