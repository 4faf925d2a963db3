package mcpserver

import (
	"path/filepath"
	"strings"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/fault"
)

// doors opens the spaces that are served: those the server was told of, else those
// in this machine's registry as it is now, else the nearest one upward from where
// the server was started.
func (s *Server) doors() (open []*door.Door, err error) {
	flags := door.Flags{Wait: s.Wait}
	for _, root := range s.Spaces {
		flags.Space = root
		d, err := flags.Open()
		if err != nil {
			return nil, err
		}
		open = append(open, d)
	}
	if len(s.Spaces) == 0 {
		if open, _, err = door.All(); len(open) == 0 {
			near, none := flags.Open()
			if none != nil && err == nil {
				err = none
			}
			if none != nil {
				return nil, err
			}
			open = append(open, near)
		}
	}
	for _, d := range open {
		d.WokenBy(s.hub, s.Wait)
	}
	return open, nil
}

// door opens the space a call names, which it need not when there is one.
func (s *Server) door(space string) (*door.Door, error) {
	open, err := s.doors()
	if err != nil {
		return nil, err
	}
	if space == "" && len(open) == 1 {
		return open[0], nil
	}
	var known []string
	for _, d := range open {
		if space != "" && (title(d) == space || d.Root == filepath.Clean(space)) {
			return d, nil
		}
		known = append(known, title(d))
	}
	if space == "" {
		return nil, fault.New(fault.Usage, "which space? several are served").
			WithHint("give space, one of: %s", strings.Join(known, ", "))
	}
	return nil, fault.New(fault.NotASpace, "no such space here: %q", space).
		WithHint("served here: %s", strings.Join(known, ", "))
}

// title is what a space is called: its label, else its root.
func title(d *door.Door) string {
	if label := d.Label(d.Root); label != "" {
		return label
	}
	return d.Root
}
