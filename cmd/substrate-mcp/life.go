package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/mcpserver"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/tool"
)

// life is how a client lives in a body.
type life struct {
	body    body.Body
	wait    time.Duration // for a lock
	environ []string
}

// bodyFlag defines --body. In a mind's environment the variable of that name is set, for
// the programs it runs; a server that a client starts there for its rooms is not to
// become more than that by it, so the environment has no say here.
func bodyFlag(c *tool.Call) *string {
	os.Unsetenv("SUBSTRATE_BODY")
	var dir string
	c.Flags.Func("body", "", func(s string) error {
		if dir = s; s == "" {
			return errors.New("no directory")
		}
		return nil
	})
	return &dir
}

// bodyTools returns the tools of the body in a directory, none for "".
func bodyTools(dir string, wait time.Duration) (all []mcpserver.Tool, err error) {
	if dir == "" {
		return nil, nil
	}
	b, err := body.Find(dir)
	if err != nil {
		return nil, err
	}
	l := life{b, wait, environ()}
	for _, v := range table {
		all = append(all, mcpserver.Tool{
			Name: v.name, Says: fmt.Sprintf(v.says, b.Address()), Takes: v.schema(), Replaces: true, Again: v.again,
			Call: func(_ context.Context, arguments json.RawMessage) ([]json.RawMessage, error) {
				c, err := v.command(l, arguments)
				if err != nil {
					return nil, err
				}
				return l.run(c)
			},
		})
	}
	return all, nil
}

// environ is our environment without the variables that flags are read from: what a
// program is to do is what the call says, and no more.
func environ() []string {
	unwanted := []string{"body", "lock-timeout", "errors", "text", "f", "m"}
	for _, v := range table {
		for _, k := range v.keys {
			for flag := range strings.FieldsSeq(k.to) {
				unwanted = append(unwanted, strings.TrimLeft(flag, "-"))
			}
		}
	}
	return slices.DeleteFunc(os.Environ(), func(pair string) bool {
		variable, _, _ := strings.Cut(pair, "=")
		flag, ours := strings.CutPrefix(variable, "SUBSTRATE_")
		return ours && slices.Contains(unwanted, strings.ReplaceAll(strings.ToLower(flag), "_", "-"))
	})
}

// maxOutput is how much a program may print, in bytes.
const maxOutput = 16 << 20

// run runs a command in the body's directory, as a mind is run there, so that relative
// paths are the same for both. A client that does not wait for it any more does not cut
// it off. It returns the records of the program: what that printed and, behind it, what
// it warned of.
func (l life) run(c command) (records []json.RawMessage, err error) {
	path, err := sibling(c.program)
	if err == nil {
		_, err = body.Find(l.body.Dir()) // it may be gone
	}
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, c.args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.WaitDelay = l.body.Dir(), l.environ, strings.NewReader(c.in), time.Second
	var out, said limited
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	switch {
	case errors.Is(err, syscall.E2BIG):
		return nil, fault.New(fault.TooLarge, "too much input for the arguments of %s", c.program)
	case cmd.ProcessState == nil:
		return nil, fault.New(fault.IO, "cannot run %q: %w", path, err)
	case out.over:
		return nil, fault.New(fault.TooLarge, "%s has more than %d bytes to say", c.program, maxOutput).
			WithHint("it may have done what was asked; ask for less")
	}
	if records, err = out.records(); err != nil {
		return records, fault.New(fault.IO, "%s: %w", c.program, err)
	}
	reported, _ := said.records() // what is none is said to people
	status := cmd.ProcessState.ExitCode()
	warnings, why := sift(reported, status)
	records = append(records, warnings...)
	if why == nil && status != fault.StatusOK && status != fault.StatusNo {
		why = fault.New(fault.IO, "%s ended with %v: %q", c.program, cmd.ProcessState, said.end())
	}
	return records, why
}

// sift finds the error that a status stands for among those that were reported: the
// last one of that status. The others were warnings. With status 1 and no such error
// the answer was no, and is in the records.
func sift(reported []json.RawMessage, status int) (warnings []json.RawMessage, why error) {
	for i, raw := range slices.Backward(reported) {
		var r record.Error
		if json.Unmarshal(raw, &r) != nil || status == fault.StatusOK || fault.Code(r.Code).Status() != status {
			continue
		}
		f := fault.New(fault.Code(r.Code), "%s", r.Message)
		if !strings.HasSuffix(r.Hint, " -h shows the usage") {
			f.Hint = inTools.Replace(r.Hint)
		}
		return slices.Delete(reported, i, i+1), f
	}
	return reported, nil
}

// inTools says with tools what a hint says with programs.
var inTools = func() *strings.Replacer {
	words := map[string]string{}
	for _, v := range table {
		for _, a := range v.actions {
			words[a.command] = v.name + " " + a.name
		}
		for name, k := range v.keys {
			if strings.HasPrefix(k.to, "--") && !strings.HasSuffix(k.to, fed) {
				words[k.to] = name
			}
		}
	}
	var pairs []string
	for _, word := range slices.Backward(slices.Sorted(maps.Keys(words))) { // the longer of two that begin alike
		pairs = append(pairs, word, words[word])
	}
	return strings.NewReplacer(pairs...)
}()

// limited keeps what a program prints, up to a limit.
type limited struct {
	kept bytes.Buffer
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over = l.over || l.kept.Len()+len(p) > maxOutput; l.over {
		return 0, io.ErrShortWrite
	}
	return l.kept.Write(p)
}

// records reads what was printed as records, and returns the first error among them.
func (l *limited) records() (all []json.RawMessage, first error) {
	in := record.NewReader(bytes.NewReader(l.kept.Bytes()))
	for {
		line, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return all, first
		case err == nil:
			all = append(all, line.Raw)
		case first == nil:
			first = err
		}
	}
}

// end is the end of what was printed.
func (l *limited) end() []byte {
	return bytes.TrimSpace(l.kept.Bytes()[max(0, l.kept.Len()-500):])
}
