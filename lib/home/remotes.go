package home

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/name"
)

// Keys returns the keys that let others into a space from elsewhere.
func (h Home) Keys(root string) *keyring.Ring {
	sum := sha256.Sum256([]byte(root))
	return keyring.Open(filepath.Join(h.dir, "keys", hex.EncodeToString(sum[:8])))
}

// Remote is a participant of a space on another machine whose key is here.
type Remote struct {
	Label  string
	Packet keyring.Packet
}

// A packet is kept in a file of its own, under the label of its space and the
// name of its participant, readable by its owner only.
const remotes = "remotes"

func (r Remote) file() string {
	return name.Component(r.Label) + "__" + name.Component(r.Packet.Name) + ".json"
}

// Remotes returns the packets that were joined with, in the order of their labels.
// bad says of each that was skipped what is wrong with it.
func (h Home) Remotes() (all []Remote, bad []error, err error) {
	files, err := os.ReadDir(filepath.Join(h.dir, remotes))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		label, _, parted := strings.Cut(id, "__")
		if !ok || !parted || strings.HasPrefix(id, ".") {
			continue
		}
		r := Remote{}
		data, lost := disk.ReadFile(filepath.Join(h.dir, remotes, f.Name()), maxFile)
		if lost == nil {
			r.Packet, lost = keyring.ParsePacket(data)
		}
		if r.Label, ok = name.FromComponent(label); !ok && lost == nil {
			lost = fault.New(fault.InvalidName, "not a label")
		}
		if lost != nil {
			bad = append(bad, fmt.Errorf("%s: %w", filepath.Join(h.dir, remotes, f.Name()), lost))
			continue
		}
		all = append(all, r)
	}
	return all, bad, err
}

// At returns the packets of the space at a URL, which are none where nobody here
// has joined it.
func (h Home) At(url string) (label string, packets []keyring.Packet, err error) {
	all, _, err := h.Remotes()
	for _, r := range all {
		if r.Packet.URL == url {
			label = r.Label
			packets = append(packets, r.Packet)
		}
	}
	return label, packets, err
}

// AddRemote keeps a packet, in place of an older one of the same participant there,
// and returns the label of its space. An empty label is made from what the host
// calls it; one that another space has is refused with exists.
func (h Home) AddRemote(ctx context.Context, label string, p keyring.Packet) (string, error) {
	if label != "" {
		if err := name.Check("space", label); err != nil {
			return "", err
		}
	}
	err := h.remote(ctx, func(all []Remote, taken map[string]string) error {
		for _, r := range all {
			if r.Packet.URL == p.URL {
				if label != "" && label != r.Label {
					return fault.New(fault.Exists, "joined already as %q: %q", r.Label, p.URL)
				}
				label = r.Label
			}
			taken[r.Label] = r.Packet.URL
		}
		if at, ok := taken[label]; ok && at != p.URL {
			return fault.New(fault.Exists, "label taken: %q is %s", label, at)
		}
		if label == "" {
			label = fresh(called(p), taken)
		}
		return disk.Replace(filepath.Join(h.dir, remotes, Remote{label, p}.file()), p.Encode())
	})
	return label, err
}

// called returns what a label is made from.
func called(p keyring.Packet) string {
	if p.Space != "" {
		return p.Space
	}
	u, err := url.Parse(p.URL)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// RemoveRemote forgets the packets of a space, by its label or its URL, and returns
// what it was.
func (h Home) RemoveRemote(ctx context.Context, labelOrURL string) (Space, error) {
	var gone Space
	err := h.remote(ctx, func(all []Remote, _ map[string]string) error {
		for _, r := range all {
			if r.Label != labelOrURL && r.Packet.URL != labelOrURL {
				continue
			}
			gone = Space{r.Label, r.Packet.URL}
			if err := disk.Remove(filepath.Join(h.dir, remotes, r.file())); err != nil {
				return err
			}
		}
		if gone.Label == "" {
			return fault.New(fault.NotASpace, "not registered: %q", labelOrURL)
		}
		return nil
	})
	return gone, err
}

// remote changes the packets under their lock. taken is which labels spaces of
// this machine have.
func (h Home) remote(ctx context.Context, change func(all []Remote, taken map[string]string) error) error {
	dir := filepath.Join(h.dir, remotes)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	unlock, err := disk.Lock(ctx, filepath.Join(dir, ".lock"), 10*time.Second)
	if err != nil {
		return err
	}
	defer unlock()
	all, _, err := h.Remotes()
	if err != nil {
		return err
	}
	spaces, _, err := h.Spaces()
	if err != nil {
		return err
	}
	taken := map[string]string{}
	for _, s := range spaces {
		taken[s.Label] = s.Root
	}
	return change(all, taken)
}
