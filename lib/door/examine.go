package door

import (
	"context"
	"fmt"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/record"
)

// Examine reports on this machine's files and on the spaces of a query. With fix
// it repairs what can be repaired without losing anything.
func Examine(ctx context.Context, q Query, fix bool, wait time.Duration, found func(record.Finding)) {
	say := func(level, check, message, fix string) {
		found(record.Finding{Type: "finding", Level: level, Check: check, Message: message, Fix: fix})
	}
	trouble := func(level, check string, err error) {
		f := fault.From(err)
		say(level, check, f.Message, f.Hint)
	}
	machine(say, trouble)
	doors, err := q.doors(func(error) {}) // what is skipped was reported just now
	if err != nil {
		trouble("fail", "space", err)
		return
	}
	for _, d := range doors {
		if elsewhere(d.Root) {
			found(away(ctx, d))
			continue
		}
		if d.Label(d.Root) == "" {
			say("warn", "registry", "this machine does not list the space "+d.Root, "substrate-spaces add "+record.Shell(d.Root))
		}
		keeper := files.Store{Wait: wait}
		keeper.Inspect(ctx, d.Root, fix, found)
	}
}

// machine reports on this machine's own files.
func machine(say func(level, check, message, fix string), trouble func(level, check string, err error)) {
	h, err := home.Open()
	if err != nil {
		trouble("warn", "machine", err)
		return
	}
	say("ok", "machine", "this machine's files are in "+h.Dir(), "")
	who, err := h.Identity()
	switch {
	case err != nil:
		trouble("warn", "identity", err)
	case who == "":
		say("ok", "identity", "none is remembered; name who acts with --as NAME", "")
	default:
		say("ok", "identity", who, "")
	}
	crew, bad, err := h.Crew()
	if err != nil {
		trouble("fail", "crew", err)
	} else {
		say("ok", "crew", fmt.Sprintf("%d participants for new spaces", len(crew)), "")
	}
	for _, err := range bad {
		trouble("warn", "crew", err)
	}
	spaces, bad, err := h.Spaces()
	if err != nil {
		trouble("fail", "registry", err)
	}
	for _, err := range bad {
		trouble("warn", "registry", err)
	}
	for _, s := range spaces {
		if _, err := files.Root(s.Root); err != nil {
			say("warn", "registry", fmt.Sprintf("space %q is gone: %s", s.Label, s.Root), "substrate-spaces remove "+record.Shell(s.Label))
		}
	}
}
