package door

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
)

// Found makes a space of a directory and opens it. With register, this machine's
// crew is seeded in it and it is registered under label (empty: one made from the
// directory's name). This machine's files are read first, so that one that could
// not be changed later stops it before anything was made. bad says what was
// skipped in them.
func Found(ctx context.Context, dir, label string, me []store.Member, register bool) (d *Door, bad []error, err error) {
	if !register {
		d, err := found(dir, me)
		return d, nil, err
	}
	machine, err := home.Open()
	if err != nil {
		return nil, nil, err
	}
	if bad, err = machine.Available(label, dir); err != nil {
		return nil, bad, err
	}
	crew, worse, err := machine.Crew()
	bad = append(bad, worse...)
	if err != nil {
		return nil, bad, err
	}
	members := me
	for _, mate := range crew {
		if len(me) == 0 || mate.Name != me[0].Name {
			members = append(members, mate)
		}
	}
	if d, err = found(dir, members); err == nil {
		_, err = machine.Add(ctx, label, d.Root)
	}
	return d, bad, err
}

func found(dir string, members []store.Member) (*Door, error) {
	root, err := files.Init(dir, members)
	if err != nil {
		return nil, err
	}
	return Open(root)
}

// Join registers participants, all or none, and returns their records.
func (d *Door) Join(ctx context.Context, members ...store.Member) ([]record.Participant, error) {
	if _, err := d.Store.Register(ctx, d.Root, members); err != nil {
		return nil, err
	}
	var joined []record.Participant
	for _, m := range members {
		joined = append(joined, record.Participant{Type: "participant", Root: d.Root, Name: m.Name, Kind: m.Kind})
	}
	return joined, nil
}

// Space returns the space's record.
func (d *Door) Space(ctx context.Context) (record.Space, error) {
	s := record.Space{
		Type: "space", Root: d.Root, Label: d.Label(d.Root), Version: files.Version,
		Participants: []record.Member{},
	}
	members, err := d.Store.Members(ctx, d.Root)
	if err != nil {
		return s, err
	}
	for _, m := range members {
		s.Participants = append(s.Participants, record.Member(m))
	}
	for _, err := range d.Store.List(ctx, d.Root) {
		if err != nil {
			return s, err
		}
		s.Rooms++
	}
	return s, nil
}

// Show returns the record of a space, registered or not.
func Show(ctx context.Context, dir string) (record.Space, error) {
	d, err := Open(dir)
	if err != nil {
		return record.Space{}, err
	}
	return d.Space(ctx)
}

// Add registers a space on this machine and returns its record.
func Add(ctx context.Context, dir, label string) (record.Space, error) {
	machine, err := home.Open()
	if err != nil {
		return record.Space{}, err
	}
	if elsewhere(dir) {
		return record.Space{}, fault.New(fault.Usage, "on another machine: %q", dir).
			WithHint("substrate-join --packet FILE registers it here")
	}
	d, err := Open(dir)
	if err != nil {
		return record.Space{}, err
	}
	if _, err := machine.Add(ctx, label, d.Root); err != nil {
		return record.Space{}, err
	}
	return d.Space(ctx)
}

// Remove takes a space out of this machine's registry and returns its record,
// which says little about one that is gone.
func Remove(ctx context.Context, labelOrDir string) (record.Space, error) {
	gone := record.Space{Type: "space", Version: files.Version, Participants: []record.Member{}}
	machine, err := home.Open()
	if err != nil {
		return gone, err
	}
	if filepath.IsAbs(labelOrDir) || strings.HasPrefix(labelOrDir, ".") {
		if labelOrDir, err = filepath.Abs(labelOrDir); err != nil {
			return gone, err
		}
	}
	space, err := machine.Remove(ctx, labelOrDir)
	if fault.Is(err, fault.NotASpace) {
		space, err = machine.RemoveRemote(ctx, labelOrDir)
	}
	if err != nil {
		return gone, err
	}
	if d, err := Open(space.Root); err == nil {
		if known, err := d.Space(ctx); err == nil {
			gone = known
		}
	}
	gone.Root, gone.Label = space.Root, space.Label
	return gone, nil
}
