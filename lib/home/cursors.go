package home

import (
	"context"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/yamldoc"
)

// Cursor is how far a room was put before somebody.
type Cursor struct {
	Entry string // the last entry of it
	Line  int    // the transcript line after it
}

const cursorsFile = "attend-cursors.yaml"

// Cursor returns how far a room was put before somebody, the zero Cursor when it
// never was or when what is remembered makes no sense.
func (h Home) Cursor(who, root, room string) (Cursor, error) {
	doc, err := h.doc(cursorsFile)
	if err != nil {
		return Cursor{}, err
	}
	at := []string{"cursors", who, root + "::" + room}
	var c Cursor
	if c.Entry, _, err = doc.String(append(at, "last_entry")...); err == nil {
		c.Line, _, err = doc.Int(append(at, "next_line")...)
	}
	if err != nil {
		return Cursor{}, fault.New(fault.Corrupt, "%w", err)
	}
	return c, nil
}

// SetCursor remembers how far a room was put before somebody.
func (h Home) SetCursor(ctx context.Context, who, root, room string, c Cursor) error {
	return h.change(ctx, cursorsFile, func(doc *yamldoc.Doc) error {
		at := []string{"cursors", who, root + "::" + room}
		if err := doc.SetString(c.Entry, append(at, "last_entry")...); err != nil {
			return err
		}
		return doc.SetInt(c.Line, append(at, "next_line")...)
	})
}
