package body

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

// Signal is a file by which an agent is told something, by its name. Anybody who may
// write in the directory puts one there; the agent takes it. What is under such a
// name and is no regular file is no signal.
type Signal string

// The signals. RefreshTaken and InquiryTaken are left by the agent itself.
const (
	Suspend      Signal = ".suspend"
	Sleep        Signal = ".sleep"
	Interrupt    Signal = ".interrupt"
	Refresh      Signal = ".refresh"
	RefreshTaken Signal = ".refresh.taken"
	Prompt       Signal = ".prompt"
	Clear        Signal = ".clear"
	Inquiry      Signal = ".inquiry"
	InquiryTaken Signal = ".inquiry.taken"
	Rules        Signal = ".rules"
)

// Signals are all of them, in the order a tick looks at them.
var Signals = []Signal{
	Interrupt, Refresh, Suspend, Sleep, Prompt, Clear, Inquiry, Rules, RefreshTaken, InquiryTaken,
}

// maxSignal is the longest text of a signal, in bytes.
const maxSignal = 1 << 20

// Put puts a signal with its text, "" for most, in place of one that is there.
func (b Body) Put(s Signal, text string) error {
	if err := check(s, text); err != nil {
		return err
	}
	return disk.Replace(b.Path(string(s)), []byte(text))
}

// PutNew puts a signal, or refuses with exists when it is there already, so that one
// of many wins.
func (b Body) PutNew(s Signal, text string) error {
	if err := check(s, text); err != nil {
		return err
	}
	err := disk.Create(b.Path(string(s)), []byte(text))
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Exists, "there already: %q", b.Path(string(s)))
	}
	return err
}

func check(s Signal, text string) error {
	switch {
	case !slices.Contains(Signals, s):
		return fault.New(fault.BadInput, "no signal: %q", s)
	case len(text) > maxSignal:
		return fault.New(fault.TooLarge, "%s: text of %d bytes, more than %d", s, len(text), maxSignal)
	}
	return nil
}

// Pending reports whether a signal is there.
func (b Body) Pending(s Signal) bool {
	info, err := os.Lstat(b.Path(string(s)))
	return err == nil && info.Mode().IsRegular()
}

// Take takes a signal and returns its text. Of many that take one, exactly one gets
// it; taken is false for the others, and where there is none. It is moved to a name
// of its own before it is read: a new one that is put meanwhile is not lost, and the
// old one is not taken again, whenever we die. Where err is not nil and taken is true
// the signal is gone, and its text may be missing.
func (b Body) Take(s Signal) (text string, taken bool, err error) {
	if !b.Pending(s) {
		return "", false, nil
	}
	mine := b.Path(fmt.Sprintf("%s%016x", disk.TempPrefix, rand.Uint64()))
	err = disk.MoveNew(b.Path(string(s)), mine)
	switch {
	case errors.Is(err, fs.ErrNotExist): // another was faster
		return "", false, nil
	case err != nil:
		return "", false, err
	}
	durable := disk.MakeDurable(b.dir)
	data, err := disk.ReadFile(mine, maxSignal)
	return string(data), true, errors.Join(durable, err, disk.Remove(mine))
}

// Withdraw removes a signal that may be there, whose text nobody wants, and reports
// whether it was.
func (b Body) Withdraw(s Signal) (was bool, err error) {
	if !b.Pending(s) {
		return false, nil
	}
	err = os.Remove(b.Path(string(s)))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// Stale are the signals that an agent that starts removes: they were meant for the
// one before it.
var Stale = []Signal{Suspend, Sleep, Refresh}

// ClearStale removes the stale signals and returns those that were there.
func (b Body) ClearStale() (removed []Signal, err error) {
	for _, s := range Stale {
		was, failed := b.Withdraw(s)
		if was {
			removed = append(removed, s)
		}
		err = errors.Join(err, failed)
	}
	return removed, err
}
