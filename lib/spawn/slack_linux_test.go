package spawn_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/spawn"
)

func TestMain(m *testing.M) {
	if os.Getenv("SPAWN_CHILD") != "" {
		spawn.Unhurried()
		data, _ := os.ReadFile("/proc/self/timerslack_ns")
		c := spawn.Shell(context.Background(), "cat /proc/self/timerslack_ns; env | grep -c UNHURRIED")
		c.Stdout = os.Stdout
		os.Stdout.Write(data)
		c.Run()
		os.Exit(7)
	}
	os.Exit(m.Run())
}

// The program starts itself once, as the same process; what it starts does not hear of it.
func TestUnhurried(t *testing.T) {
	cmd := exec.Command(os.Args[0], "an argument")
	cmd.Env = append(os.Environ(), "SPAWN_CHILD=1")
	out, err := cmd.Output()
	if got := strings.Fields(string(out)); strings.Join(got, " ") != "5000000 50000 0" || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("%q, %v", got, err)
	}
}
