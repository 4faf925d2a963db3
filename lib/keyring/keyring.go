// Package keyring keeps the capabilities that let participants in from elsewhere:
// who has a key acts as its owner and nobody else. Only hashes are kept, one a
// line, in a file beside this machine's others; the file is looked at anew at
// each use, so that a key that was revoked is dead at once.
package keyring

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// Kind says what a key opens.
type Kind string

// The kinds of keys.
const (
	Standing Kind = "key"     // of programs and couriers; until it is revoked
	Link     Kind = "link"    // opens one session of a browser, once
	Session  Kind = "session" // of a browser
)

// How long the short-lived kinds last.
const (
	LinkLife    = 24 * time.Hour
	SessionLife = 30 * 24 * time.Hour
)

// Key is what is known of a key.
type Key struct {
	Name    string // of its owner
	Hash    [sha256.Size]byte
	Kind    Kind
	Created time.Time // zero when not known
	Expires time.Time // zero: never
}

// prefix begins every key, for whoever searches texts for secrets.
const prefix = "subkey_"

// Ring is a file of keys. It may be used by several goroutines at once.
type Ring struct {
	path  string
	mu    sync.Mutex
	keys  []Key
	print disk.Print // of the file the keys were read from
	sure  bool       // any later change has another print
}

// Open returns the keys in a file, which need not exist.
func Open(path string) *Ring { return &Ring{path: path} }

// Read returns the keys in a file that has some, and all of whose lines are good.
func Read(path string) (*Ring, error) {
	r := Open(path)
	keys, err := r.List()
	switch {
	case err != nil:
		return nil, fault.New(fault.BadInput, "%w", err)
	case len(keys) == 0:
		return nil, fault.New(fault.BadInput, "no key in %q", path)
	}
	return r, nil
}

// Path returns where the keys are.
func (r *Ring) Path() string { return r.path }

// maxFile is the largest file of keys that is read, in bytes.
const maxFile = 4 << 20

// Owner returns whose key of a kind it is, "" when it is nobody's. Every hash is
// looked at, whichever fits, in a time that depends on none of them.
func (r *Ring) Owner(key string, kind Kind, now time.Time) (who string) {
	k, ok := find(r.current(), key, kind, now)
	if !ok {
		return ""
	}
	return k.Name
}

func find(keys []Key, key string, kind Kind, now time.Time) (found Key, ok bool) {
	sum := sha256.Sum256([]byte(key))
	for _, k := range keys {
		if subtle.ConstantTimeCompare(sum[:], k.Hash[:]) == 1 && k.Kind == kind && k.lives(now) {
			found, ok = k, true
		}
	}
	return found, ok
}

func (k Key) lives(now time.Time) bool { return k.Expires.IsZero() || now.Before(k.Expires) }

// current returns the keys as they are now. A bad line lets nobody in, and keeps
// nobody out.
func (r *Ring) current() []Key {
	r.mu.Lock()
	defer r.mu.Unlock()
	print := disk.PrintAt(r.path)
	if !r.sure || print != r.print {
		r.keys, _ = r.read()
		r.print, r.sure = print, print.Quiet(0)
	}
	return r.keys
}

// List returns the keys, and what is wrong with the first bad line.
func (r *Ring) List() ([]Key, error) { return r.read() }

func (r *Ring) read() ([]Key, error) {
	data, err := disk.ReadFile(r.path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return parse(r.path, data)
}

func parse(path string, data []byte) (keys []Key, bad error) {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		k, err := parseKey(fields)
		if err == nil {
			keys = append(keys, k)
		} else if bad == nil {
			bad = fault.New(fault.BadInput, "%s:%d: %w", path, n, err).
				WithHint("a line is a name and the SHA-256 of a key in hex: printf %%s \"$KEY\" | sha256sum")
		}
	}
	if err := lines.Err(); err != nil && bad == nil {
		bad = fault.New(fault.BadInput, "%s: %w", path, err)
	}
	return keys, bad
}

// parseKey reads a line: name and hash, and what kind of key it is, when it was
// made and when it ends, where it says so.
func parseKey(fields []string) (k Key, err error) {
	k = Key{Name: fields[0], Kind: Standing}
	if err := name.Check("participant", k.Name); err != nil {
		return k, err
	}
	if len(fields) < 2 || len(fields) > 5 {
		return k, errors.New("not a name and a hash")
	}
	sum, err := hex.DecodeString(fields[1])
	if err != nil || len(sum) != len(k.Hash) {
		return k, errors.New("not the SHA-256 of a key in hex")
	}
	copy(k.Hash[:], sum)
	if len(fields) > 2 {
		k.Kind = Kind(fields[2])
	}
	if !slices.Contains([]Kind{Standing, Link, Session}, k.Kind) {
		return k, errors.New("unknown kind of key")
	}
	for i, at := range []*time.Time{&k.Created, &k.Expires} {
		if len(fields) > 3+i {
			if *at, err = time.Parse(time.RFC3339, fields[3+i]); err != nil {
				return k, errors.New("not a time")
			}
		}
	}
	return k, nil
}

