package tool

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
)

const usage = "usage: substrate-x ROOM [--as NAME]\n                   [-n N]\n\nDo x.\n\n  --as NAME  who\n\nsubstrate-x r\n"

// call returns a call with these arguments and what it prints.
func call(args ...string) (*Call, *bytes.Buffer) {
	var out bytes.Buffer
	c := &Call{
		Name: "substrate-x", Flags: flag.NewFlagSet("substrate-x", flag.ContinueOnError),
		Stdin: strings.NewReader(""), args: args, usage: usage, out: &out,
	}
	c.Flags.SetOutput(io.Discard)
	c.errors = c.Flags.String("errors", "text", "")
	return c, &out
}

func TestFlagsStandAnywhereAmongOperands(t *testing.T) {
	for _, c := range []struct {
		args     []string
		operands []string
		as       string
		text     bool
	}{
		{[]string{"a", "b"}, []string{"a", "b"}, "", false},
		{[]string{"--as", "dan", "a", "b"}, []string{"a", "b"}, "dan", false},
		{[]string{"a", "--as", "dan", "b"}, []string{"a", "b"}, "dan", false},
		{[]string{"a", "b", "--as=dan"}, []string{"a", "b"}, "dan", false},
		{[]string{"a", "-as", "dan"}, []string{"a"}, "dan", false},
		{[]string{"--text", "a"}, []string{"a"}, "", true}, // takes no value
		{[]string{"--text=false", "a"}, []string{"a"}, "", false},
		{[]string{"-", "a"}, []string{"-", "a"}, "", false},
		{[]string{"--as", "-", "a"}, []string{"a"}, "-", false},
		{[]string{"--as", "--text", "a"}, []string{"a"}, "--text", false},
		{[]string{"--as", "-h"}, nil, "-h", false},
		{[]string{"--as", "x", "--as", "y"}, nil, "y", false},
		{[]string{"--as", "dan", "--", "--text", "-h", "--"}, []string{"--text", "-h", "--"}, "dan", false},
		{[]string{"a", "--", "--as", "dan"}, []string{"a", "--as", "dan"}, "", false},
	} {
		x, _ := call(c.args...)
		as, text := x.As(), x.Text()
		got, err := x.Parse(0, -1)
		if err != nil || !slices.Equal(got, c.operands) || *as != c.as || *text != c.text {
			t.Errorf("%q: got %q, as %q, text %v, %v", c.args, got, *as, *text, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--no-such"}, `unknown flag: "--no-such"`},
		{[]string{"r", "-z=1"}, `unknown flag: "-z=1"`},
		{[]string{"r", "--as"}, `flag needs a value: "--as"`},
		{nil, "operand missing"},
		{[]string{"r", "s"}, `unexpected operand: "s"`},
		{[]string{"r", "--errors", "xml"}, `errors are text or json, not "xml"`},
		{[]string{"r", "--n", "many"}, ""},
		{[]string{"r", "--text=perhaps"}, ""},
	} {
		x, out := call(c.args...)
		x.As()
		x.Text()
		x.Count("n")
		_, err := x.Parse(1, 1)
		if !fault.Is(err, fault.Usage) || c.says != "" && err.Error() != c.says || strings.Contains(fmt.Sprint(err), "\n") {
			t.Errorf("%q: got %v", c.args, err)
		}
		if err != nil && fault.From(err).Hint == "" {
			t.Errorf("%q: no hint", c.args)
		}
		if out.Len() > 0 {
			t.Errorf("%q: printed %q", c.args, out.String())
		}
	}
}

func TestFlagsGivenBeatTheEnvironmentBeatsTheDefault(t *testing.T) {
	for _, c := range []struct {
		args []string
		env  string
		want string
	}{
		{nil, "", "default"},
		{nil, "env", "env"},
		{[]string{"--some-flag", "given"}, "env", "given"},
		{[]string{"--some-flag", ""}, "env", ""},
		{[]string{"--", "--some-flag"}, "env", "env"},
	} {
		t.Setenv("SUBSTRATE_SOME_FLAG", c.env)
		x, _ := call(c.args...)
		got := x.Flags.String("some-flag", "default", "")
		if _, err := x.Parse(0, -1); err != nil || *got != c.want {
			t.Errorf("%q with %q: got %q, %v", c.args, c.env, *got, err)
		}
	}
	t.Setenv("SUBSTRATE_SOME_FLAG", "many")
	x, _ := call()
	x.Count("some-flag")
	if _, err := x.Parse(0, 0); !fault.Is(err, fault.Usage) || !strings.Contains(err.Error(), "SUBSTRATE_SOME_FLAG") {
		t.Errorf("a bad variable is not named: %v", err)
	}
}

func TestExcludeKeepsTheEnvironmentOut(t *testing.T) {
	t.Setenv("SUBSTRATE_ONE_WAY", "env")
	t.Setenv("SUBSTRATE_OTHER", "env")
	t.Setenv("SUBSTRATE_THIRD", "env")
	for _, c := range []struct{ args, one, other, third string }{
		{"", "env", "env", "env"},
		{"--one-way=given", "given", "", "env"},
		{"--other=given", "", "given", "env"},
		{"--third=given", "env", "env", "given"},
	} {
		x, _ := call(strings.Fields(c.args)...)
		one, other := x.Flags.String("one-way", "", ""), x.Flags.String("other", "", "")
		third := x.Flags.String("third", "", "")
		x.Exclude("one-way", "other")
		if _, err := x.Parse(0, 0); err != nil || *one != c.one || *other != c.other || *third != c.third {
			t.Errorf("%s: got %q, %q, %q, %v", c.args, *one, *other, *third, err)
		}
		if os.Getenv("SUBSTRATE_OTHER") != "env" {
			t.Errorf("%s: a child would not see the variable", c.args)
		}
	}
}

func TestHelpAndVersionArePrintedAndEndWell(t *testing.T) {
	for _, arg := range []string{"-h", "--h", "-help", "--help"} {
		x, out := call("r", arg, "--no-such")
		_, err := x.Parse(1, 1)
		if err == nil || x.end(err) != 0 || !strings.HasPrefix(out.String(), "usage: substrate-x ROOM") ||
			!strings.HasSuffix(out.String(), "substrate-x r\n") {
			t.Errorf("%s: got %v after %q", arg, err, out.String())
		}
	}
	x, out := call("--version")
	if _, err := x.Parse(1, 1); err == nil || x.end(err) != 0 || out.String() != "substrate-x "+Version+"\n" {
		t.Errorf("got %v after %q", err, out.String())
	}
}

func TestMisuseIsUsageWithAHint(t *testing.T) {
	x, _ := call()
	f := fault.From(x.Misuse("which %s?", "room"))
	if f.Code != fault.Usage || f.Message != "which room?" || !strings.Contains(f.Hint, "substrate-x") || strings.Contains(f.Hint, "\n") {
		t.Errorf("got %+v", f)
	}
}

// silence keeps what a test reports on standard error out of sight, and returns
// it.
func silence(t *testing.T, do func()) string {
	t.Helper()
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	old := os.Stderr
	os.Stderr = f
	defer func() { os.Stderr = old }()
	do()
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestStatusOfAnEnd(t *testing.T) {
	for _, c := range []struct {
		what string
		err  error
		want int
	}{
		{"well", nil, 0},
		{"no", fault.New(fault.NotYourTurn, "x"), 1},
		{"time-out", fault.New(fault.Timeout, "x"), 99},
		{"usage", fault.New(fault.Usage, "x"), 100},
		{"busy", fault.New(fault.Busy, "x"), 111},
		{"input or output", io.ErrUnexpectedEOF, 111},
		{"permission", fs.ErrPermission, 1},
	} {
		x, _ := call()
		said := silence(t, func() {
			if got := x.end(c.err); got != c.want {
				t.Errorf("%s: got %d", c.what, got)
			}
		})
		if (c.err == nil) != (said == "") {
			t.Errorf("%s: said %q", c.what, said)
		}
	}
}

func TestAClosedPipeIsQuiet(t *testing.T) {
	x, _ := call()
	said := silence(t, func() {
		if got := x.end(&fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}); got != 141 {
			t.Errorf("got %d", got)
		}
	})
	if said != "" {
		t.Errorf("said %q", said)
	}
}

func TestErrorsAreOneLineAndAHint(t *testing.T) {
	x, _ := call()
	err := fault.New(fault.Stale, "stale \x1b[1m").WithHint("look again").In("r").At("dan", 3)
	want := "substrate-x: stale \\x1b[1m\nsubstrate-x: hint: look again\n"
	if got := silence(t, func() { x.end(err) }); got != want {
		t.Errorf("got %q", got)
	}
	x.json = true
	want = `{"type":"error","code":"stale","message":"stale \u001b[1m","hint":"look again","thread":"r","current":"dan","version":3}` + "\n"
	if got := silence(t, func() { x.end(err) }); got != want {
		t.Errorf("got %q", got)
	}
}

func TestTheFirstFailureIsTheStatus(t *testing.T) {
	x, _ := call()
	silence(t, func() {
		x.Warn(errors.New("a warning leaves it alone"))
		x.Fail(fault.New(fault.UnknownThread, "a"))
		x.Fail(fault.New(fault.Usage, "b"))
		x.No()
		if got := x.end(nil); got != 1 {
			t.Errorf("got %d", got)
		}
	})
	x, _ = call()
	if x.No(); x.end(nil) != 1 {
		t.Error("no is not 1")
	}
}
