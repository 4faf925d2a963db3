package tool

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
)

func TestSharedFlags(t *testing.T) {
	x, _ := call("--space", "/s", "--as", "dan", "--for", "ann", "--text", "--lock-timeout", "2s", "--turns", "a, b,,c", "--expect", "0")
	space, as, who, text, wait := x.Space(), x.As(), x.For(), x.Text(), x.LockTimeout()
	turns, expect, absent := x.List("turns"), x.Count("expect"), x.Count("absent")
	if _, err := x.Parse(0, 0); err != nil {
		t.Fatal(err)
	}
	if *space != "/s" || *as != "dan" || *who != "ann" || !*text || *wait != 2*time.Second {
		t.Errorf("got %q, %q, %q, %v, %v", *space, *as, *who, *text, *wait)
	}
	if !slices.Equal(*turns, []string{"a", "b", "c"}) || *expect == nil || **expect != 0 || *absent != nil {
		t.Errorf("got %q, %v, %v", *turns, *expect, *absent)
	}
}

func TestAllSpacesHasTwoNames(t *testing.T) {
	for _, arg := range []string{"-A", "--all-spaces"} {
		x, _ := call(arg)
		all := x.AllSpaces()
		if _, err := x.Parse(0, 0); err != nil || !*all {
			t.Errorf("%s: got %v, %v", arg, *all, err)
		}
	}
}

func TestRoomIsTheOperandElseTheHooks(t *testing.T) {
	x, _ := call()
	t.Setenv("SUBSTRATE_THREAD", "")
	if _, err := x.Room(nil); !fault.Is(err, fault.Usage) {
		t.Errorf("got %v", err)
	}
	t.Setenv("SUBSTRATE_THREAD", "hook")
	if room, err := x.Room(nil); room != "hook" || err != nil {
		t.Errorf("got %q, %v", room, err)
	}
	if room, err := x.Room([]string{"r", "s"}); room != "r" || err != nil {
		t.Errorf("got %q, %v", room, err)
	}
}

func TestWhoActsIsNeverGuessed(t *testing.T) {
	x, _ := call()
	if _, err := x.Actor(""); !fault.Is(err, fault.Usage) {
		t.Errorf("got %v", err)
	}
	if who, err := x.Actor("dan"); who != "dan" || err != nil {
		t.Errorf("got %q, %v", who, err)
	}
}

func TestBody(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, []byte("from the file"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ what, args, want string }{
		{"standard input", "", "from standard input"},
		{"standard input by name", "-f -", "from standard input"},
		{"a file", "-f " + file, "from the file"},
		{"a message", "-m text", "text"},
		{"an empty message", "-m=", ""},
		{"a pass", "--pass", "pass"},
		{"one byte more than the limit", "--max-body 4", "from "},
		{"exactly the limit", "--max-body 19", "from standard input"},
	} {
		x, _ := call(strings.Fields(c.args)...)
		x.Stdin = strings.NewReader("from standard input")
		body := x.Body(1000)
		if _, err := x.Parse(0, 0); err != nil {
			t.Fatal(err)
		}
		if got, err := body.Read(); got != c.want || err != nil {
			t.Errorf("%s: got %q, %v", c.what, got, err)
		}
	}
	for _, args := range []string{"-m a -f " + file, "-m a --pass", "-m= --pass", "-f " + file + " --pass"} {
		x, _ := call(strings.Fields(args)...)
		body := x.Body(1000)
		if _, err := x.Parse(0, 0); err != nil {
			t.Fatal(err)
		}
		if got, err := body.Read(); !fault.Is(err, fault.Usage) {
			t.Errorf("%s: got %q, %v", args, got, err)
		}
	}
}
