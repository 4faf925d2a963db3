// Package tool is what every program shares: flags, environment, streams,
// messages, exit status, version. Only here are the process's arguments and
// standard streams touched, and only here does it exit.
package tool

import (
	"bufio"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/peterbourgon/ff/v3"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// Version is what --version prints.
const Version = "0.1.0"

// Call is one run of a program.
type Call struct {
	Name  string // of the program
	Flags *flag.FlagSet
	Stdin io.Reader

	args      []string
	usage     string
	shared    []string // lines of -h about shared flags
	errors    *string
	json      bool // errors are wanted as records, even one about the flags
	out       io.Writer
	text      *bufio.Writer // see TextWriter
	mu        sync.Mutex
	status    int             // of the first record of a stream that failed
	exclusive [][]string      // names of flags; see Exclude
	given     map[string]bool // names of flags on the command line
}

// Main runs a program and exits. usage is what -h prints: it begins with
// "usage: NAME", and its first paragraph is the SYNOPSIS of the program's page.
//
// A program does not catch signals: Ctrl-C ends it at once, and whatever it was
// writing is finished or undone by the next one.
func Main(usage string, run func(*Call) error) {
	name := strings.Fields(usage)[1]
	c := &Call{
		Name:  name,
		Flags: flag.NewFlagSet(name, flag.ContinueOnError),
		Stdin: os.Stdin,
		args:  os.Args[1:],
		usage: usage,
		out:   os.Stdout,
	}
	c.Flags.SetOutput(io.Discard)
	c.errors = c.Flags.String("errors", "text", "")
	c.json = wantsJSON(c.args)
	os.Exit(c.end(run(c)))
}

// wantsJSON looks for --errors json ahead of parsing, which may fail itself.
func wantsJSON(args []string) bool {
	wants := os.Getenv("SUBSTRATE_ERRORS")
	for i, arg := range args {
		switch name, value, valued := strings.Cut(strings.TrimLeft(arg, "-"), "="); {
		case arg == "--":
			return wants == "json"
		case name != "errors" || !strings.HasPrefix(arg, "-"):
		case valued:
			wants = value
		case i+1 < len(args):
			wants = args[i+1]
		}
	}
	return wants == "json"
}

// errHelp ends a program that has printed its help or version.
var errHelp = errors.New("help")

// end reports an error, if there is one, and returns the exit status.
func (c *Call) end(err error) int {
	if c.text != nil {
		err = cmp.Or(err, c.text.Flush())
	}
	var by interrupted
	switch {
	case err == nil:
		return c.status
	case errors.Is(err, errHelp):
		return fault.StatusOK
	case errors.Is(err, syscall.EPIPE):
		return 128 + int(syscall.SIGPIPE)
	case errors.As(err, &by): // see Interruptible
		return 128 + int(by.Signal)
	}
	c.report(fault.From(err))
	return fault.From(err).Code.Status()
}

// report says what went wrong, on standard error.
func (c *Call) report(f *fault.Error) {
	if c.json {
		line, _ := record.Encode(record.ErrorOf(f))
		os.Stderr.Write(line)
		return
	}
	c.Notice("%s", record.OneLine(f.Message))
	if f.Hint != "" {
		c.Notice("hint: %s", record.OneLine(f.Hint))
	}
}

// Fail reports an error that does not keep the program from going on. The exit
// status is that of the first.
func (c *Call) Fail(err error) { c.report(c.note(err)) }

func (c *Call) note(err error) *fault.Error {
	f := fault.From(err)
	c.mu.Lock() // hooks of several rooms may fail at once
	defer c.mu.Unlock()
	if c.status == 0 {
		c.status = f.Code.Status()
	}
	return f
}

// Warn reports what was skipped, which leaves the exit status alone.
func (c *Call) Warn(skipped error) { c.report(fault.From(skipped)) }

// No ends the program with the status of an answer that is no.
func (c *Call) No() { c.status = cmp.Or(c.status, fault.StatusNo) }

// Notice says something to people, on standard error.
func (c *Call) Notice(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", c.Name, Inert(fmt.Sprintf(format, args...)))
}

// Parse reads the flags, which may stand before or after the operands, and
// returns the operands, of which there must be from least to most (below 0: any
// number). Flags that were not given come from SUBSTRATE_<FLAG>.
func (c *Call) Parse(least, most int) ([]string, error) {
	flags, operands, err := c.sort()
	if err != nil {
		return nil, err
	}
	if err := c.Flags.Parse(flags); err != nil {
		return nil, c.Misuse("%s", ofFlag.ReplaceAllString(err.Error(), "for flag --$1"))
	}
	if err := c.environment(); err != nil {
		return nil, err
	}
	if *c.errors != "text" && *c.errors != "json" {
		return nil, c.Misuse("errors are text or json, not %q", *c.errors)
	}
	if c.given["space"] && (c.given["A"] || c.given["all-spaces"]) {
		return nil, c.Misuse("one space or all of them")
	}
	if len(operands) < least {
		return nil, c.Misuse("operand missing")
	}
	if most >= 0 && len(operands) > most {
		return nil, c.Misuse("unexpected operand: %q", operands[most])
	}
	return operands, nil
}

// ofFlag finds a long flag where package flag spells it with one dash.
var ofFlag = regexp.MustCompile(`for flag -(\w[\w-]+)`)

// Misuse is a usage error.
func (c *Call) Misuse(format string, args ...any) error {
	return fault.New(fault.Usage, format, args...).WithHint("%s -h shows the usage", c.Name)
}

// described are the flags whose variables a hook sets to say what it was called
// for. They are no defaults: inside the hook of an ended room, say, a list is to
// show all rooms.
var described = []string{"status", "topic", "from-entry", "through-entry"}

// environment sets the flags that the command line left alone, but for those
// that exclude one given there.
func (c *Call) environment() error {
	const prefix = "SUBSTRATE"
	c.given = map[string]bool{}
	c.Flags.Visit(func(f *flag.Flag) { c.given[f.Name] = true })
	unwanted := slices.Clone(described)
	for _, group := range c.exclusive {
		if slices.ContainsFunc(group, func(name string) bool { return c.given[name] }) {
			unwanted = append(unwanted, group...)
		}
	}
	for _, name := range unwanted {
		variable := prefix + "_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
		if value, set := os.LookupEnv(variable); set {
			defer os.Setenv(variable, value)
			os.Unsetenv(variable)
		}
	}
	if err := ff.Parse(c.Flags, nil, ff.WithEnvVarPrefix(prefix)); err != nil {
		return fault.New(fault.Usage, "%w", err)
	}
	return nil
}

// sort parts the arguments into flags with their values, and operands.
func (c *Call) sort() (flags, operands []string, err error) {
	for i := 0; i < len(c.args); i++ {
		arg := c.args[i]
		switch name := strings.TrimLeft(arg, "-"); {
		case arg == "--":
			return flags, append(operands, c.args[i+1:]...), nil
		case !strings.HasPrefix(arg, "-") || arg == "-":
			operands = append(operands, arg)
		case name == "h" || name == "help":
			return nil, nil, c.help(c.describe())
		case name == "version":
			return nil, nil, c.help(c.Name + " " + Version + "\n")
		default:
			name, _, valued := strings.Cut(name, "=")
			f := c.Flags.Lookup(name)
			if f == nil {
				return nil, nil, c.Misuse("unknown flag: %q", arg)
			}
			flags = append(flags, arg)
			if b, ok := f.Value.(interface{ IsBoolFlag() bool }); valued || ok && b.IsBoolFlag() {
				continue
			}
			if i++; i == len(c.args) {
				return nil, nil, c.Misuse("flag needs a value: %q", arg)
			}
			flags = append(flags, c.args[i])
		}
	}
	return flags, operands, nil
}

// describe returns the usage with the shared flags added to its list of flags,
// which the example at the end follows.
func (c *Call) describe() string {
	at := strings.LastIndex(c.usage, "\n\n")
	shared := append(c.shared, "  --errors json    report errors as records")
	return c.usage[:at] + "\n" + strings.Join(shared, "\n") + c.usage[at:]
}

func (c *Call) help(text string) error {
	if _, err := io.WriteString(c.out, text); err != nil {
		return err
	}
	return errHelp
}
