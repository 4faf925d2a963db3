package body

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/record"
)

// Look returns how an agent is, as far as its directory shows.
func (b Body) Look(ctx context.Context, now time.Time, env Env) record.Agent {
	m, beat := b.Manifest(), b.Heartbeat()
	status, _ := b.Status()
	r := record.Agent{
		Type: "agent", Dir: b.dir, Address: b.Address(), Kind: "agent",
		AgentID: m.AgentID(), Name: m.Name(), Nickname: m.Text("nickname"), State: m.State(),
		Alive: beat.Alive(now, env.Threshold), Heartbeat: string(beat.Kind), Unread: b.unread(),
	}
	if age, ok := beat.Age(now); ok {
		r.HeartbeatMS = age.Milliseconds()
	} else if beat.Kind == Present {
		r.Heartbeat = string(Malformed) // no time that can be told
	}
	if m.IsHuman() {
		r.Kind, r.Alive, r.State = "human", true, ""
		return r
	}
	if held, err := b.Held(ctx); held {
		r.Lease = "held"
	} else if err == nil {
		r.Lease = "free"
	}
	if !r.Alive && r.Lease != "held" {
		if m.IsAgent() {
			r.State = "suspended" // no process, whatever it wrote last
		}
		return r
	}
	if status.Runtime.State != "" {
		r.State = status.Runtime.State
	}
	if status.ActiveTurn != nil {
		r.ActiveTurn = status.ActiveTurn.ID
	}
	return r
}

// unread counts the messages in the agent's inbox that were not read.
func (b Body) unread() int {
	var read []string
	if data, err := disk.ReadFile(b.Path(MailDir, "read.json"), maxFile); err == nil {
		_ = json.Unmarshal(data, &read) // none is read then
	}
	inbox, _ := os.ReadDir(b.Path(MailDir, "inbox"))
	n := 0
	for _, m := range inbox {
		if !strings.HasPrefix(m.Name(), ".") && !slices.Contains(read, m.Name()) &&
			disk.Exists(b.Path(MailDir, "inbox", m.Name(), "message.json")) {
			n++
		}
	}
	return n
}
