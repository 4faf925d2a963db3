package attend

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// Notifier runs a command for floor records, one at a time for each room. While it
// runs, newer states of that room take the place of older ones: the next run gets
// the newest. A run that fails is tried again after growing pauses, unless a newer
// state has come.
type Notifier struct {
	Command string
	Chatter io.Writer   // for what commands say, of several rooms at once
	Say     func(error) // told when a room is given up

	ctx   context.Context
	mu    sync.Mutex
	rooms map[string]chan record.Floor
	wait  sync.WaitGroup
}

// notifyAttempts is how often a command is tried for one state of a room; with the
// pauses between, that takes about four minutes.
const notifyAttempts = 8

// NewNotifier returns a Notifier whose commands are killed when ctx ends.
func NewNotifier(ctx context.Context, command string, chatter io.Writer, say func(error)) *Notifier {
	return &Notifier{Command: command, Chatter: chatter, Say: say, ctx: ctx, rooms: map[string]chan record.Floor{}}
}

// Notify hands a state over and returns at once.
func (n *Notifier) Notify(f record.Floor) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := f.Root + "\x00" + f.Thread
	box, ok := n.rooms[key]
	if !ok {
		box = make(chan record.Floor, 1)
		n.rooms[key] = box
		n.wait.Go(func() { n.serve(box) })
	}
	select {
	case <-box: // nobody has begun with it
	default:
	}
	box <- f
}

// Close waits until the commands for everything that was handed over have run.
func (n *Notifier) Close() {
	n.mu.Lock()
	for _, box := range n.rooms {
		close(box)
	}
	n.rooms = nil
	n.mu.Unlock()
	n.wait.Wait()
}

func (n *Notifier) serve(box chan record.Floor) {
	for f := range box {
		more := box
		for attempt := 1; !n.run(f); attempt++ {
			if n.ctx.Err() != nil {
				return
			}
			if attempt == notifyAttempts {
				n.Say(fault.New(fault.Timeout, "command failed %d times, left alone: %q", attempt, f.Thread))
				break
			}
			select {
			case newer, ok := <-more:
				if !ok {
					more = nil // no newer state comes, but this one is still owed
					continue
				}
				f, attempt = newer, 0
			case <-time.After(min(time.Second<<(attempt-1), time.Minute)):
			case <-n.ctx.Done():
				return
			}
		}
	}
}

func (n *Notifier) run(f record.Floor) (ok bool) {
	line, err := record.Encode(f)
	if err != nil {
		return false
	}
	hook := Hook{
		Command: n.Command,
		Env: []string{
			"SUBSTRATE_SPACE=" + f.Root,
			"SUBSTRATE_THREAD=" + f.Thread,
			"SUBSTRATE_TURN=" + f.Current,
			"SUBSTRATE_STATUS=" + f.Status,
			"SUBSTRATE_TOPIC=" + safe(f.Topic),
		},
		Stdin:  bytes.NewReader(line),
		Stdout: n.Chatter,
		Stderr: n.Chatter,
	}
	status, err := hook.Run(n.ctx)
	if err != nil && n.ctx.Err() == nil {
		n.Say(fmt.Errorf("cannot run the command for %q: %w", f.Thread, err))
	}
	return err == nil && status == 0
}
