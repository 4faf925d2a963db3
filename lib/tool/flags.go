package tool

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
)

// The shared flags. Each means the same in every program that has it, and adds
// its own line to what -h prints.

// Space defines --space, the root of the space to work in.
func (c *Call) Space() *string {
	c.share("--space DIR", "the space (default: the nearest one upward from here)")
	return c.Flags.String("space", "", "")
}

func (c *Call) share(flag, says string) {
	c.shared = append(c.shared, fmt.Sprintf("  %-16s %s", flag, says))
}

// As defines --as, who acts.
func (c *Call) As() *string { return c.Flags.String("as", "", "") }

// For defines --for, whom the answer is for.
func (c *Call) For() *string { return c.Flags.String("for", "", "") }

// Text defines --text: print for people, not records.
func (c *Call) Text() *bool {
	c.share("--text", "print for people, not records")
	return c.Flags.Bool("text", false, "")
}

// LockTimeout defines --lock-timeout, how long a lock is waited for.
func (c *Call) LockTimeout() *time.Duration {
	c.share("--lock-timeout D", "how long a lock is waited for (default 10s)")
	return c.Duration("lock-timeout", 10*time.Second)
}

// Duration defines a flag that is a time of 0 or more, such as 500ms or 10m.
func (c *Call) Duration(name string, value time.Duration) *time.Duration {
	c.Flags.Func(name, "", func(s string) (err error) {
		if value, err = time.ParseDuration(s); err != nil || value < 0 {
			return errors.New("not a time such as 30s or 5m")
		}
		return nil
	})
	return &value
}

// AllSpaces defines -A and --all-spaces: every space in this machine's registry.
func (c *Call) AllSpaces() *bool {
	c.share("-A, --all-spaces", "every space in this machine's registry")
	all := c.Flags.Bool("all-spaces", false, "")
	c.Flags.BoolVar(all, "A", false, "")
	c.Exclude("A", "all-spaces") // two names for one flag
	return all
}

// Count defines a flag that is a number, nil unless it was given.
func (c *Call) Count(name string) **int {
	var n *int
	c.Flags.Func(name, "", func(s string) error {
		v, err := strconv.Atoi(s)
		if err != nil {
			return errors.New("not a number")
		}
		n = &v
		return nil
	})
	return &n
}

// List defines a flag that is a list of names, parted by commas.
func (c *Call) List(name string) *[]string {
	var list []string
	c.Flags.Func(name, "", func(s string) error {
		list = Split(s)
		return nil
	})
	return &list
}

// Split parts a list of names at its commas; blanks around them do not count.
func Split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
}

// Exclude says that only one of the flags can be meant: one given on the command
// line keeps the environment from setting the others.
func (c *Call) Exclude(names ...string) { c.exclusive = append(c.exclusive, names) }

// Without refuses flags that were given together with something that leaves them
// nothing to say.
func (c *Call) Without(thing string, names ...string) error {
	var err error
	c.Flags.Visit(func(f *flag.Flag) {
		if c.given[f.Name] && slices.Contains(names, f.Name) {
			err = c.Misuse("%s goes without %s", thing, dashed(f.Name))
		}
	})
	return err
}

// dashed returns a flag's name as it is typed.
func dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// Room returns the room operand: the first of operands, or where there is none
// the one a hook was called for.
func (c *Call) Room(operands []string) (string, error) {
	if len(operands) > 0 {
		return operands[0], nil
	}
	if room := os.Getenv("SUBSTRATE_THREAD"); room != "" {
		return room, nil
	}
	return "", c.Misuse("which room?")
}

// Actor returns who acts; it is never guessed.
func (c *Call) Actor(as string) (string, error) {
	if as == "" {
		return "", c.Misuse("who acts? give --as NAME")
	}
	return as, nil
}

// Body is where the text of an entry comes from.
type Body struct {
	call    *Call
	message *string
	file    string
	pass    bool
	limit   int
}

// Body defines -f, -m, --pass and --max-body.
func (c *Call) Body(limit int) *Body {
	b := &Body{call: c, limit: limit}
	c.Flags.Func("m", "", func(s string) error {
		b.message = &s
		return nil
	})
	c.Flags.StringVar(&b.file, "f", "", "")
	c.Flags.BoolVar(&b.pass, "pass", false, "")
	c.Flags.Func("max-body", "", func(s string) (err error) {
		if b.limit, err = strconv.Atoi(s); err != nil || b.limit < 1 {
			return errors.New("not a number above 0")
		}
		return nil
	})
	c.Exclude("m", "f", "pass")
	return b
}

// Limit returns the longest body that is wanted, in bytes.
func (b *Body) Limit() int { return b.limit }

// Read returns the text. Of one that is too long it returns a byte more than the
// limit, for whoever checks that to refuse.
func (b *Body) Read() (string, error) {
	given := 0
	for _, is := range []bool{b.message != nil, b.file != "", b.pass} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return "", b.call.Misuse("more than one of -f, -m and --pass")
	case b.pass:
		return "pass", nil
	case b.message != nil:
		return *b.message, nil
	}
	in := b.call.Stdin
	if b.file != "" && b.file != "-" {
		f, err := os.Open(b.file)
		if err != nil {
			return "", fault.New(fault.BadInput, "%w", err)
		}
		defer f.Close()
		in = f
	}
	limit := int64(b.limit)
	if limit < math.MaxInt64 {
		limit++
	}
	data, err := io.ReadAll(io.LimitReader(in, limit))
	if err != nil && b.file != "" {
		err = fault.New(fault.BadInput, "%w", err)
	}
	return string(data), err
}
