package files

import (
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/yamldoc"
)

// parseState reads a room's config.yaml. path is for messages.
func parseState(path string, data []byte) (*yamldoc.Doc, floor.State, error) {
	var s floor.State
	doc, err := yamldoc.Parse(path, data)
	if err != nil {
		return nil, s, corrupt(err)
	}
	text := func(key string) (value string) {
		if err == nil {
			value, _, err = doc.String(key)
		}
		return value
	}
	s.Topic, s.Created, s.Moderator = text("topic"), text("created_at"), text("moderator")
	status := text("status")
	if err == nil {
		s.Order, err = doc.Strings("turn_order")
	}
	if err == nil {
		s.Next, _, err = doc.Int("next_index")
	}
	if err == nil {
		s.Quieted, err = doc.Ints("quieted")
	}
	if err != nil {
		return nil, s, corrupt(err)
	}
	s.Ended = status == "ended"
	switch {
	case status != "" && status != "active" && status != "ended":
		err = fault.New(fault.Corrupt, "%s: unknown status %q", path, status)
	case len(s.Order) == 0:
		err = fault.New(fault.Corrupt, "%s: turn_order is empty", path)
	}
	return doc, s, err
}

// render edits the document from one state to another and returns its bytes.
// What did not change stays as it was written.
func render(doc *yamldoc.Doc, old, s floor.State) ([]byte, error) {
	var edits []error
	edit := func(changed bool, do func() error) {
		if changed {
			edits = append(edits, do())
		}
	}
	edit(s.Topic != old.Topic, func() error { return doc.SetString(s.Topic, "topic") })
	edit(!slices.Equal(s.Order, old.Order), func() error { return doc.SetStrings(s.Order, "turn_order") })
	edit(s.Next != old.Next, func() error { return setNext(doc, s.Next) })
	edit(true, func() error { return setQuieted(doc, s.Quieted) })
	edit(s.Ended != old.Ended, func() error {
		if s.Ended {
			return doc.SetString("ended", "status")
		}
		return doc.SetString("active", "status")
	})
	for _, err := range edits {
		if err != nil {
			return nil, corrupt(err)
		}
	}
	return doc.Bytes(), nil
}

// setNext leaves the key out when it is 0, but for one that somebody has written
// a remark to.
func setNext(doc *yamldoc.Doc, next int) error {
	if next == 0 && !doc.Commented("next_index") {
		return doc.Delete("next_index")
	}
	doc.Place("next_index", "turn_order")
	return doc.SetInt(next, "next_index")
}

// setQuieted does the same for an empty map; an older writer's {} stays as it is.
func setQuieted(doc *yamldoc.Doc, quieted map[string]int) error {
	have, err := doc.Ints("quieted")
	if err != nil {
		return err
	}
	if len(quieted) == 0 && len(have) == 0 {
		return nil
	}
	doc.Place("quieted", "next_index")
	if err := doc.SetInts(quieted, "quieted"); err != nil {
		return err
	}
	// Asked now, when remarks to those who were in it are gone.
	if len(quieted) == 0 && !doc.Commented("quieted") {
		return doc.Delete("quieted")
	}
	return nil
}

// newConfig returns the config.yaml of a new room.
func newConfig(s floor.State) ([]byte, error) {
	doc, err := yamldoc.Parse("", nil)
	if err != nil {
		return nil, err
	}
	created, err := time.Parse(time.RFC3339Nano, s.Created)
	if err != nil {
		return nil, fault.New(fault.BadInput, "created_at is no time: %q", s.Created)
	}
	for _, do := range []func() error{
		func() error { return doc.SetString(s.Topic, "topic") },
		func() error { return doc.SetTime(created, "created_at") },
		func() error { return doc.SetString(s.Moderator, "moderator") },
		func() error { return doc.SetStrings(s.Order, "turn_order") },
		func() error { return doc.SetString("active", "status") },
	} {
		if err := do(); err != nil {
			return nil, err
		}
	}
	return doc.Bytes(), nil
}