func (k Key) line() string {
	fields := []string{k.Name, hex.EncodeToString(k.Hash[:]), string(k.Kind)}
	for _, at := range []time.Time{k.Created, k.Expires} {
		if !at.IsZero() {
			fields = append(fields, stamp.Record(at))
		}
	}
	return strings.Join(fields, " ") + "\n"
}

// change edits the keys under the file's lock. A file with a bad line is left
// alone: a key is not lost to a slip of whoever edited it by hand. Keys that have
// ended go.
func (r *Ring) change(ctx context.Context, now time.Time, edit func([]Key) ([]Key, error)) error {
	dir := filepath.Dir(r.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := disk.Lock(ctx, filepath.Join(dir, "."+filepath.Base(r.path)+".lock"), 10*time.Second)
	if err != nil {
		return err
	}
	defer unlock()
	keys, err := r.read()
	if err != nil {
		return err
	}
	keys = slices.DeleteFunc(keys, func(k Key) bool { return !k.lives(now) })
	if keys, err = edit(keys); err != nil {
		return err
	}
	var out strings.Builder
	out.WriteString("# hashes of keys, kept by substrate-key: name, SHA-256, kind, made, ends\n")
	for _, k := range keys {
		out.WriteString(k.line())
	}
	return disk.Replace(r.path, []byte(out.String()))
}

// fresh returns a new key of 256 random bits and what is kept of it.
func fresh(who string, kind Kind, now time.Time, life time.Duration) (string, Key) {
	var bits [32]byte
	rand.Read(bits[:]) // never fails
	key := prefix + base64.RawURLEncoding.EncodeToString(bits[:])
	k := Key{Name: who, Hash: sha256.Sum256([]byte(key)), Kind: kind, Created: now}
	if life > 0 {
		k.Expires = now.Add(life)
	}
	return key, k
}

// Make makes a standing key for somebody who has none yet; else it refuses with
// exists. The key is valid once deliver has put it where it is kept, and Make has
// returned without an error.
func (r *Ring) Make(ctx context.Context, who string, now time.Time, deliver func(key string) error) error {
	return r.change(ctx, now, func(keys []Key) ([]Key, error) {
		if has(keys, who) {
			return nil, fault.New(fault.Exists, "has a key already: %q", who).
				WithHint("substrate-key rotate %s --url URL ends it and makes another", who)
		}
		key, k := fresh(who, Standing, now, 0)
		return append(keys, k), deliver(key)
	})
}

func has(keys []Key, who string) bool {
	return slices.ContainsFunc(keys, func(k Key) bool { return k.Name == who && k.Kind == Standing })
}

// Link returns a key that opens one session of a browser for somebody, once and
// within LinkLife.
func (r *Ring) Link(ctx context.Context, who string, now time.Time) (key string, err error) {
	err = r.change(ctx, now, func(keys []Key) ([]Key, error) {
		var k Key
		key, k = fresh(who, Link, now, LinkLife)
		return append(keys, k), nil
	})
	return key, err
}

// Redeem turns the key of a link into that of a session, once, and refuses any
// other with denied.
func (r *Ring) Redeem(ctx context.Context, link string, now time.Time) (key, who string, err error) {
	err = r.change(ctx, now, func(keys []Key) ([]Key, error) {
		used, ok := find(keys, link, Link, now)
		if !ok {
			return nil, fault.New(fault.Denied, "this link was used, has ended or never was").
				WithHint("ask for another one")
		}
		keys = slices.DeleteFunc(keys, func(k Key) bool { return k == used })
		var k Key
		key, k = fresh(used.Name, Session, now, SessionLife)
		who = used.Name
		return append(keys, k), nil
	})
	return key, who, err
}

// Rotate ends everything somebody has and makes a new standing key, as Make does.
// Without anything before it refuses with unknown_participant.
func (r *Ring) Rotate(ctx context.Context, who string, now time.Time, deliver func(key string) error) error {
	return r.change(ctx, now, func(keys []Key) ([]Key, error) {
		rest, err := without(keys, who)
		if err != nil {
			return nil, err
		}
		key, k := fresh(who, Standing, now, 0)
		return append(rest, k), deliver(key)
	})
}

// Revoke ends everything somebody has, links and sessions included.
func (r *Ring) Revoke(ctx context.Context, who string, now time.Time) error {
	return r.change(ctx, now, func(keys []Key) ([]Key, error) { return without(keys, who) })
}

// End ends one key: a browser that leaves.
func (r *Ring) End(ctx context.Context, key string, now time.Time) error {
	sum := sha256.Sum256([]byte(key))
	return r.change(ctx, now, func(keys []Key) ([]Key, error) {
		return slices.DeleteFunc(keys, func(k Key) bool { return k.Hash == sum }), nil
	})
}

func without(keys []Key, who string) ([]Key, error) {
	rest := slices.DeleteFunc(slices.Clone(keys), func(k Key) bool { return k.Name == who })
	if len(rest) == len(keys) {
		return nil, fault.New(fault.UnknownParticipant, "has no key: %q", who).
			WithHint("substrate-key list names who has one")
	}
	return rest, nil
}
