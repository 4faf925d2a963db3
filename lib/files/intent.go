package files

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"path/filepath"

	"gopkg.in/yaml.v3"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// An intent says what a post is about to make of a room, so that whoever comes
// after a crash can tell how far it got. The keys are in the order of the format.
type intent struct {
	Version int    `yaml:"version"`
	Entry   string `yaml:"entry"`
	Before  string `yaml:"before_config_sha256"`
	After   string `yaml:"after_config_sha256"`
	Config  text   `yaml:"after_config"`
}

// text is a string that keeps its line ends: YAML reads those of a block as \n,
// so one with others is quoted.
type text string

// MarshalYAML chooses the style.
func (t text) MarshalYAML() (any, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: string(t), Style: yaml.LiteralStyle}
	var back string
	if b, err := yaml.Marshal(n); err != nil || yaml.Unmarshal(b, &back) != nil || back != string(t) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n, nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func newIntent(entry string, before, after []byte) intent {
	return intent{Version, entry, digest(before), digest(after), text(after)}
}

func (in intent) encode() ([]byte, error) { return yaml.Marshal(in) }

// pointer is where a post in flight, or an interrupted one, is to be found.
func (r room) pointer() string { return filepath.Join(r.tx, ".pending.yaml") }

func (r room) intent(entry string) string {
	return filepath.Join(r.tx, transcript.ID(entry)+".yaml")
}

func (r room) marker(entry, outcome string) string {
	return filepath.Join(r.tx, transcript.ID(entry)+"."+outcome)
}

const (
	committed = "committed"
	aborted   = "aborted"
)

func marker(entry, outcome string) []byte {
	b, _ := yaml.Marshal(struct {
		Entry   string `yaml:"entry"`
		Outcome string `yaml:"outcome"`
	}{entry, outcome})
	return b
}

// pending returns what the pointer holds, nil when there is none.
func (r room) pending() ([]byte, error) {
	data, err := readRecord(r.pointer())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, r.wedged("the pending record cannot be read: %w", err)
	}
	return data, nil
}

// parseIntent refuses a record that nothing may be done about.
func (r room) parseIntent(data []byte) (intent, error) {
	var in intent
	err := yaml.Unmarshal(data, &in)
	_, named := transcript.ParseName(in.Entry)
	switch {
	case errors.As(err, new(*yaml.TypeError)):
		return in, r.wedged("the pending record is not one")
	case err != nil:
		return in, r.wedged("the pending record does not parse: %w", err)
	case len(bytes.TrimSpace(data)) == 0:
		return in, r.wedged("the pending record is empty")
	case in.Version != Version:
		return in, r.wedged("the pending record has version %d", in.Version)
	case !named:
		return in, r.wedged("the pending record names no entry: %q", in.Entry)
	case digest([]byte(in.Config)) != in.After:
		return in, r.wedged("the pending record of %q does not hash to what it says", in.Entry)
	}
	return in, nil
}

// wedged is a refusal to go on from an interrupted post.
func (r room) wedged(format string, args ...any) error {
	err := fault.New(fault.Corrupt, format, args...)
	err.Message = "interrupted post cannot be finished: " + err.Message
	return err.In(r.Room).WithHint("%s: substrate-doctor shows the ways out", r.pointer())
}

// A verdict is what is left to be done about an interrupted post.
type verdict int

const (
	nothing verdict = iota // nothing is pending
	cleared                // it was decided: the pointer goes
	undone                 // no entry was published: aborted
	advance                // the entry is there, the config is not yet: replace it
	done                   // both are there: committed
)

// judge decides from what is on disk, without changing anything, by the table of
// section 5 of the format.
func (r room) judge(pending, config []byte) (verdict, intent, error) {
	if pending == nil {
		return nothing, intent{}, nil
	}
	in, err := r.parseIntent(pending)
	if err != nil {
		return nothing, in, err
	}
	if kept, err := readRecord(r.intent(in.Entry)); err == nil && !bytes.Equal(kept, pending) {
		return nothing, in, r.wedged("the intent of %q and the pending record differ", in.Entry)
	}
	if disk.Exists(r.marker(in.Entry, committed)) || disk.Exists(r.marker(in.Entry, aborted)) {
		return cleared, in, nil
	}
	published := disk.Exists(filepath.Join(r.dir, in.Entry))
	switch now := digest(config); {
	case !published && now == in.Before:
		return undone, in, nil
	case published && now == in.After:
		return done, in, nil
	case published && now == in.Before:
		return advance, in, nil
	case published:
		return nothing, in, r.wedged("entry %q is there, but config.yaml is neither as before nor as after it", in.Entry)
	}
	return nothing, in, r.wedged("entry %q is not there, but config.yaml is not as before it", in.Entry)
}

// recover finishes what an interrupted post left. The caller holds the lock. It
// returns the config as it is then.
func (r room) recover(config []byte) ([]byte, error) {
	pending, err := r.pending()
	if err != nil {
		return nil, err
	}
	v, in, err := r.judge(pending, config)
	if err != nil || v == nothing {
		return config, err
	}
	if !disk.Exists(r.intent(in.Entry)) {
		if err := disk.Create(r.intent(in.Entry), pending); err != nil {
			return nil, err
		}
	}
	outcome := committed
	switch v {
	case undone:
		outcome = aborted
	case advance:
		config = []byte(in.Config)
		if err := disk.Replace(r.config, config); err != nil {
			return nil, err
		}
	case done:
		// Both are seen, but nobody has said that their names are durable.
		if err := disk.SyncDir(r.dir); err != nil {
			return nil, err
		}
	}
	if v != cleared {
		if err := disk.Create(r.marker(in.Entry, outcome), marker(in.Entry, outcome)); err != nil {
			return nil, err
		}
	}
	// The marker is durable, so the pointer may go.
	return config, disk.Remove(r.pointer())
}

// afterwards returns the state that an entry left the room in, where its intent
// is still there to tell.
func (r room) afterwards(entry string) floor.State {
	data, err := readRecord(r.intent(entry))
	if err != nil {
		return floor.State{}
	}
	in, err := r.parseIntent(data)
	if err != nil {
		return floor.State{}
	}
	_, state, _ := parseState(r.intent(entry), []byte(in.Config))
	return state
}
