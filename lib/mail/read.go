package mail

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// load reads an entry. It fails with fs.ErrNotExist where there is none, or where it
// is not complete: other programs write the message last.
func (x Box) load(folder, id string) (Message, error) {
	m := Message{Box: x, Folder: folder, ID: id, Read: folder != Inbox}
	info, err := os.Lstat(x.path(folder, id))
	if err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "open", Path: x.path(folder, id), Err: fs.ErrNotExist}
	}
	if err != nil {
		return m, err
	}
	d, err := disk.OpenDir(x.path(folder, id))
	if err != nil {
		return m, err
	}
	defer d.Close()
	data, _, err := d.Read(messageFile, maxFile)
	if err == nil {
		m.Object, err = ParseMessage(data)
		if err != nil {
			err = corrupt(m, err)
		}
	} else if errors.Is(err, disk.ErrNotRegular) || errors.Is(err, disk.ErrTooLarge) {
		err = corrupt(m, err)
	}
	return m, err
}

func corrupt(m Message, err error) error {
	return fault.New(fault.Corrupt, "message %q in %s: %w", m.ID, m.Folder, err)
}

// parseRead reads read.json: a list of IDs, of which what is no text is skipped.
func parseRead(data []byte) ([]string, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	return texts(data), nil
}

// read returns the IDs of what was read. Of a file that cannot be read it knows none,
// and returns why.
func (x Box) read() ([]string, error) {
	data, err := disk.ReadFile(x.path(readFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, err := parseRead(data)
	if err != nil {
		return nil, fault.New(fault.Corrupt, "%s: %w", x.path(readFile), err)
	}
	return ids, nil
}

// list returns the messages of a folder in no order, and what is wrong with others.
func (x Box) list(folder string) (all []Message, skipped []error, err error) {
	if !slices.Contains(Folders, folder) {
		return nil, nil, fault.New(fault.BadInput, "no such folder: %.80q", folder).
			WithHint("folders are %s", strings.Join(Folders, ", "))
	}
	entries, err := x.entries(folder)
	if err != nil {
		return nil, nil, err
	}
	var read []string
	if folder == Inbox {
		if read, err = x.read(); err != nil {
			skipped = append(skipped, err)
		}
	}
	seen := setOf(read)
	for _, e := range entries {
		m, err := x.load(folder, e.id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			skipped = append(skipped, err)
		default:
			m.Read = m.Read || seen[e.id]
			all = append(all, m)
		}
	}
	return all, skipped, nil
}

func setOf(ids []string) map[string]bool {
	set := map[string]bool{}
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// newestFirst sorts messages by when they came or were sent.
func newestFirst(all []Message) {
	slices.SortStableFunc(all, func(a, b Message) int {
		return cmp.Or(b.Time().Compare(a.Time()), b.SentAt().Compare(a.SentAt()), strings.Compare(b.ID, a.ID))
	})
}

// Find returns a message that was received, or else one that was sent.
func (x Box) Find(id string) (Message, error) {
	if err := checkID(id); err != nil {
		return Message{}, err
	}
	for _, folder := range []string{Inbox, Archive, Outbox, desk, Sent} {
		m, err := x.load(folder, id)
		if err == nil && folder == Inbox {
			read, _ := x.read()
			m.Read = slices.Contains(read, id)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return m, err
		}
	}
	return Message{}, unknown(id)
}

// Dismiss marks messages of the inbox as read.
func (x Box) Dismiss(ctx context.Context, ids []string) (record.Handled, error) {
	done := record.Handled{Type: "handled", Dir: x.body.Dir()}
	for _, id := range ids {
		if err := checkID(id); err != nil {
			return done, err
		}
	}
	unlock, err := x.lock(ctx)
	if err != nil {
		return done, err
	}
	defer unlock()
	read, err := x.readToChange()
	if err != nil {
		return done, err
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(ids))) {
		_, err := x.load(Inbox, id)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			done.NotFound = append(done.NotFound, id)
		case slices.Contains(read, id):
			done.Already = append(done.Already, id)
		default:
			done.Dismissed = append(done.Dismissed, id)
		}
	}
	if len(done.Dismissed) == 0 {
		return done, nil
	}
	return done, x.writeRead(append(read, done.Dismissed...))
}

// readToChange returns what was read, under the lock and to be written anew. A file
// that is no list is put aside first.
func (x Box) readToChange() ([]string, error) {
	read, err := x.read()
	if !fault.Is(err, fault.Corrupt) {
		return read, err
	}
	data, err := disk.ReadFile(x.path(readFile), maxFile)
	if err != nil {
		return nil, err
	}
	return nil, disk.Replace(x.path(readFile+".malformed"), data)
}

// writeRead writes which messages were read, sorted, without those that are gone.
func (x Box) writeRead(ids []string) error {
	there := map[string]bool{}
	for _, folder := range []string{Inbox, Archive} {
		entries, err := x.entries(folder)
		if err != nil {
			return err
		}
		for _, e := range entries {
			there[e.id] = true
		}
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	ids = slices.DeleteFunc(ids, func(id string) bool { return !there[id] })
	line, err := record.Encode(record.Names(ids))
	if err != nil {
		return err
	}
	return disk.Replace(x.path(readFile), line)
}
