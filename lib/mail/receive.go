package mail

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
)

// A message goes into an inbox as a directory that is filled under a dot-name in the
// mailbox, not in the inbox, and renamed when it is complete. That name follows from
// sender and message, so that whoever delivers again after a crash clears what was
// left.

// entryNames returns the names that a message may have in a mailbox: its ID, or where
// another sender's has that, one that is its own alone.
func (m *Message) entryNames() []string { return []string{m.ID, m.ID + "-" + m.mark()[:8]} }

// has reports whether a message is in the mailbox, or was and has been deleted. It
// looks at the places in the order in which a message goes through them.
func (x Box) has(m *Message) bool {
	mark := m.mark()
	for _, folder := range []string{Inbox, Archive} {
		for _, id := range m.entryNames() {
			if have, err := x.load(folder, id); err == nil && have.mark() == mark {
				return true
			}
		}
	}
	return slices.Contains(x.deleted(), mark)
}

// deleted returns the marks of what was deleted last.
func (x Box) deleted() []string {
	var marks []string
	data, err := disk.ReadFile(x.path(deletedFile), maxFile)
	if err != nil || json.Unmarshal(data, &marks) != nil {
		return nil
	}
	return marks
}

// receive puts a message into the inbox.
func (x Box) receive(m *Message, copied *body.Object, attached []file) error {
	inbox, err := x.make(Inbox)
	if err != nil {
		return reason(err)
	}
	staged := x.path(stagedName(*m))
	err = os.RemoveAll(staged)
	if err == nil {
		err = disk.Mkdir(staged)
	}
	if err == nil {
		err = fill(staged, copied, attached)
	}
	if err == nil {
		err = x.admit(m, staged)
	}
	if err != nil {
		_ = os.RemoveAll(staged) // what is left, the next try or the recipient removes
		return reason(err)
	}
	// It is there, whether or not it lasts: an error would have it sent twice.
	_ = disk.SyncDir(inbox)
	return nil
}

// stagedName returns the name under which a message is filled.
func stagedName(m Message) string {
	sum := sha256.Sum256([]byte(m.Box.body.Dir() + "\x00" + m.ID))
	return fmt.Sprintf("%s%x", disk.TempPrefix, sum[:8])
}

// admit gives a complete entry its name.
func (x Box) admit(m *Message, staged string) error {
	for _, id := range m.entryNames() {
		err := disk.MoveNew(staged, x.path(Inbox, id))
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return fmt.Errorf("the inbox has another message of this id")
}

// fill writes an entry into a directory: what is attached, then the message.
func fill(dir string, o *body.Object, attached []file) error {
	if len(attached) > 0 {
		at := filepath.Join(dir, filesDir)
		if err := disk.Mkdir(at); err != nil {
			return err
		}
		for _, f := range attached {
			if err := copyFile(f.path, filepath.Join(at, f.name)); err != nil {
				return err
			}
		}
		if err := disk.SyncDir(at); err != nil {
			return err
		}
	}
	return disk.Create(filepath.Join(dir, messageFile), o.Indented())
}

// copyFile copies a file of any size to a new one in a directory that nobody else
// looks at yet.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := disk.MakeLock(to); err != nil { // makes it shared the way the directory is
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}
