package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// The journal says which turn was offered to the mind and has not ended, so that a turn's
// end is on disk or the turn is offered again, under its own ID, whenever we die:
//
//  1. the turn is written into the journal: with that it is put before the mind;
//  2. its notifications are noted as delivered, and the prompt that it has is removed;
//  3. the mind runs;
//  4. the turn is taken out of the journal.
//
// Between 1 and 4 a start finds it there and goes on with 1. Each of the steps can be
// done twice. A clear is in the journal too, from its first step to its last.

// journalFile is the agent's alone, like the lease.
const journalFile = body.HistoryDir + "/turn.json"

type journal struct {
	Turn    *offered  `json:"turn"`
	Fresh   *fresh    `json:"new_conversation"` // the next turn is to say so
	Clear   *clearing `json:"clear"`            // one that is under way
	Cleared string    `json:"cleared"`          // names the .clear that was done last
}

// offered is a turn without an end.
type offered struct {
	ID        string   `json:"id"`
	Reason    string   `json:"reason"`
	StartedAt string   `json:"started_at"`
	Prompt    string   `json:"prompt"`
	PromptID  string   `json:"prompt_id"` // names the .prompt it came from
	News      []string `json:"news"`      // channels that are news to it
	Offer     int      `json:"offer"`
	Transient int      `json:"transient"` // failures that were free
	Attempts  int      `json:"attempts"`  // those that were not
	Over      string   `json:"over"`      // how it is to end, which was decided before it did
	Session   int      `json:"session"`   // of processes, in which its mind runs
}

// fresh is a new conversation that the mind has to be told of.
type fresh struct {
	Reason string `json:"reason"`
	At     string `json:"at"`
}

// clearing is how far a clear is: what has to be so at its end.
type clearing struct {
	ID      string `json:"id"`
	Reason  string `json:"reason"`
	Molts   int    `json:"molt_count"`
	Archive int64  `json:"archive"` // its size before, to which it is cut when we begin again
}

func (r *Runner) newTurn(reason string, now time.Time) offered {
	return offered{
		ID:     now.UTC().Format("20060102T150405") + fmt.Sprintf("-%08x", rand.Uint32()),
		Reason: reason, StartedAt: stamp.Record(now),
	}
}

// load reads the journal. What cannot be read is put aside: its turn is lost, its
// notifications are still in their channels.
func (r *Runner) load() error {
	data, err := disk.ReadFile(r.body.Path(journalFile), 64<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err = json.Unmarshal(data, &r.journal); err == nil {
		err = r.journal.Turn.check()
	}
	if err == nil {
		return nil
	}
	r.journal = journal{}
	r.event("turn_lost", map[string]any{"error": err.Error()})
	if err := disk.Replace(r.body.Path(journalFile+".malformed"), data); err != nil {
		return err
	}
	return disk.Remove(r.body.Path(journalFile))
}

// check refuses what no agent has written.
func (t *offered) check() error {
	if t != nil && min(t.Offer, t.Transient, t.Attempts) < 0 {
		return errors.New("a number below 0")
	}
	return nil
}

// save writes the journal. Should it fail, the next tick tries again.
func (r *Runner) save() error {
	r.unsaved = true
	line, err := record.Encode(r.journal)
	if err != nil {
		return err
	}
	if _, err := r.body.Make(body.HistoryDir); err != nil {
		return err
	}
	if err := disk.Replace(r.body.Path(journalFile), line); err != nil {
		return err
	}
	r.unsaved = false
	return nil
}

// meet makes a turn one about what there is now. What is news to it stays so for as
// long as it is there.
func (t *offered) meet(all notice.Snapshot, seen notice.Delivered) {
	news := map[string]bool{}
	for _, c := range seen.News(all) {
		news[c.Name] = true
	}
	for _, name := range t.News {
		news[name] = true
	}
	t.News = nil
	for _, c := range all.Channels {
		if news[c.Name] {
			t.News = append(t.News, c.Name)
		}
	}
}

// shown returns the records of what there is now.
func (t *offered) shown(b body.Body, all notice.Snapshot) []record.Notification {
	var rows []record.Notification
	for _, c := range all.Channels {
		n := record.Notification{
			Type: "notification", Dir: b.Dir(), Channel: c.Name, Version: string(c.Version),
			Delivered: !slices.Contains(t.News, c.Name),
			Header:    c.Object.Text("header"), Icon: c.Object.Text("icon"), Priority: c.Object.Text("priority"),
			PublishedAt: c.Object.Text("published_at"), Instructions: c.Object.Text("instructions"),
			Data: c.Object.Get("data"),
		}
		if len(n.Data) == 0 {
			n.Data = json.RawMessage("null")
		}
		rows = append(rows, n)
	}
	return rows
}
