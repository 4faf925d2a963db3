package runner

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// The conversation of a mind that is a command is its own business; by agreement it is in
// historyFile. A clear ends the turn, adds that file to the archive and takes it away,
// counts a molt, reads the configuration anew as every molt does, and has the next turn
// say that a new conversation begins. What the agent is and knows stays.

const (
	historyFile = body.HistoryDir + "/chat_history.jsonl"
	archiveFile = body.HistoryDir + "/chat_history_archive.jsonl"
)

// clearing is told to clear: at once, or as soon as the mind has ended its turn.
func (r *Runner) clearing(ctx context.Context) error {
	if !r.there(clearTaken) && (!r.there(body.Clear) || !r.body.Pending(body.Clear)) {
		return nil
	}
	running := r.turn != nil
	if running && (r.unclear || r.journal.Turn.Over == cleared) {
		return nil // it is ending, or began after a clear that cannot be done
	}
	if !r.unclear {
		if err := r.over(cleared); err != nil || running {
			return err
		}
	}
	err := r.clear(ctx)
	r.unclear = err != nil
	return err
}

// clear does it, or goes on with one that was not finished. No mind is at work.
func (r *Runner) clear(ctx context.Context) error {
	if !r.there(clearTaken) {
		if moved, err := r.move(body.Clear, clearTaken); !moved {
			return err
		}
	}
	id := taken(r.body, clearTaken)
	if id != r.journal.Cleared {
		if err := r.shed(id); err != nil {
			return err
		}
	}
	if err := removeDurably(r.body, clearTaken); err != nil {
		return err
	}
	return r.configure(preset.AtRefresh)
}

// shed sheds the conversation. Each step can be done again.
func (r *Runner) shed(id string) error {
	c := r.journal.Clear
	if c == nil || c.ID != id {
		reason, err := disk.ReadFile(r.body.Path(clearTaken), maxText)
		if err != nil && !unreadable(err) { // what it asks for is in its name
			return err
		}
		molts := int(r.body.Manifest().Number("molt_count"))
		c = &clearing{ID: id, Reason: strings.TrimSpace(string(reason)), Molts: molts + 1}
		if info, err := os.Stat(r.body.Path(archiveFile)); err == nil {
			c.Archive = info.Size()
		}
		r.journal.Clear = c
		if err := r.save(); err != nil {
			r.journal.Clear = nil
			return err
		}
	}
	if err := r.archive(c.Archive); err != nil {
		return err
	}
	if err := r.amend(func(o *body.Object) error { return o.Set("molt_count", c.Molts) }); err != nil {
		return err
	}
	r.journal.Clear, r.journal.Cleared = nil, id
	r.journal.Fresh = &fresh{c.Reason, stamp.Record(r.Host.Now())}
	if err := r.save(); err != nil {
		r.journal.Clear, r.journal.Cleared = c, ""
		return err
	}
	r.event("conversation_cleared", map[string]any{"reason": c.Reason, "molt_count": c.Molts})
	return nil
}

// archive moves the history behind the archive, which was so long before we began.
func (r *Runner) archive(size int64) (err error) {
	from, _, err := disk.Open(r.body.Path(historyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is done, or there is none
	}
	if err != nil {
		return err
	}
	defer from.Close()
	if err := disk.MakeLock(r.body.Path(archiveFile)); err != nil { // made the way its directory is shared
		return err
	}
	to, err := disk.Edit(r.body.Path(archiveFile))
	if err != nil {
		return err
	}
	err = to.Truncate(size)
	if err == nil {
		_, err = to.Seek(size, io.SeekStart)
	}
	if err == nil {
		_, err = io.Copy(to, from)
	}
	if err == nil {
		err = to.Sync()
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	if err := disk.Remove(r.body.Path(historyFile)); err != nil {
		return err
	}
	return disk.MakeDurable(r.body.Path(body.HistoryDir))
}
