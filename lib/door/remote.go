package door

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/remote"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/wake"
)

// elsewhere reports whether a space is named by the URL of a proxy.
func elsewhere(space string) bool {
	return strings.HasPrefix(space, "https://") || strings.HasPrefix(space, "http://")
}

// remote opens the space behind a proxy, with every key for it that is here.
func (f Flags) remote(raw string) (*Door, error) {
	url, err := keyring.Base(raw)
	if err != nil {
		return nil, err
	}
	machine, err := home.Open()
	if err != nil {
		return nil, err
	}
	label, packets, err := machine.At(url)
	if err != nil {
		return nil, err
	}
	if len(packets) == 0 {
		return nil, fault.New(fault.NotASpace, "not joined on this machine: %q", url).
			WithHint("substrate-join --packet FILE, with the file the host made with substrate-key")
	}
	return f.away(label, packets), nil
}

// away returns the door to a space on another machine.
func (f Flags) away(label string, packets []keyring.Packet) *Door {
	url := packets[0].URL
	hello := remote.Hello{URL: url}
	s := &remote.Store{URL: url}
	for _, p := range packets {
		s.Keys = append(s.Keys, remote.Key{Name: p.Name, Key: p.Key})
		hello.CA += p.CA // a newer one may have a newer certificate
	}
	s.Carrier = &remote.Children{Hello: hello}
	return &Door{
		Rooms: room.Rooms{Store: s, MaxBody: f.Body, Label: func(string) string { return label }},
		Root:  url,
	}
}

// remotes opens the spaces on other machines.
func remotes(machine home.Home) (doors []*Door, bad []error, err error) {
	all, bad, err := machine.Remotes()
	for i := 0; i < len(all); {
		var packets []keyring.Packet
		label := all[i].Label
		for ; i < len(all) && all[i].Label == label; i++ {
			packets = append(packets, all[i].Packet)
		}
		doors = append(doors, Flags{}.away(label, packets))
	}
	return doors, bad, err
}

// WokenBy is for who lives on: it says what the door's watches are woken by, and how
// long a lock is waited for, which 0 means not at all. Those of another machine are
// woken, and wait, there.
func (d *Door) WokenBy(hub *wake.Hub, wait time.Duration) {
	if !elsewhere(d.Root) {
		d.Store = keep(hub, wait)
	}
}

// maxPacket is the longest file that is read as a packet, in bytes.
const maxPacket = 1 << 20

// JoinRemote keeps a join packet, once its key was let in, and returns the record
// of the participant. label is what this machine is to call the space.
func JoinRemote(ctx context.Context, file, label string) (record.Participant, error) {
	p := record.Participant{Type: "participant"}
	data, err := disk.ReadFile(file, maxPacket)
	if err != nil {
		return p, fault.New(fault.BadInput, "%w", err)
	}
	packet, err := keyring.ParsePacket(data)
	if err != nil {
		return p, err
	}
	machine, err := home.Open()
	if err != nil {
		return p, err
	}
	d := Flags{}.away(label, []keyring.Packet{packet})
	members, err := d.Store.Members(ctx, d.Root)
	if err != nil {
		return p, err
	}
	owner, err := d.Store.(*remote.Store).Owner(ctx)
	if err != nil {
		return p, err
	}
	if owner != "" && owner != packet.Name {
		return p, fault.New(fault.BadInput, "not the key of %q but of %q: %q", packet.Name, owner, file)
	}
	p.Root, p.Name = d.Root, packet.Name
	for _, m := range members {
		if m.Name == p.Name {
			p.Kind = m.Kind
		}
	}
	_, err = machine.AddRemote(ctx, label, packet)
	return p, err
}

// away reports on a space that another machine keeps.
func away(ctx context.Context, d *Door) record.Finding {
	f := record.Finding{Type: "finding", Level: "ok", Check: "remote", Message: "reached " + d.Root}
	if _, err := d.Store.Members(ctx, d.Root); err != nil {
		why := fault.From(err)
		f.Level, f.Message, f.Fix = "fail", fmt.Sprintf("%s: %s", d.Root, why.Message), why.Hint
	}
	return f
}

// Served is the space that a proxy serves, as it is kept here.
func Served(f Flags) (*Door, *keyring.Ring, error) {
	if elsewhere(f.Space) {
		return nil, nil, fault.New(fault.Usage, "another machine keeps %q", f.Space).WithHint("run this on the host")
	}
	d, err := f.Open()
	if err != nil {
		return nil, nil, err
	}
	machine, err := home.Open()
	if err != nil {
		return nil, nil, err
	}
	d.WokenBy(wake.NewHub(0), f.Wait)
	return d, machine.Keys(d.Root), nil
}

// HasPacket reports whether a file is a join packet whose key is one of who's, and that
// only its owner can read.
func HasPacket(file string, keys *keyring.Ring, who string) bool {
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		return false
	}
	data, err := disk.ReadFile(file, maxPacket)
	if err != nil {
		return false
	}
	p, err := keyring.ParsePacket(data)
	return err == nil && keys.Owner(p.Key, keyring.Standing, time.Now()) == who
}

// WritePacket writes a join packet to a file that only its owner can read: to a new
// one or, with over, to the one that is there.
func WritePacket(file string, p keyring.Packet, over bool) error {
	if over {
		return disk.ReplaceLike(file, p.Encode())
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault.New(fault.Exists, "%w", err).WithHint("name another file with --packet, or remove it")
	}
	_, err = f.Write(p.Encode())
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(file) // half a packet is none
	}
	return err
}
