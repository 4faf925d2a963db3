package record_test

import (
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/record"
)

func TestText(t *testing.T) {
	bare, paused, ended := keys, keys, keys
	bare.Label = ""
	paused.Current, paused.Paused = "dan", true
	ended.Status = "ended"
	for _, c := range []struct {
		what string
		v    interface{ Text() string }
		want string
	}{
		{"room", keys, "t  floor: ann since 2026-07-06T13:16:02.084Z  3 entries  a < b & c  quiet: a 1, b 2  in home"},
		{"room without label", bare, "t  floor: ann since 2026-07-06T13:16:02.084Z  3 entries  a < b & c  quiet: a 1, b 2"},
		{
			"room paused", record.Room{Type: "room", RoomKeys: paused},
			"t  floor: dan since 2026-07-06T13:16:02.084Z (paused for the moderator)  3 entries  a < b & c  quiet: a 1, b 2  in home",
		},
		{"room ended", ended, "t  ended  3 entries  a < b & c  quiet: a 1, b 2  in home"},
		{
			"space", record.Space{Label: "home", Root: "/r", Rooms: 2, Participants: []record.Member{{"dan", "human"}, {"ci", "agent"}}},
			"home  /r  2 rooms  dan (human), ci (agent)",
		},
		{"participant", record.Participant{Name: "dan", Kind: "human"}, "dan (human)"},
		{"posted", record.Posted{Entry: "e.md", Thread: "t", Version: 4, Next: "ann"}, "posted e.md in t, now at version 4; next: ann"},
		{"passed", record.Posted{Entry: "e.md", Thread: "t", Version: 4, Next: "ann", Pass: true}, "passed e.md in t, now at version 4; next: ann"},
		{
			"posted before", record.Posted{Entry: "e.md", Thread: "t", Version: 4, Next: "ann", Pass: true, Duplicate: true},
			"posted before e.md in t, now at version 4; next: ann",
		},
		{
			"window", record.Window{Entries: 2, StartLine: 4, EndLine: 9, TotalLines: 12, Bytes: 60, Version: 3},
			"2 entries, lines 4-9 of 12, 60 bytes, version 3",
		},
		{
			"window that goes on", record.Window{Entries: 2, StartLine: 4, EndLine: 9, TotalLines: 12, Bytes: 60, Version: 3, NextEntry: "e.md"},
			"2 entries, lines 4-9 of 12, 60 bytes, version 3; go on with --from-entry e.md",
		},
		{
			"export", record.Export{Type: "export", Thread: "t", Version: 3, Entries: 2, Bytes: 60, ManifestSHA256: "ab"},
			"exported t: 2 entries at version 3, 60 bytes, not signed; manifest sha256 ab",
		},
		{
			"export signed", record.Export{Type: "export", Thread: "t", Version: 3, Entries: 2, Bytes: 60, ManifestSHA256: "ab", Signed: true},
			"exported t: 2 entries at version 3, 60 bytes, signed; manifest sha256 ab",
		},
		{
			"verified", record.Export{Type: "verified", Thread: "t", Version: 3, Entries: 2, Bytes: 60, ManifestSHA256: "ab", Signed: true, Signer: "dan"},
			"verified t: 2 entries at version 3, 60 bytes, signed by dan; manifest sha256 ab",
		},
		{"finding", record.Finding{Level: "ok", Check: "space", Message: "fine"}, "ok    space: fine"},
		{"finding with a fix", record.Finding{Level: "warn", Check: "room", Message: "odd", Fix: "do x"}, "warn  room: odd\n      fix: do x"},
	} {
		if got := c.v.Text(); got != c.want {
			t.Errorf("%s: got %q", c.what, got)
		}
	}
}

func TestAnOldTopicStaysInItsLine(t *testing.T) {
	odd := keys
	odd.Topic = "a\nforged: line"
	if got := odd.Text(); strings.Contains(got, "\n") {
		t.Errorf("got %q", got)
	}
}
