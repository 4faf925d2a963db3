package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/spawn"
)

// Command is a mind that is a shell command. It is run anew for each turn, in the agent's
// directory, and reads the turn from its standard input as JSON Lines: a turn record,
// then a notification record for each channel. It acts by our programs, or as it likes.
//
// Status 0 says that the turn is done. 99 and 111 are those of our own programs for what
// may go better later; any other has failed. What it prints is its own diary.
type Command struct {
	Line string
	Body body.Body
	Say  func(error)

	mute bool // its diary cannot be written, which was said
}

const (
	mindLog = body.LogsDir + "/mind.log"
	maxLog  = 1 << 20 // at the beginning of a turn, in bytes; then a new one is begun
)

// Take runs the command. When its turn is over, so is everything in its process group,
// in the background or not: nobody acts for an agent outside of a turn.
func (m *Command) Take(ctx context.Context, t Turn) error {
	in, err := t.lines()
	if err != nil {
		return err
	}
	out, err := m.diary()
	if err == nil {
		defer out.Close()
	} else if !m.mute {
		m.Say(fault.New(fault.From(err).Code, "what the mind prints is not kept: %w", err))
	}
	m.mute = err != nil
	cmd := spawn.Shell(ctx, m.Line)
	cmd.Dir, cmd.Env, cmd.Stdin = m.Body.Dir(), t.Environ, in
	if out != nil {
		cmd.Stdout, cmd.Stderr = out, out
	}
	err = cmd.Run()
	cmd.End()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return failure(err)
}

// failure says how a command failed, nil when it did not.
func failure(err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil, errors.Is(err, exec.ErrWaitDelay):
		return nil // one in its background had its input still open
	case !errors.As(err, &exit):
		return &Failure{Err: fault.New(fault.IO, "cannot run the mind: %w", err)}
	}
	status := exit.ExitCode()
	return &Failure{
		Err:       fmt.Errorf("the mind ended with %s", exit.ProcessState),
		Transient: status == fault.StatusAgain || status == fault.StatusLater,
	}
}

// lines returns what the command reads.
func (t Turn) lines() (*bytes.Reader, error) {
	first, err := record.Encode(t.Turn)
	if err != nil {
		return nil, err
	}
	all := bytes.NewBuffer(first)
	for _, n := range t.Channels {
		line, err := record.Encode(n)
		if err != nil {
			return nil, err
		}
		all.Write(line)
	}
	return bytes.NewReader(all.Bytes()), nil
}

// diary opens the file that has what the command prints.
func (m *Command) diary() (*os.File, error) {
	path := m.Body.Path(mindLog)
	if _, err := m.Body.Make(body.LogsDir); err != nil {
		return nil, err
	}
	if info, err := os.Lstat(path); err == nil && info.Size() > maxLog {
		if err := disk.Remove(path + ".1"); err != nil {
			return nil, err
		}
		if err := disk.MoveNew(path, path+".1"); err != nil {
			return nil, err
		}
	}
	if err := disk.MakeLock(path); err != nil { // made the way its directory is shared
		return nil, err
	}
	return disk.Append(path)
}

// Sign is how much the command has printed.
func (m *Command) Sign() int64 {
	info, err := os.Stat(filepath.Join(m.Body.Dir(), mindLog))
	if err != nil {
		return 0
	}
	return info.Size()
}
