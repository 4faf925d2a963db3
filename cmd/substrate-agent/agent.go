package main

import (
	"context"
	"os"
	"runtime"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/control"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/runner"
	"github.com/substrate-tools/substrate/lib/tool"
)

// options are what an agent runs with in this process. It waits nearly all of the time,
// and more than one processor only makes its waking up dearer.
func options(c *tool.Call, b body.Body, mind string) (runner.Options, error) {
	runtime.GOMAXPROCS(1)
	program, err := os.Executable()
	if err != nil {
		return runner.Options{}, err
	}
	return runner.Options{
		Mind:   &runner.Command{Line: mind, Body: b, Say: c.Warn},
		Launch: control.Launch{Program: program, Mind: mind},
		Host:   preset.Here(), Environ: os.Environ(),
		Threshold: body.ReadEnv(os.LookupEnv).Threshold, Stuck: runner.ReadStuck(os.LookupEnv),
		Grace: body.LeaseGrace, Say: c.Warn,
		HandOver: func() error {
			w, err := control.NewWatcher(b, program)
			if err != nil {
				return err
			}
			return w.Start()
		},
	}, nil
}

// again is the watcher of a refresh. Its one record says that it holds the lock, which
// the agent that makes way waits for.
func again(ctx context.Context, c *tool.Call, operands []string) error {
	if len(operands) > 0 {
		return c.Misuse("--relaunch works in the current directory")
	}
	b, err := body.Find(".")
	if err != nil {
		return err
	}
	return control.Relauncher{
		Body: b, Host: preset.Here(), Environ: os.Environ(), Say: c.Warn,
		Ready: func() error {
			return c.Print(record.Control{
				Type: "control", Op: control.Refresh, By: b.Address(), Address: b.Address(), Dir: b.Dir(),
				Outcome: "watching",
			})
		},
	}.Run(ctx)
}
