package record_test

import (
	"testing"

	"github.com/substrate-tools/substrate/lib/record"
)

func TestTextOfBodies(t *testing.T) {
	for _, c := range []struct {
		what string
		v    interface{ Text() string }
		want string
	}{
		{
			"agent", record.Agent{
				Address: "ann", Name: "Ann", Kind: "agent", State: "active", Alive: true, Heartbeat: "present", Lease: "held",
				ActiveTurn: "t1", Unread: 2, Dir: "/n/ann",
			}, "ann (Ann)  agent  active  heartbeat 0.0 s old  in turn t1  2 unread  /n/ann",
		},
		{
			"agent that does not move", record.Agent{Address: "ann", Kind: "agent", State: "active", Heartbeat: "present", HeartbeatMS: 12340, Lease: "held", Dir: "/n/ann"},
			"ann  agent  active  heartbeat 12.3 s old  holds its lease and does not move  0 unread  /n/ann",
		},
		{"new agent", record.Agent{Address: "a\nb", Kind: "agent", Heartbeat: "absent", Dir: "/n/x"}, `a\nb  agent  never started  heartbeat absent  0 unread  /n/x`},
		{"human", record.Agent{Address: "dan", Kind: "human", Alive: true, Dir: "/n/dan"}, "dan  human  0 unread  /n/dan"},
		{
			"notification", record.Notification{Channel: "cron", Priority: "high", PublishedAt: "T", Header: "a\nb", Delivered: true},
			`cron  high  T  a\nb`,
		},
		{"notification not delivered", record.Notification{Channel: "cron", Priority: "low", PublishedAt: "T", Header: "h"}, "cron  low  T  h  (not delivered)"},
		{"published", record.Published{Channel: "system", EventID: "evt_1"}, "published evt_1 in system"},
		{"published before", record.Published{EventID: "evt_1", Duplicate: true}, "published before: evt_1"},
		{"published before and gone", record.Published{Key: "k", Duplicate: true}, "published before and dismissed: k"},
		{"dismissed", record.Dismissed{Channel: "cron", Cleared: true, Removed: 1}, "cron: dismissed 1, 0 left"},
		{"nothing dismissed", record.Dismissed{Channel: "cron", Why: "already_empty"}, "cron: nothing to dismiss: already_empty"},
	} {
		if got := c.v.Text(); got != c.want {
			t.Errorf("%s: got %q", c.what, got)
		}
	}
}
