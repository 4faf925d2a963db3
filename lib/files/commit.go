package files

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/index"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// staged are the files of one post, in the order they get their names.
type staged struct{ pending, intent, entry, config, marker *disk.Staged }

func (st *staged) discard() {
	for _, s := range []*disk.Staged{st.pending, st.intent, st.entry, st.config, st.marker} {
		if s != nil {
			s.Discard()
		}
	}
}

// stage writes and syncs them all at once.
func (r room) stage(in intent, entry []byte) (*staged, error) {
	record, err := in.encode()
	if err != nil {
		return nil, err
	}
	var st staged
	files := []struct {
		to   **disk.Staged
		data []byte
	}{
		{&st.pending, record},
		{&st.intent, record},
		{&st.entry, entry},
		{&st.config, []byte(in.Config)},
		{&st.marker, marker(in.Entry, committed)},
	}
	errs := make([]error, len(files))
	var wait sync.WaitGroup
	for i, f := range files {
		wait.Go(func() { *f.to, errs[i] = disk.Stage(r.tx, f.data) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		st.discard()
		return nil, firstOf(errs)
	}
	return &st, nil
}

func firstOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// transactions makes the directory if the room has none yet.
func (r room) transactions() error {
	if err := disk.Mkdir(r.tx); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		return err
	}
	return disk.SyncDir(r.dir)
}

// post publishes an entry together with the config that follows it, before being
// the one in force. The caller holds the lock, and nothing is pending.
func (r room) post(x *index.Index, d store.Draft, before, after []byte) (transcript.Entry, error) {
	if err := r.transactions(); err != nil {
		return transcript.Entry{}, err
	}
	e, err := r.free(d)
	if err != nil {
		return e, err
	}
	in := newIntent(e.Name, before, after)
	st, err := r.stage(in, transcript.File(e))
	if err != nil {
		return e, err
	}
	defer st.discard()
	if now, err := read(r.config); err != nil || digest(now) != in.Before {
		return e, fault.New(fault.Busy, "config.yaml was changed by hand in the middle of a post").
			WithHint("run it again")
	}
	// Exclusive: should somebody else hold the lock as well, as happens on some
	// network file systems, only one of the two gets past this.
	if err := st.pending.Create(r.pointer()); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = fault.New(fault.Busy, "another post is in flight").WithHint("try again")
		}
		return e, err
	}
	if err := r.publish(x, e, st); err != nil {
		return e, r.abandon(in, err)
	}
	if err := st.marker.Create(r.marker(e.Name, committed)); err == nil {
		disk.Remove(r.pointer())
	}
	return e, nil
}

// publish takes the second and the third step.
func (r room) publish(x *index.Index, e transcript.Entry, st *staged) error {
	if err := st.intent.Create(r.intent(e.Name)); err != nil {
		return err
	}
	if err := disk.SyncDir(r.tx); err != nil {
		return err
	}
	err := x.Publish(r.cache, e.Name, func() error {
		if err := st.entry.Create(filepath.Join(r.dir, e.Name)); err != nil {
			return err
		}
		return st.config.Replace(r.config)
	})
	if err != nil {
		return err
	}
	return disk.SyncDir(r.dir)
}

// abandon is what is left of a post that failed after it became visible: it is
// finished or undone at once where the disk lets it, else by the next writer.
func (r room) abandon(in intent, cause error) error {
	published := disk.Exists(filepath.Join(r.dir, in.Entry))
	if config, err := read(r.config); err == nil {
		r.recover(config)
	}
	if !published {
		return cause
	}
	err := fault.New(fault.IO, "not known whether the entry is durable: %w", cause)
	return err.WithHint("run it again with the same --id, or look with substrate-read")
}

// maxPath is the longest path that every system takes, in bytes.
const maxPath = 4095

// free returns the entry a draft becomes, at its time or the first later one
// whose name is not taken by something that readers skip.
func (r room) free(d store.Draft) (transcript.Entry, error) {
	for {
		e, ok := transcript.ParseName(d.Name())
		if !ok {
			return e, fault.New(fault.Corrupt, "not the name of an entry: %q", d.Name())
		}
		if len(r.marker(e.Name, committed)) > maxPath {
			return e, fault.New(fault.BadInput, "path too long for what belongs to an entry: %q", r.marker(e.Name, committed)).
				WithHint("keep the space nearer to the root of the file system")
		}
		e.ID, e.Body = d.ID, d.Body
		if !disk.Exists(filepath.Join(r.dir, e.Name)) && !disk.Exists(r.intent(e.Name)) {
			return e, nil
		}
		d.Time = d.Time.Add(time.Millisecond)
	}
}

// moderate publishes a config alone.
func (r room) moderate(x *index.Index, after []byte) error {
	if err := r.transactions(); err != nil {
		return err
	}
	st, err := disk.Stage(r.tx, after)
	if err != nil {
		return err
	}
	err = x.Publish(r.cache, "", func() error { return st.Replace(r.config) })
	if err != nil {
		st.Discard()
		return err
	}
	return disk.MakeDurable(r.dir)
}
