package main

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/tool"
)

// forms are the flags that mean another program, which is then run in our place.
type forms struct{ http, install, uninstall *string }

// siblings defines those flags, and those that the other programs alone know.
func siblings(flags *flag.FlagSet) forms {
	flags.String("keys", "", "")
	flags.Bool("listen-anywhere", false, "")
	flags.String("file", "", "")
	flags.Bool("write", false, "")
	return forms{flags.String("http", "", ""), flags.String("install", "", ""), flags.String("uninstall", "", "")}
}

// command returns the command of the program that is meant, nil when it is this one.
func (f forms) command(c *tool.Call, spaces []string) (args []string, err error) {
	ours, web, setup := []string{"lock-timeout", "debug"}, []string{"keys", "listen-anywhere"}, []string{"file", "write"}
	body := []string{"body"}
	var passed []string
	switch {
	case *f.http+*f.install+*f.uninstall == "":
		return nil, c.Without("this form", append(web, setup...)...)
	case *f.install+*f.uninstall == "":
		args, passed = []string{"substrate-mcp-http", *f.http}, append(ours, web...)
		err = c.Without("--http", append(setup, body...)...)
	case *f.http == "" && (*f.install == "" || *f.uninstall == ""):
		args, passed = []string{"substrate-mcp-install", *f.install + *f.uninstall}, setup
		if *f.uninstall != "" {
			args = append(args, "--remove")
		}
		err = c.Without("--install", slices.Concat(ours, web, body)...)
	default:
		err = c.Misuse("more than one of --http, --install and --uninstall")
	}
	c.Flags.Visit(func(g *flag.Flag) {
		if slices.Contains(append(passed, "name", "errors"), g.Name) {
			args = append(args, "--"+g.Name+"="+g.Value.String())
		}
	})
	for _, dir := range spaces {
		args = append(args, "--space="+dir)
	}
	return args, err
}

// sibling returns where a program of ours is: beside this one.
func sibling(program string) (string, error) {
	self, err := os.Executable()
	return filepath.Join(filepath.Dir(self), program), err
}

// become runs a program from our own directory in our place, unless there was an error.
func become(args []string, err error) error {
	if err != nil {
		return err
	}
	path, err := sibling(args[0])
	if err != nil {
		return err
	}
	err = syscall.Exec(path, args, os.Environ())
	return fault.New(fault.Usage, "cannot run %q: %w", path, err).WithHint("run %s yourself", args[0])
}
