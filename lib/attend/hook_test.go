//go:build unix

package attend_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/attend"
	"github.com/substrate-tools/substrate/lib/record"
)

func TestHookStatus(t *testing.T) {
	for command, want := range map[string]int{
		"true": 0, "exit 3": 3, "kill -TERM $$": 143, "kill -KILL $$": 137, "/nosuch/program 2>/dev/null": 127, "exit 128": 128,
	} {
		if got, err := (attend.Hook{Command: command}).Run(t.Context()); got != want || err != nil {
			t.Errorf("%q: %d, %v, want %d", command, got, err, want)
		}
	}
}

func TestHookStreamsAndEnvironment(t *testing.T) {
	t.Setenv("KEPT", "from us")
	t.Setenv("GIVEN", "from us")
	var out, errs bytes.Buffer
	h := attend.Hook{
		Command: `cat; echo "$KEPT, $GIVEN"; echo oops >&2`, Env: []string{"GIVEN=to it"},
		Stdin: strings.NewReader("input\n"), Stdout: &out, Stderr: &errs,
	}
	if status, err := h.Run(t.Context()); status != 0 || err != nil {
		t.Error(status, err)
	}
	if out.String() != "input\nfrom us, to it\n" || errs.String() != "oops\n" {
		t.Errorf("got %q, %q", out.String(), errs.String())
	}
}

// From cron there may be no PATH at all.
func TestHookWithoutPath(t *testing.T) {
	old := os.Getenv("PATH")
	if err := os.Unsetenv("PATH"); err != nil {
		t.Fatal(err)
	}
	defer os.Setenv("PATH", old)
	var out bytes.Buffer
	status, err := attend.Hook{Command: "ls -d / ", Stdout: &out}.Run(t.Context())
	if status != 0 || err != nil || out.String() != "/\n" {
		t.Errorf("%d, %v, %q", status, err, out.String())
	}
}

func TestHookTimeout(t *testing.T) {
	begun := time.Now()
	status, err := attend.Hook{Command: "sleep 100; true", Timeout: 50 * time.Millisecond}.Run(t.Context())
	if !errors.Is(err, attend.ErrTimeout) || status != 143 {
		t.Errorf("%d, %v", status, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := (attend.Hook{Command: "sleep 100; true", Timeout: time.Hour}).Run(ctx); errors.Is(err, attend.ErrTimeout) || err == nil {
		t.Errorf("the end of ctx: %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
}

// A child that ends at once is not waited for because of what it left in the background.
func TestHookLeavesSomethingBehind(t *testing.T) {
	var out bytes.Buffer
	begun := time.Now()
	status, err := attend.Hook{Command: "echo done; sleep 30 &", Stdout: &out}.Run(t.Context())
	if took := time.Since(begun); status != 0 || err != nil || out.String() != "done\n" || took > 10*time.Second {
		t.Errorf("%d, %v, %q after %v", status, err, out.String(), took)
	}
}

func state(room string, version int) record.Floor {
	return record.Floor{Type: "floor", Event: "floor", RoomKeys: record.RoomKeys{Root: "/s", Thread: room, Current: "ann", Status: "active", Version: version}}
}

func read(t *testing.T, file string) string {
	data, err := os.ReadFile(file)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(data)
}

// TestNotifier hands over states faster than the command takes them.
func TestNotifier(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	command := `mkdir "in-$SUBSTRATE_THREAD" || echo "two at once" >>wrong
		sed 's/.*"thread":"\(.\)".*"version":\([0-9]*\).*/\1 \2/' >>seen
		sleep 0.05; rmdir "in-$SUBSTRATE_THREAD"`
	chatter, err := os.Create("chatter") // the commands of both rooms write to it at once
	if err != nil {
		t.Fatal(err)
	}
	defer chatter.Close()
	n := attend.NewNotifier(t.Context(), command, chatter, func(err error) { t.Error(err) })
	var all sync.WaitGroup
	for _, room := range []string{"a", "b"} {
		all.Go(func() {
			for v := range 50 {
				n.Notify(state(room, v+1))
				time.Sleep(time.Millisecond)
			}
		})
	}
	all.Wait()
	n.Close() // waits for the last
	seen := read(t, "seen")
	last := map[string]int{}
	for line := range strings.Lines(seen) {
		var room string
		var v int
		if _, err := fmt.Sscan(line, &room, &v); err != nil || v <= last[room] {
			t.Errorf("%q after %v: %v", line, last, err)
		}
		last[room] = v
	}
	if wrong := read(t, "wrong"); wrong != "" || read(t, "chatter") != "" || last["a"] != 50 || last["b"] != 50 {
		t.Errorf("%s%s%s", seen, wrong, read(t, "chatter"))
	}
}

// TestNotifierFails gives it a newer state while it pauses: that is handed over at once, and the older one never.
func TestNotifierFails(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	command := `sed 's/.*"version":\([0-9]*\).*/\1/' >>seen; [ "$(tail -n 1 seen)" -gt 1 ]`
	n := attend.NewNotifier(t.Context(), command, os.Stderr, func(err error) { t.Error(err) })
	n.Notify(state("a", 1))
	for end := time.Now().Add(time.Minute); !strings.Contains(read(t, "seen"), "1\n"); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the command does not run")
		}
	}
	time.Sleep(20 * time.Millisecond) // it fails now
	n.Notify(state("a", 2))
	n.Close()
	if got := read(t, filepath.Join(dir, "seen")); got != "1\n2\n" {
		t.Errorf("got %q", got)
	}
}

// TestNotifierEnds cancels it in the middle of a command and of a pause.
func TestNotifierEnds(t *testing.T) {
	for _, command := range []string{"sleep 100", "false"} {
		ctx, cancel := context.WithCancel(t.Context())
		n := attend.NewNotifier(ctx, command, os.Stderr, func(err error) { t.Error(err) })
		n.Notify(state("a", 1))
		time.Sleep(50 * time.Millisecond)
		begun := time.Now()
		cancel()
		n.Close()
		if took := time.Since(begun); took > 5*time.Second {
			t.Errorf("%q: ended after %v", command, took)
		}
	}
}
