package attend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// The outcomes of a turn.
const (
	Posted   = "posted"
	Passed   = "passed"
	NoTurn   = "no_turn" // the command ended well, and left no entry
	Failed   = "failed"
	TimedOut = "timeout"
)

// maxChatter is how much of what a command says on standard error is passed on, in
// bytes.
const maxChatter = 1 << 20

// turn has a command take one turn on an offer, and says what became of it. An
// error means that the turn was not tried; it is not_your_turn or ended when there
// is none to take any more.
func (at *Attendee) turn(ctx context.Context, d *door.Door, o record.Offer, a home.Agent) (record.Run, error) {
	run := record.Run{Type: "run", Thread: o.Thread, For: o.For, Status: -1}
	key := d.Key(o.Thread)
	before, err := d.Store.Head(ctx, key)
	if err != nil {
		return run, err
	}
	if _, err := before.State.Post(o.For); err != nil {
		f := fault.From(err).In(o.Thread).At(before.State.Current(), before.Version)
		f.Message += fmt.Sprintf(" in %q", o.Thread)
		return run, f
	}
	run.Version = before.Version
	var offered, said bytes.Buffer
	if err := d.WriteOffered(ctx, &offered, o); err != nil {
		return run, err
	}
	printed := &limited{to: at.Chatter, left: maxChatter}
	if a.Reply == "stdout" {
		printed = &limited{to: &said, left: room.DefaultMaxBody}
	}
	begun := time.Now()
	hook := Hook{
		Command: a.Run, Env: environment(o, a, before), Stdin: &offered,
		Stdout: printed, Stderr: &limited{to: at.Chatter, left: maxChatter}, Timeout: a.Timeout,
		Keep: at.Keep,
	}
	var ended error
	run.Status, ended = hook.Run(ctx)
	run.TookMS = time.Since(begun).Milliseconds()
	if ctx.Err() != nil {
		return run, context.Cause(ctx)
	}
	if ended == nil && run.Status == 0 && a.Reply == "stdout" {
		ended = reply(ctx, d, o, before, said.String(), printed.over)
	}
	if ended != nil && !errors.Is(ended, ErrTimeout) {
		at.Say(fmt.Errorf("no entry from %q: %w", o.For, ended))
	}
	run.Outcome, err = outcome(ctx, d, key, o.For, before)
	switch {
	case err != nil || run.Outcome != NoTurn:
	case errors.Is(ended, ErrTimeout):
		run.Outcome = TimedOut
	case ended != nil || run.Status != 0:
		run.Outcome = Failed
	}
	return run, err
}

// reply posts what a command printed. Nothing printed is no turn.
func reply(ctx context.Context, d *door.Door, o record.Offer, before store.Head, text string, over bool) error {
	if over {
		return fault.New(fault.TooLarge, "it printed more than %d bytes", room.DefaultMaxBody)
	}
	_, err := d.Post(ctx, d.Key(o.Thread), room.Draft{As: o.For, Body: text, Expect: &before.Version})
	if fault.Is(err, fault.BadInput) && len(bytes.TrimSpace([]byte(text))) == 0 {
		return nil
	}
	return err
}

// outcome looks for an entry that somebody has written since.
func outcome(ctx context.Context, d *door.Door, key store.Key, who string, before store.Head) (string, error) {
	view, err := d.Store.Read(ctx, key, store.Part{After: before.Last, Passes: true})
	if err != nil {
		return Failed, err
	}
	for e, err := range view.Entries {
		switch {
		case err != nil:
			return Failed, err
		case e.Author == who && e.Pass:
			return Passed, nil
		case e.Author == who:
			return Posted, nil
		}
	}
	return NoTurn, nil
}

// environment is what a command is told besides the text on its standard input.
// With it, substrate-post posts to the right room as the right participant.
func environment(o record.Offer, a home.Agent, h store.Head) []string {
	prompt := o.Prompt
	if a.Reply == "stdout" {
		prompt += "What you print is posted as your entry; print the one word pass to give the turn up.\n"
	} else {
		prompt += "Post your entry with substrate-post, its text on standard input, or give the turn up with " +
			"substrate-post --pass; both know the room and your name.\n"
	}
	return []string{
		"SUBSTRATE_PROMPT=" + prompt,
		"SUBSTRATE_SPACE=" + o.Root,
		"SUBSTRATE_SPACE_LABEL=" + o.Label,
		"SUBSTRATE_THREAD=" + o.Thread,
		"SUBSTRATE_AS=" + o.For,
		"SUBSTRATE_TOPIC=" + safe(o.Topic),
		"SUBSTRATE_CONTEXT_MODE=" + o.Policy,
		"SUBSTRATE_FROM_ENTRY=" + o.FromEntry,
		"SUBSTRATE_THROUGH_ENTRY=" + o.ThroughEntry,
		"SUBSTRATE_FROM_LINE=" + strconv.Itoa(o.StartLine),
		"SUBSTRATE_THREAD_VERSION=" + strconv.Itoa(h.Version),
	}
}

// safe returns a topic as it fits into an environment: one that somebody wrote by
// hand may hold a NUL, or be longer than a process can be given.
func safe(topic string) string {
	return record.Clip(strings.ReplaceAll(topic, "\x00", ""), floor.MaxTopic)
}
