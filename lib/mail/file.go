package mail

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// Archive moves a message from the inbox to the archive.
func (x Box) Archive(ctx context.Context, id string) (record.Filed, error) {
	done := record.Filed{Type: "filed", Dir: x.body.Dir(), ID: id, From: Inbox, To: Archive}
	err := x.locked(ctx, id, func() error {
		if !x.isEntry(Inbox, id) {
			if x.isEntry(Archive, id) {
				return fault.New(fault.Exists, "archived already: %.150q", id)
			}
			return unknown(id)
		}
		if disk.Exists(x.path(Archive, id)) {
			return fault.New(fault.Exists, "the archive has another of this id: %.150q", id)
		}
		m := Message{Box: x, Folder: Inbox, ID: id}
		return m.move(Archive)
	})
	return done, err
}

// maxDeleted is how many deleted messages are remembered, so that they do not come
// again from a sender that died before it could note that they had been delivered.
const maxDeleted = 1000

// Delete deletes a message from the inbox or the archive. What was sent is kept.
func (x Box) Delete(ctx context.Context, id string) (record.Filed, error) {
	done := record.Filed{Type: "filed", Dir: x.body.Dir(), ID: id}
	err := x.locked(ctx, id, func() error {
		for _, folder := range []string{Inbox, Archive} {
			if x.isEntry(folder, id) {
				done.From = folder
				return x.remove(folder, id)
			}
		}
		if x.isEntry(Sent, id) || x.isEntry(Outbox, id) {
			return fault.New(fault.Denied, "not deleted, since it was sent: %.150q", id).
				WithHint("only what is in %s or %s is deleted", Inbox, Archive)
		}
		return unknown(id)
	})
	return done, err
}

func (x Box) locked(ctx context.Context, id string, do func() error) error {
	if err := checkID(id); err != nil {
		return err
	}
	unlock, err := x.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	return do()
}

func (x Box) isEntry(folder, id string) bool {
	info, err := os.Lstat(x.path(folder, id))
	return err == nil && info.IsDir()
}

// remove deletes an entry: it is remembered, then gone by one rename, then its parts
// are removed.
func (x Box) remove(folder, id string) error {
	if m, err := x.load(folder, id); err == nil {
		marks := append(slices.DeleteFunc(x.deleted(), func(k string) bool { return k == m.mark() }), m.mark())
		line, err := record.Encode(marks[max(0, len(marks)-maxDeleted):])
		if err != nil {
			return err
		}
		if err := disk.Replace(x.path(deletedFile), line); err != nil {
			return err
		}
	}
	gone := x.path(fmt.Sprintf("%s%016x", disk.TempPrefix, rand.Uint64()))
	if err := disk.MoveNew(x.path(folder, id), gone); err != nil {
		return err
	}
	return errors.Join(disk.MakeDurable(x.path(folder)), os.RemoveAll(gone))
}

// setAside moves an entry that nobody can read to where nobody looks.
func (x Box) setAside(folder, id string) error {
	if _, err := x.make(dead); err != nil {
		return err
	}
	to := folder + "-" + id
	for disk.Exists(x.path(dead, to)) {
		to = fmt.Sprintf("%s-%s-%08x", folder, id, rand.Uint32())
	}
	err := disk.MoveNew(x.path(folder, id), x.path(dead, to))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another was faster
	}
	return err
}
