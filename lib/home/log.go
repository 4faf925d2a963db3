package home

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
)

// Log returns a writer that adds lines to a file among this machine's logs. At most
// bytes it makes way for a new one; one predecessor is kept, so the two together
// take twice that. Nothing of it is held open, and servers may share the file. Where
// it cannot be made or the disk is full there is no log, and that keeps nobody from
// working.
func (h Home) Log(file string, most int64) io.Writer {
	path := filepath.Join(h.dir, "logs", file)
	os.MkdirAll(filepath.Dir(path), 0o700)
	return log{path, most}
}

type log struct {
	path string
	most int64
}

// Write adds a line.
func (l log) Write(line []byte) (int, error) {
	if info, err := os.Stat(l.path); err == nil && info.Size()+int64(len(line)) > l.most {
		l.rotate(int64(len(line)))
	}
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return f.Write(line)
}

// rotate moves a full log aside. Under a lock, and looked at again there, for two
// servers may find it full at once.
func (l log) rotate(more int64) {
	unlock, err := disk.Lock(context.Background(), l.path+".lock", time.Second)
	if err != nil {
		return
	}
	defer unlock()
	if info, err := os.Stat(l.path); err != nil || info.Size()+more <= l.most {
		return
	}
	if os.Remove(l.path + ".1"); disk.MoveNew(l.path, l.path+".1") != nil {
		os.Truncate(l.path, 0) // better no history than no bound
	}
}
