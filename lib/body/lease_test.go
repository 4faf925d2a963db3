package body_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/fault"
)

func init() {
	// hold takes the lease and keeps it until it is killed or its input ends.
	children["hold"] = func() {
		b, err := body.Open(os.Getenv("BODY_DIR"))
		if err == nil {
			_, err = b.Acquire(context.Background(), 0)
		}
		fmt.Println("lease:", err)
		bufio.NewReader(os.Stdin).ReadByte()
	}
}

// holder starts a process that holds the lease of the body in dir, and returns what
// it said about it.
func holder(t *testing.T, dir string) (cmd *exec.Cmd, said string) {
	t.Helper()
	cmd = child(t, "hold", dir)
	return cmd, begun(t, cmd)
}

func TestL02ASecondAgentIsRefusedByAnySpelling(t *testing.T) {
	b := bodytest.New(t, nil)
	link := filepath.Join(t.TempDir(), "link")
	do(t, os.Symlink(b.Dir(), link))
	if _, said := holder(t, b.Dir()); said != "lease: <nil>" {
		t.Fatal(said)
	}
	_, said := holder(t, link)
	if want := fmt.Sprintf("lease: another agent has this directory: %q", b.Dir()); said != want {
		t.Errorf("got %q, want %q", said, want)
	}
	_, err := b.Acquire(t.Context(), 0)
	if !fault.Is(err, fault.Busy) || fault.From(err).Hint != "each agent needs its own directory" {
		t.Errorf("got %v, hint %q", err, fault.From(err).Hint)
	}
	if held, err := b.Held(t.Context()); err != nil || !held {
		t.Errorf("got %v, %v", held, err)
	}
}

func TestTheKernelFreesTheLeaseOfAKilledHolder(t *testing.T) {
	b := bodytest.New(t, nil)
	cmd, _ := holder(t, b.Dir())
	do(t, cmd.Process.Kill())
	lease, err := b.Acquire(t.Context(), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	lease.Release()
	if _, err := os.Stat(b.Path(body.LeaseFile)); err != nil {
		t.Errorf("the lock file went: %v", err)
	}
}

func TestALeftLockFileMeansNothing(t *testing.T) {
	b := bodytest.New(t, map[string]string{body.LeaseFile: "999999\n"})
	old := noon.AddDate(-1, 0, 0)
	do(t, os.Chtimes(b.Path(body.LeaseFile), old, old))
	if held, err := b.Held(t.Context()); err != nil || held {
		t.Errorf("got %v, %v", held, err)
	}
	lease, err := b.Acquire(t.Context(), 0)
	do(t, err)
	lease.Release()
	lease.Release() // again does nothing
	again, err := b.Acquire(t.Context(), 0)
	do(t, err)
	lease.Release() // not even to one who has it now
	if held, err := b.Held(t.Context()); err != nil || !held {
		t.Errorf("a late release freed another's lease: %v, %v", held, err)
	}
	again.Release()
}

func TestAcquireAsksEachQuarterSecond(t *testing.T) {
	b := bodytest.New(t, nil)
	synctest.Test(t, func(t *testing.T) {
		before, err := b.Acquire(t.Context(), 0)
		do(t, err)
		time.AfterFunc(600*time.Millisecond, before.Release)
		began := time.Now()
		lease, err := b.Acquire(t.Context(), body.LeaseGrace)
		if err != nil {
			t.Fatal(err)
		}
		lease.Release()
		if took := time.Since(began); took != 750*time.Millisecond {
			t.Errorf("took %v", took)
		}
	})
}

func TestAcquireGivesUp(t *testing.T) {
	b := bodytest.New(t, nil)
	synctest.Test(t, func(t *testing.T) {
		lease, err := b.Acquire(t.Context(), 0)
		do(t, err)
		defer lease.Release()
		began := time.Now()
		if _, err := b.Acquire(t.Context(), 700*time.Millisecond); !fault.Is(err, fault.Busy) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != 700*time.Millisecond {
			t.Errorf("gave up after %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.Acquire(ctx, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestOneOfManyGetsTheLease(t *testing.T) {
	b := bodytest.New(t, nil)
	said := make(chan string, 8)
	var wait sync.WaitGroup
	for range cap(said) {
		wait.Go(func() {
			_, s := holder(t, b.Dir())
			said <- s
		})
	}
	wait.Wait()
	close(said)
	got := 0
	for s := range said {
		if s == "lease: <nil>" {
			got++
		} else if !strings.Contains(s, "another agent has this directory") {
			t.Errorf("got %q", s)
		}
	}
	if got != 1 {
		t.Errorf("%d got it", got)
	}
}

func TestALeaseThatCannotBeTaken(t *testing.T) {
	b := bodytest.New(t, nil)
	do(t, os.Mkdir(b.Path(body.LeaseFile), 0o700))
	_, err := b.Acquire(t.Context(), time.Minute)
	if err == nil || fault.Is(err, fault.Busy) || !strings.Contains(err.Error(), "cannot take the lease") {
		t.Errorf("got %v", err)
	}
	if held, err := b.Held(t.Context()); held || err == nil {
		t.Errorf("got %v, %v", held, err)
	}
}

func TestLookingMakesNoLockFile(t *testing.T) {
	b := bodytest.New(t, nil)
	if held, err := b.Held(t.Context()); held || err != nil {
		t.Errorf("got %v, %v", held, err)
	}
	if left, _ := os.ReadDir(b.Dir()); len(left) > 0 {
		t.Errorf("made %v", left)
	}
}
