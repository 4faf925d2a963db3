package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
)

// A signal is dealt with once. One whose effect is over when we die is taken first and
// acted on then. One whose effect is to last has its effect on disk first and is taken
// then; should we die in between, it is found there with its effect, which is the same
// when it is done again. One that carries words is first moved to a name of its own,
// by which the journal knows it.

const (
	promptTaken = ".prompt.taken"
	clearTaken  = ".clear.taken"
	maxText     = 1 << 20 // of a signal, in bytes
)

// interrupt ends the turn, also one that is to be tried again.
func (r *Runner) interrupt(context.Context) error {
	if !r.there(body.Interrupt) || !r.body.Pending(body.Interrupt) {
		return nil
	}
	over := r.over(interrupted)
	_, was, err := r.body.Take(body.Interrupt)
	if was {
		r.event("interrupt_received", nil)
	}
	return errors.Join(over, err)
}

// suspend ends the agent.
func (r *Runner) suspend(context.Context) error {
	if !r.there(body.Suspend) {
		return nil
	}
	_, was, err := r.body.Take(body.Suspend)
	if was {
		r.ending = "suspend"
	}
	return err
}

// sleep puts an agent to sleep: now, or when its turn is over.
func (r *Runner) sleep(context.Context) error {
	if !r.there(body.Sleep) {
		return nil
	}
	by, was, err := r.body.Take(body.Sleep)
	if was {
		r.event("sleep_received", map[string]any{"by": strings.TrimSpace(by)})
	}
	switch {
	case !was || r.state == Asleep:
	case r.state == Idle && r.journal.Turn == nil:
		r.become(Asleep, "sleep")
	default:
		r.dozing = true
	}
	return err
}

// prompt makes a turn of what .prompt says, once there is no other. A clear goes first,
// since it would end that turn.
func (r *Runner) prompt(ctx context.Context) error {
	if !r.there(body.Prompt) && !r.there(promptTaken) {
		return nil
	}
	if r.journal.Turn != nil || !r.unclear && (r.body.Pending(body.Clear) || r.there(clearTaken)) {
		return nil
	}
	if !r.there(promptTaken) {
		if moved, err := r.move(body.Prompt, promptTaken); !moved {
			return err
		}
	}
	data, err := disk.ReadFile(r.body.Path(promptTaken), maxText)
	if unreadable(err) {
		return r.refuse(promptTaken, err)
	}
	if err != nil {
		return err
	}
	t := r.newTurn("prompt", r.Host.Now())
	t.Prompt, t.PromptID = strings.ToValidUTF8(string(data), "\uFFFD"), taken(r.body, promptTaken)
	if r.state == Asleep {
		r.become(Idle, "prompt")
	}
	return r.offer(ctx, t)
}

// unreadable reports whether a signal is one that no other attempt could read.
func unreadable(err error) bool {
	return errors.Is(err, disk.ErrTooLarge) || errors.Is(err, disk.ErrNotRegular) || errors.Is(err, fs.ErrPermission)
}

// refuse puts a signal aside that was moved and cannot be read, so that the next one of
// its kind can come.
func (r *Runner) refuse(file string, why error) error {
	aside := fmt.Sprintf("%s.refused-%08x", strings.TrimSuffix(file, ".taken"), rand.Uint32())
	if err := disk.MoveNew(r.body.Path(file), r.body.Path(aside)); err != nil {
		return err
	}
	r.event("signal_refused", map[string]any{"error": why.Error(), "file": aside})
	r.say(fmt.Errorf("put aside as %q: %w", aside, why))
	return nil
}

// move gives a signal another name, so that the next one of its kind is another file.
func (r *Runner) move(s body.Signal, to string) (moved bool, err error) {
	if !r.body.Pending(s) {
		return false, nil
	}
	r.listed = false // there is another name from here on
	err = disk.MoveNew(r.body.Path(string(s)), r.body.Path(to))
	if errors.Is(err, fs.ErrNotExist) { // somebody has withdrawn it
		return false, nil
	}
	return err == nil, err
}

// taken names the file that a signal was moved to, "" where there is none. No other file
// has that name.
func taken(b body.Body, file string) string {
	path := b.Path(file)
	info, err := os.Lstat(path)
	if err != nil {
		return ""
	}
	p := disk.PrintOf(info)
	// When it changed last is when it was moved: a second name of one file is another signal.
	return fmt.Sprintf("%x-%x-%x-%x", p.Inode, info.ModTime().UnixNano(), info.Size(), p.Changed)
}

// rules makes what .rules says the rules of the agent.
func (r *Runner) rules(context.Context) error {
	if !r.there(body.Rules) || !r.body.Pending(body.Rules) {
		return nil
	}
	data, err := disk.ReadFile(r.body.Path(string(body.Rules)), maxText)
	if err != nil {
		return err
	}
	if err := r.rule(string(data)); err != nil {
		return err
	}
	text, was, err := r.body.Take(body.Rules)
	if was && err == nil && text != string(data) { // another one came meanwhile
		err = r.rule(text)
	}
	r.event("rules_received", nil)
	return errors.Join(err, r.compose())
}

func (r *Runner) rule(text string) error {
	if _, err := r.body.Make(body.SystemDir); err != nil {
		return err
	}
	return disk.Replace(r.body.Path(body.SystemDir, "rules.md"), []byte(text))
}
