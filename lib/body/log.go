package body

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// Log appends events to logs/events.jsonl, the truth about an agent's life. It is
// safe for concurrent use, also by several processes.
type Log struct {
	body   Body
	name   string
	mu     sync.Mutex
	failed bool
}

// Log returns the body's log of events. name is the agent's, "" when it has none.
func (b Body) Log(name string) *Log { return &Log{body: b, name: name} }

// Append appends one event: a line of its type, the agent's address and name, the
// time, and its fields, in which secrets are redacted. Fields that are named like
// one of the first four are left out.
//
// A log that cannot be written costs one warning and never the agent: err is the
// first failure in a row, and nil for those that follow it.
func (l *Log) Append(now time.Time, kind string, fields map[string]any) (err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	err = l.write(now, kind, fields)
	said := l.failed
	l.failed = err != nil
	if err == nil || said {
		return nil
	}
	return fault.New(fault.From(err).Code, "events are not logged: %w", err)
}

func (l *Log) write(now time.Time, kind string, fields map[string]any) error {
	o := &Object{}
	err := setAll(o, "type", kind, "address", l.body.Address(), "agent_name", nullable(l.name),
		"ts", json.RawMessage(WallSeconds(now)))
	if err != nil {
		return err
	}
	rest, err := plain(fields)
	if err != nil {
		return err
	}
	for _, key := range sortedKeys(rest) {
		if o.Get(key) == nil {
			if err := o.Set(key, rest[key]); err != nil {
				return err
			}
		}
	}
	return l.body.AppendLine(EventsFile, o.Compact())
}

// plain returns a redacted copy of fields in the types of encoding/json.
func plain(fields map[string]any) (map[string]any, error) {
	line, err := record.Encode(fields)
	if err != nil {
		return nil, err
	}
	var v map[string]any
	if err := json.Unmarshal(line, &v); err != nil {
		return nil, err
	}
	return Redacted(v).(map[string]any), nil
}

// AppendLine appends one line to a file below the agent's directory, in one write.
// What another writer left without a newline, when it died or the disk was full,
// stays a line of its own, which readers skip.
func (b Body) AppendLine(rel string, line []byte) error {
	if _, err := b.Make(filepath.Dir(rel)); err != nil {
		return err
	}
	path := b.Path(rel)
	// It also makes a file that is to be shared the way its directory is.
	if err := disk.MakeLock(path); err != nil {
		return err
	}
	f, err := disk.Append(path)
	if err != nil {
		return err
	}
	line = append(line, '\n')
	if torn(f) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// torn reports whether a file's last line has no end.
func torn(f *os.File) bool {
	end, err := f.Seek(-1, io.SeekEnd)
	if err != nil { // it is empty
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, end)
	return err == nil && last[0] != '\n'
}
