package mcpserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// maxLog is the size at which a log file makes way for a new one. One predecessor
// is kept, so the two together take twice that.
const maxLog = 1 << 20

// Log returns a function that adds a line to a file among this machine's logs.
// Nothing of it is held open, and servers may share the file. A machine without a
// home, or a disk that is full, has no log, and that keeps nobody from working.
func Log(file string) func(format string, args ...any) {
	machine, err := home.Open()
	if err != nil {
		return nil
	}
	path := filepath.Join(machine.Dir(), "logs", file)
	if os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return nil
	}
	return func(format string, args ...any) {
		text := fmt.Sprintf(format, args...)
		line := fmt.Sprintf("%s %d %.2000s\n", stamp.Record(time.Now()), os.Getpid(), text)
		if info, err := os.Stat(path); err == nil && info.Size()+int64(len(line)) > maxLog {
			rotate(path, int64(len(line)))
		}
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return
		}
		defer f.Close()
		f.WriteString(line)
	}
}

// rotate moves a full log aside. Under a lock, and looked at again there, for two
// servers may find it full at once.
func rotate(path string, more int64) {
	unlock, err := disk.Lock(context.Background(), path+".lock", time.Second)
	if err != nil {
		return
	}
	defer unlock()
	if info, err := os.Stat(path); err != nil || info.Size()+more <= maxLog {
		return
	}
	if os.Remove(path + ".1"); disk.MoveNew(path, path+".1") != nil {
		os.Truncate(path, 0) // better no history than no bound
	}
}
