package notice

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/record"
)

// Delivered is what was put before the agent, and what it was done with. It is kept
// on disk, beside the channels, so that neither a restart nor a refresh brings back
// what was seen or dismissed.
type Delivered struct {
	Print    string             `json:"print"`    // of the snapshot that was put before it last
	Versions map[string]Version `json:"versions"` // of the channels in it
	Done     []string           `json:"done"`     // keys of what was dismissed; the newest
}

// maxDone is how many keys are remembered.
const maxDone = 512

// Delivered returns what was put before the agent. A file that cannot be read is as
// good as none: the agent is shown again what it may have seen.
func (s Store) Delivered() Delivered {
	var d Delivered
	data, err := disk.ReadFile(s.deliveredPath(), maxFile)
	if err != nil || json.Unmarshal(data, &d) != nil {
		return Delivered{}
	}
	return d
}

// Not the name of any channel: those begin with a letter or digit.
func (s Store) deliveredPath() string { return s.body.Path(body.NoticeDir, ".delivered.json") }

// Deliver notes that a snapshot was put before the agent. It is called after that
// has happened, never before.
func (s Store) Deliver(ctx context.Context, all Snapshot) error {
	if all.Print == s.Delivered().Print {
		return nil
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	d := s.Delivered()
	d.Print, d.Versions = all.Print, map[string]Version{}
	for _, c := range all.Channels {
		d.Versions[c.Name] = c.Version
	}
	return s.note(d)
}

// note writes what was delivered, under the lock.
func (s Store) note(d Delivered) error {
	line, err := record.Encode(d)
	if err != nil {
		return err
	}
	return disk.Replace(s.deliveredPath(), line)
}

// finish remembers that keys are done with, under the lock and before what they stand
// for is removed: the other way round, a crash in between would forget it.
func (s Store) finish(keys []string) error {
	keys = slices.DeleteFunc(keys, func(k string) bool { return k == "" })
	if len(keys) == 0 {
		return nil
	}
	d := s.Delivered()
	d.Done = append(slices.DeleteFunc(d.Done, func(k string) bool { return slices.Contains(keys, k) }), keys...)
	d.Done = d.Done[max(0, len(d.Done)-maxDone):]
	return s.note(d)
}

// follow notes, under the lock, that the agent itself turned a channel it had seen
// into another version: that is no news to it.
func (s Store) follow(channel string, from, to Version) error {
	d := s.Delivered()
	if d.Versions[channel] != from {
		return nil
	}
	d.Versions = maps.Clone(d.Versions)
	if d.Versions[channel] = to; to == "" {
		delete(d.Versions, channel)
	}
	return s.note(d)
}

// News returns the channels of a snapshot that are not as they were put before the
// agent. Where there is none, a snapshot with another print has only less in it.
func (d Delivered) News(all Snapshot) []Channel {
	var news []Channel
	for _, c := range all.Channels {
		if d.Versions[c.Name] != c.Version {
			news = append(news, c)
		}
	}
	return news
}
