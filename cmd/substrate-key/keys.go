package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
	"github.com/substrate-tools/substrate/lib/tool"
)

// keys are the keys of a space and what a program was asked about them.
type keys struct {
	c             *tool.Call
	door          *door.Door
	ring          *keyring.Ring
	url, file, ca *string
	show, text    *bool
}

// do does one operation.
func (k keys) do(ctx context.Context, operands []string) error {
	op := operands[0]
	if op == "list" && len(operands) == 1 {
		return k.list()
	}
	if len(operands) != 2 {
		return k.c.Misuse("unknown operation, or an operand too few or too many: %q", op)
	}
	switch who := operands[1]; op {
	case "make", "rotate":
		return k.packet(ctx, op, who)
	case "link":
		return k.link(ctx, who)
	case "revoke":
		return k.revoke(ctx, who)
	}
	return k.c.Misuse("unknown operation: %q", op)
}

// maxCA is the longest certificate file, in bytes.
const maxCA = 64 << 10

// packet makes a key and the packet that holds it. The key is valid once the packet
// is written.
func (k keys) packet(ctx context.Context, op, who string) error {
	p, err := k.blank(ctx, who)
	if err != nil {
		return err
	}
	file := *k.file
	if file == "" {
		file = name.Component(who) + ".packet"
	}
	r := record.Key{
		Type: "key", Root: k.door.Root, Name: who, Kind: "key", CreatedAt: stamp.Record(time.Now()), URL: p.URL, Packet: file,
	}
	// The packet of the key that ends makes way for the next one, and nothing else does.
	over := op == "rotate" && door.HasPacket(file, k.ring, who)
	deliver := func(key string) error {
		sum := sha256.Sum256([]byte(key))
		r.Hash = hex.EncodeToString(sum[:4])
		if p.Key = key; !*k.show {
			return door.WritePacket(file, p, over)
		}
		_, err := k.c.Writer().Write(p.Encode())
		return err
	}
	if op == "rotate" {
		err = k.ring.Rotate(ctx, who, time.Now(), deliver)
	} else {
		err = k.ring.Make(ctx, who, time.Now(), deliver)
	}
	if err != nil || *k.show {
		return err
	}
	return k.c.Show(*k.text, r)
}

// blank returns a packet without a key.
func (k keys) blank(ctx context.Context, who string) (keyring.Packet, error) {
	p := keyring.Packet{Version: keyring.PacketVersion, Name: who, Space: k.door.Label(k.door.Root)}
	p.Note = "Keep this file to yourself: whoever has it is " + who + ". Join with: substrate-join --packet FILE"
	err := k.door.Known(ctx, k.door.Root, who)
	if err == nil {
		p.URL, err = keyring.Base(*k.url)
	}
	if err == nil && *k.ca != "" {
		var pem []byte
		if pem, err = disk.ReadFile(*k.ca, maxCA); err != nil {
			err = fault.New(fault.BadInput, "%w", err)
		}
		p.CA = string(pem)
	}
	return p, err
}

// link prints an address for the page, which is the only place it is shown.
func (k keys) link(ctx context.Context, who string) error {
	if err := k.door.Known(ctx, k.door.Root, who); err != nil {
		return err
	}
	base, err := keyring.Base(*k.url)
	if err != nil {
		return err
	}
	key, err := k.ring.Link(ctx, who, time.Now())
	if err != nil {
		return err
	}
	return k.c.Printf("%s/enter?link=%s\n", base, key)
}

func (k keys) revoke(ctx context.Context, who string) error {
	if err := k.ring.Revoke(ctx, who, time.Now()); err != nil {
		return err
	}
	return k.c.Show(*k.text, record.Key{Type: "key", Root: k.door.Root, Name: who, Kind: "revoked"})
}

// list tells who has which keys, by the first digits of their hashes.
func (k keys) list() error {
	all, err := k.ring.List()
	if err != nil {
		return err
	}
	for _, key := range all {
		r := record.Key{
			Type: "key", Root: k.door.Root, Name: key.Name, Kind: string(key.Kind), Hash: hex.EncodeToString(key.Hash[:4]),
		}
		for at, text := range map[*string]time.Time{&r.CreatedAt: key.Created, &r.ExpiresAt: key.Expires} {
			if !text.IsZero() {
				*at = stamp.Record(text)
			}
		}
		if err := k.c.Show(*k.text, r); err != nil {
			return err
		}
	}
	return nil
}
