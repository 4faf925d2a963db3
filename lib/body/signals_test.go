package body_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

func init() {
	// take takes every .prompt it can get, and says what was in it, until there is a
	// .suspend to end it.
	children["take"] = func() {
		b, err := body.Open(os.Getenv("BODY_DIR"))
		for err == nil && !b.Pending(body.Suspend) {
			var text string
			var taken bool
			if text, taken, err = b.Take(body.Prompt); taken {
				fmt.Println(text)
			} else {
				time.Sleep(100 * time.Microsecond) // the others need the processor too
			}
		}
		fmt.Println("end:", err)
	}
}

func TestASignalIsTakenOnce(t *testing.T) {
	b := bodytest.New(t, nil)
	for _, s := range body.Signals {
		if _, taken, err := b.Take(s); taken || err != nil {
			t.Errorf("%s: got %v, %v", s, taken, err)
		}
		do(t, b.Put(s, ""))
		do(t, b.Put(s, "why\n"))
		if !b.Pending(s) {
			t.Errorf("%s: not there", s)
		}
		if text, taken, err := b.Take(s); text != "why\n" || !taken || err != nil {
			t.Errorf("%s: got %q, %v, %v", s, text, taken, err)
		}
		if _, taken, err := b.Take(s); taken || err != nil {
			t.Errorf("%s: taken twice, %v", s, err)
		}
	}
	if left, _ := os.ReadDir(b.Dir()); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestProcessesThatTakeSignals(t *testing.T) {
	b := bodytest.New(t, nil)
	var out [3]strings.Builder
	var cmds []*exec.Cmd
	for i := range out {
		cmd := child(t, "take", b.Dir())
		cmd.Stdout = &out[i]
		do(t, cmd.Start())
		cmds = append(cmds, cmd)
	}
	// None replaces another: PutNew waits for its turn.
	const n = 50
	for i := range n {
		bodytest.Until(t, func() bool {
			err := b.PutNew(body.Prompt, strconv.Itoa(i))
			if err != nil && !fault.Is(err, fault.Exists) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	bodytest.Until(t, func() bool { return !b.Pending(body.Prompt) })
	do(t, b.Put(body.Suspend, ""))
	seen := map[string]int{}
	for i, cmd := range cmds {
		do(t, cmd.Wait())
		for line := range strings.Lines(out[i].String()) {
			seen[strings.TrimSpace(line)]++
		}
	}
	for i := range n {
		if seen[strconv.Itoa(i)] != 1 {
			t.Errorf("signal %d was taken %d times", i, seen[strconv.Itoa(i)])
		}
	}
	if seen["end: <nil>"] != len(cmds) {
		t.Errorf("got %v", seen)
	}
	clean(t, b)
}

func TestOneOfManyPutsANewSignal(t *testing.T) {
	b := bodytest.New(t, nil)
	var wait sync.WaitGroup
	won := make(chan int, 20)
	for i := range cap(won) {
		wait.Go(func() {
			switch err := b.PutNew(body.RefreshTaken, strconv.Itoa(i)); {
			case err == nil:
				won <- i
			case !fault.Is(err, fault.Exists):
				t.Error(err)
			}
		})
	}
	wait.Wait()
	close(won)
	winner, others := <-won, len(won)
	if text, _, err := b.Take(body.RefreshTaken); others != 0 || text != strconv.Itoa(winner) || err != nil {
		t.Errorf("%d others won; got %q, %v", others, text, err)
	}
	clean(t, b)
}

func TestWhatIsNoSignal(t *testing.T) {
	b := bodytest.New(t, nil)
	do(t, os.Mkdir(b.Path(".sleep"), 0o700))
	do(t, os.Symlink(b.Path("x"), b.Path(".suspend")))
	for _, s := range []body.Signal{body.Sleep, body.Suspend} {
		if _, taken, err := b.Take(s); b.Pending(s) || taken || err != nil {
			t.Errorf("%s: got %v, %v", s, taken, err)
		}
		if was, err := b.Withdraw(s); was || err != nil {
			t.Errorf("%s: got %v, %v", s, was, err)
		}
		if !disk.Exists(b.Path(string(s))) {
			t.Errorf("%s went", s)
		}
	}
	for _, bad := range []body.Signal{"", "sleep", "../x", ".agent.json"} {
		if err := b.Put(bad, ""); !fault.Is(err, fault.BadInput) {
			t.Errorf("%q: got %v", bad, err)
		}
	}
	if err := b.Put(body.Prompt, strings.Repeat("x", 1<<20+1)); !fault.Is(err, fault.TooLarge) || b.Pending(body.Prompt) {
		t.Errorf("got %v", err)
	}
}

func TestAnOversizeSignalIsTakenAllTheSame(t *testing.T) {
	b := bodytest.New(t, map[string]string{".prompt": strings.Repeat("x", 1<<20+1)})
	if _, taken, err := b.Take(body.Prompt); !taken || err == nil {
		t.Errorf("got %v, %v", taken, err)
	}
	if left, _ := filepath.Glob(b.Path(".*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestStaleSignalsGoAtTheStart(t *testing.T) {
	b := bodytest.New(t, map[string]string{".suspend": "", ".refresh": "", ".refresh.taken": "", ".clear": "why", ".interrupt": ""})
	removed, err := b.ClearStale()
	if err != nil || !slices.Equal(removed, []body.Signal{body.Suspend, body.Refresh}) {
		t.Errorf("got %v, %v", removed, err)
	}
	for _, s := range []body.Signal{body.RefreshTaken, body.Clear, body.Interrupt} {
		if !b.Pending(s) {
			t.Errorf("%s went too", s)
		}
	}
	if removed, err := b.ClearStale(); err != nil || len(removed) > 0 {
		t.Errorf("again: got %v, %v", removed, err)
	}
}
