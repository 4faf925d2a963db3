package mail

import (
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
)

// An entry is a directory in a folder.
type entry struct {
	id string
	at time.Time // about when it was made
}

// entries returns what is in a folder. What begins with a dot is being written, or
// is not an entry; what is no directory never is one.
func (x Box) entries(folder string) ([]entry, error) {
	all, err := os.ReadDir(x.path(folder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var found []entry
	for _, d := range all {
		if d.IsDir() && !strings.HasPrefix(d.Name(), ".") {
			found = append(found, entry{d.Name(), age(d)})
		}
	}
	return found, nil
}

// age returns about when an entry was made: what its name says, else the time of its
// directory.
func age(d fs.DirEntry) time.Time {
	if id := d.Name(); ourID.MatchString(id) {
		if t, err := time.Parse(idTime, id[:len(idTime)]); err == nil {
			return t
		}
	}
	info, err := d.Info()
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// move moves an entry to another folder.
func (m *Message) move(folder string) error {
	if _, err := m.Box.make(folder); err != nil {
		return err
	}
	to := m.ID
	for n := 2; disk.Exists(m.Box.path(folder, to)); n++ {
		to = m.ID + "-" + strconv.Itoa(n) // only where another program gave an ID twice
	}
	if err := disk.MoveNew(m.dir(), m.Box.path(folder, to)); err != nil {
		return err
	}
	from := m.Folder
	m.Folder, m.ID = folder, to
	if folder == desk {
		return nil // where it is found after a crash of the machine makes no difference
	}
	return errors.Join(disk.MakeDurable(m.Box.path(folder)), disk.MakeDurable(m.Box.path(from)))
}
