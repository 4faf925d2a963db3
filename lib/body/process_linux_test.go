package body_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
)

func init() {
	children["idle"] = func() {
		os.Stdout.WriteString("here\n")
		bufio.NewReader(os.Stdin).ReadByte()
	}
	// count says how many runs it sees, and how many a child of it does.
	children["count"] = func() {
		b, _ := body.Open(os.Getenv("BODY_DIR"))
		fmt.Print(len(b.Duplicates()))
		if os.Getenv("BODY_INNER") != "" {
			return
		}
		fmt.Print(" ")
		self, _ := os.Executable()
		inner := exec.Command(self)
		inner.Env = append(os.Environ(), "BODY_INNER=1")
		inner.Stdout, inner.Stderr = os.Stdout, os.Stderr
		inner.Run()
		fmt.Println()
	}
}

// pretend starts a process with this command line, and returns it when it has begun.
func pretend(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := child(t, "idle", "")
	cmd.Args = args
	begun(t, cmd)
	return cmd
}

func TestL02TheProcessTableNamesASecondRun(t *testing.T) {
	b := bodytest.New(t, nil)
	link := filepath.Join(t.TempDir(), "link")
	do(t, os.Symlink(b.Dir(), link))
	if got := b.Duplicates(); len(got) > 0 {
		t.Errorf("got %v", got)
	}
	ours := pretend(t, "/usr/local/bin/substrate-agent", link, "--mind", "x")
	theirs := pretend(t, "python3", "-m", "lingtai", "run", b.Dir())
	pretend(t, "substrate-agent", t.TempDir())
	pretend(t, "substrate-agents", b.Dir())
	want := []int{ours.Process.Pid, theirs.Process.Pid}
	slices.Sort(want)
	got := b.Duplicates()
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	// One that has ended and was not waited for yet is no run.
	do(t, ours.Process.Kill())
	bodytest.Until(t, func() bool { return body.ProcessOf(ours.Process.Pid).PID == 0 })
	if got := b.Duplicates(); !slices.Equal(got, []int{theirs.Process.Pid}) {
		t.Errorf("got %v", got)
	}
}

func TestOurOwnRunIsNoDuplicate(t *testing.T) {
	b := bodytest.New(t, nil)
	cmd := pretend(t, "substrate-agent", b.Dir())
	if got := b.Duplicates(); !slices.Equal(got, []int{cmd.Process.Pid}) {
		t.Fatalf("got %v", got)
	}
	// As that process sees it, and as a child of it does.
	counted := child(t, "count", b.Dir())
	counted.Args = []string{"substrate-agent", b.Dir()}
	out, err := counted.Output()
	if err != nil || string(out) != "1 1\n" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestT53OnlyTheVeryProcessMayBeSignalled(t *testing.T) {
	self := body.ProcessOf(os.Getpid())
	if !self.Is() || self.Host == "" || self.Boot == "" || self.Started == 0 {
		t.Fatalf("got %+v", self)
	}
	other, rebooted, reused, old := self, self, self, self
	other.Host = "other"
	rebooted.Boot = "another"
	reused.Started--
	old.Boot, old.Started, old.Host = "", 0, "" // as the prior runtime writes it: a number alone
	for _, p := range []body.Process{other, rebooted, reused, old, {}, {PID: -1}, {PID: 1 << 30}} {
		if p.Is() {
			t.Errorf("%+v is taken for ours", p)
		}
	}
	cmd := pretend(t, "x ) y (", "z")
	p := body.ProcessOf(cmd.Process.Pid)
	if !p.Is() {
		t.Errorf("got %+v", p)
	}
	do(t, cmd.Process.Kill())
	cmd.Wait()
	if p.Is() {
		t.Error("it has ended")
	}
}
