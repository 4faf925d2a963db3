package notice

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// Store is the notifications of one agent.
type Store struct {
	body body.Body
	wait time.Duration
}

// LockWait is how long a change waits for the store's lock.
const LockWait = 10 * time.Second

// maxFile is the largest file that is read, in bytes.
const maxFile = 4 << 20

// Open returns a body's notifications. Nothing is made before there is one.
func Open(b body.Body) Store { return Store{b, LockWait} }

// Within returns the store with another bound on how long the lock is waited for.
func (s Store) Within(wait time.Duration) Store { return Store{s.body, wait} }

// Body returns whose notifications they are.
func (s Store) Body() body.Body { return s.body }

// Priorities, from the least.
const (
	Low    = "low"
	Normal = "normal"
	High   = "high"
)

func checkPriority(p string) error {
	if p != "" && p != Low && p != Normal && p != High {
		return fault.New(fault.BadInput, "priority is low, normal or high, not %q", p)
	}
	return nil
}

// Envelope is what a channel says.
type Envelope struct {
	Header       string
	Icon         string
	Priority     string // "" is normal
	Instructions string // left out when empty
	Data         any    // what the producer has to say; nil is null
	Seen         bool   // nothing in it is news to whoever was shown what it replaces; not written
}

// Channel is a channel as it stands.
type Channel struct {
	Name    string
	Version Version      // "" when it is not there
	Object  *body.Object // its content; empty when it is not there or malformed
	Err     error        // why it is malformed
}

// Data returns the channel's data, empty where it is no object.
func (c Channel) Data() *body.Object { return c.Object.Sub("data") }

// Wakes reports whether the channel is to wake an agent that sleeps: all do but an
// MCP server's that says it does not.
func (c Channel) Wakes() bool { return string(c.Data().Get("wake")) != "false" }

// Expect is a condition on the version of a channel.
type Expect struct {
	version *Version
}

// Any is no condition.
var Any = Expect{}

// Missing is the condition that a channel is not there.
var Missing = At("")

// At is the condition that a channel has this version.
func At(v Version) Expect { return Expect{&v} }

func (s Store) path(channel string) string {
	return s.body.Path(body.NoticeDir, channel+".json")
}

// Read returns a channel. One that is malformed reads as empty but has a version;
// any other failure to read is an error.
func (s Store) Read(channel string) (Channel, error) {
	c := Channel{Name: channel, Object: &body.Object{}}
	if err := CheckName(channel); err != nil {
		return c, err
	}
	data, err := disk.ReadFile(s.path(channel), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	c.Version = versionOf(data)
	if o, err := body.ParseObject(data); err != nil {
		c.Err = fault.New(fault.Corrupt, "%s: %w", s.path(channel), err)
	} else {
		c.Object = o
	}
	return c, nil
}

// Put makes an envelope the content of a channel, which must be one of the known,
// whatever was there. It refuses with stale when the channel is not as expected.
func (s Store) Put(
	ctx context.Context, channel string, expect Expect, e Envelope, now time.Time,
) (Channel, error) {
	keep := func(*body.Object) (Envelope, bool, error) { return e, true, nil }
	return s.Update(ctx, channel, expect, now, keep)
}

// Update changes a channel: mutate gets its data as it is and returns what it is to
// say, or false to remove it. When the channel is not as expected mutate is not
// called and the error has the code stale. An error of mutate is returned unchanged,
// and nothing is written. Keys of the envelope that we do not know stay as they are.
func (s Store) Update(
	ctx context.Context, channel string, expect Expect, now time.Time,
	mutate func(data *body.Object) (e Envelope, keep bool, err error),
) (Channel, error) {
	if err := CheckKnown(channel); err != nil {
		return Channel{}, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return Channel{}, err
	}
	defer unlock()
	c, err := s.Read(channel)
	if err != nil {
		return c, err
	}
	if err := expect.check(c); err != nil {
		return c, err
	}
	e, keep, err := mutate(c.Data())
	if err != nil {
		return c, err
	}
	then := Channel{Name: channel, Object: &body.Object{}}
	if keep {
		then, err = s.write(c, e, now)
	} else {
		err = s.remove(channel)
	}
	if err == nil && e.Seen {
		err = s.follow(channel, c.Version, then.Version)
	}
	return then, err
}

func (x Expect) check(c Channel) error {
	if x.version == nil || *x.version == c.Version {
		return nil
	}
	return refuse(StaleVersion, c.Name, fault.Stale, "look at the channel again",
		"%q has changed: it is at version %q, not %q", c.Name, c.Version, *x.version)
}

// lock takes the store's lock, making its directory.
func (s Store) lock(ctx context.Context) (unlock func(), err error) {
	dir, err := s.body.Make(body.NoticeDir)
	if err != nil {
		return nil, err
	}
	return disk.Lock(ctx, filepath.Join(dir, ".store.lock"), s.wait)
}

// Snapshot is all channels at one moment.
type Snapshot struct {
	Channels []Channel // sorted by name; those that could be read
	Skipped  []error   // what is wrong with the others
	Print    string    // changes whenever a channel does; "" when there is none
}

// Snapshot returns all channels. One that is broken does not keep back the others.
func (s Store) Snapshot() (Snapshot, error) {
	var all Snapshot
	files, err := os.ReadDir(s.body.Path(body.NoticeDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return all, err
	}
	sum := sha256.New()
	for _, f := range files {
		channel, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok || CheckName(channel) != nil {
			continue
		}
		c, err := s.Read(channel)
		switch {
		case err != nil:
			all.Skipped = append(all.Skipped, err)
		case c.Err != nil:
			all.Skipped = append(all.Skipped, c.Err)
		case c.Version != "":
			all.Channels = append(all.Channels, c)
			fmt.Fprintf(sum, "%s %s\n", c.Name, c.Version)
		}
	}
	slices.SortFunc(all.Channels, func(a, b Channel) int { return strings.Compare(a.Name, b.Name) })
	if len(all.Channels) > 0 {
		all.Print = fmt.Sprintf("%x", sum.Sum(nil))
	}
	return all, nil
}

// write gives a channel a new content, and makes it known which version that is.
func (s Store) write(c Channel, e Envelope, now time.Time) (Channel, error) {
	if err := checkPriority(e.Priority); err != nil {
		return c, err
	}
	e.Priority = cmp.Or(e.Priority, Normal)
	for _, kv := range []struct {
		key   string
		value any
	}{
		{"header", e.Header}, {"icon", e.Icon}, {"priority", e.Priority}, {"published_at", stamp.Record(now)},
		{"instructions", e.Instructions}, {"data", e.Data},
	} {
		if kv.value == "" && kv.key == "instructions" {
			c.Object.Delete(kv.key)
		} else if err := c.Object.Set(kv.key, kv.value); err != nil {
			return c, fault.New(fault.BadInput, "not to be written as JSON: %w", err)
		}
	}
	data := c.Object.Compact()
	if len(data) > maxFile {
		return c, fault.New(fault.TooLarge, "channel %q: %d bytes, more than %d", c.Name, len(data), maxFile)
	}
	c.Version, c.Err = versionOf(data), nil
	return c, disk.Replace(s.path(c.Name), data)
}

// remove takes a channel away, for good: what was dismissed stays so when the
// machine fails.
func (s Store) remove(channel string) error {
	if err := disk.Remove(s.path(channel)); err != nil {
		return err
	}
	return disk.MakeDurable(s.body.Path(body.NoticeDir))
}
