package mail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

func (x Box) contactRecord(o *body.Object) record.Contact {
	return record.Contact{
		Type: "contact", Dir: x.body.Dir(), Address: o.Text("address"), Name: o.Text("name"), Note: o.Text("note"),
	}
}

// parseContacts reads contacts.json: a list of objects, of which each is kept with
// what it says besides.
func parseContacts(data []byte) ([]*body.Object, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, err
	}
	all := make([]*body.Object, len(raw))
	for i, one := range raw {
		o, err := body.ParseObject(one)
		if err != nil {
			return nil, fmt.Errorf("contact %d: %w", i+1, err)
		}
		all[i] = o
	}
	return all, nil
}

func (x Box) rawContacts() ([]*body.Object, error) {
	data, err := disk.ReadFile(x.path(contactsFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all, err := parseContacts(data)
	if err != nil {
		return nil, fault.New(fault.Corrupt, "%s: %w", x.path(contactsFile), err).WithHint("mend the file by hand")
	}
	return all, nil
}

// Contacts returns the list of contacts, in its order.
func (x Box) Contacts() ([]record.Contact, error) {
	raw, err := x.rawContacts()
	all := make([]record.Contact, len(raw))
	for i, o := range raw {
		all[i] = x.contactRecord(o)
	}
	return all, err
}

// Change says which parts of a contact are to be changed; nil leaves one as it is.
type Change struct{ Name, Note *string }

// AddContact puts somebody on the list, or changes who is there under that address.
func (x Box) AddContact(ctx context.Context, address string, c Change) (record.Contact, error) {
	if err := CheckAddress(address, true); err != nil {
		return record.Contact{}, err
	}
	return x.contact(ctx, address, func(all []*body.Object, i int) ([]*body.Object, *body.Object, error) {
		if i < 0 {
			o := &body.Object{}
			if err := set(o, "address", address, "name", "", "note", ""); err != nil {
				return nil, nil, err
			}
			all, i = append(all, o), len(all)
		}
		return all, all[i], c.apply(all[i])
	})
}

// EditContact changes somebody who is on the list.
func (x Box) EditContact(ctx context.Context, address string, c Change) (record.Contact, error) {
	return x.contact(ctx, address, func(all []*body.Object, i int) ([]*body.Object, *body.Object, error) {
		if i < 0 {
			return nil, nil, unknownContact(address)
		}
		return all, all[i], c.apply(all[i])
	})
}

// RemoveContact takes somebody off the list.
func (x Box) RemoveContact(ctx context.Context, address string) (record.Contact, error) {
	r, err := x.contact(ctx, address, func(all []*body.Object, i int) ([]*body.Object, *body.Object, error) {
		if i < 0 {
			return nil, nil, unknownContact(address)
		}
		gone := all[i]
		return slices.Delete(all, i, i+1), gone, nil
	})
	r.Removed = err == nil
	return r, err
}

func unknownContact(address string) error {
	return fault.New(fault.UnknownParticipant, "no such contact: %.150q", address).
		WithHint("substrate-mail contacts lists them, by their address")
}

func (c Change) apply(o *body.Object) error {
	if c.Name != nil {
		if !plain(*c.Name) {
			return fault.New(fault.BadInput, "a name is one line: %.150q", *c.Name)
		}
		if err := o.Set("name", *c.Name); err != nil {
			return err
		}
	}
	if c.Note != nil {
		return o.Set("note", *c.Note)
	}
	return nil
}

// contact changes the list under the mailbox's lock. change gets the list and where
// in it an address is, -1 for nowhere, and returns the list and the contact in
// question.
func (x Box) contact(
	ctx context.Context, address string,
	change func(all []*body.Object, i int) ([]*body.Object, *body.Object, error),
) (record.Contact, error) {
	unlock, err := x.lock(ctx)
	if err != nil {
		return record.Contact{}, err
	}
	defer unlock()
	all, err := x.rawContacts()
	if err != nil {
		return record.Contact{}, err
	}
	i := slices.IndexFunc(all, func(o *body.Object) bool { return o.Text("address") == address })
	all, who, err := change(all, i)
	if err != nil {
		return record.Contact{}, err
	}
	return x.contactRecord(who), disk.Replace(x.path(contactsFile), list(all))
}

// list writes objects as a list, indented as the files of an agent are.
func list(all []*body.Object) []byte {
	var flat, b bytes.Buffer
	flat.WriteByte('[')
	for i, o := range all {
		if i > 0 {
			flat.WriteByte(',')
		}
		flat.Write(o.Compact())
	}
	flat.WriteByte(']')
	if err := json.Indent(&b, flat.Bytes(), "", "  "); err != nil {
		return flat.Bytes() // cannot be: each was parsed
	}
	return append(b.Bytes(), '\n')
}

// set sets keys, which alternate with their values.
func set(o *body.Object, pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := o.Set(pairs[i].(string), pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}
