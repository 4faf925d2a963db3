package runner

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
)

// dieTogether makes the kernel kill the command when we are killed.
func dieTogether(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// startAndWait keeps to one thread, since the kernel takes the end of the thread that
// started a child for the end of its parent.
func startAndWait(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	return cmd.Run()
}

// session returns the number of the session of processes that we are in, 0 where that is
// not known.
func session() int { return sessionOf(os.Getpid()) }

// sessionOf reads it from the process table: it is the fourth field behind the name.
func sessionOf(pid int) int {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 4 || fields[0] == "Z" || fields[0] == "X" {
		return 0
	}
	n, _ := strconv.Atoi(fields[3]) // 0 is no session
	return n
}

// endLeftovers kills the processes that have a variable in their environment and are in
// a session still: what a mind detached into a session of its own is not its turn's any
// more. It returns how many there were, once they are gone.
func endLeftovers(variable string, session int) (int, error) {
	if session == 0 {
		return 0, nil
	}
	killed := map[int]bool{}
	for deadline := time.Now().Add(grace); ; time.Sleep(5 * time.Millisecond) {
		left := leftovers(variable, session)
		for _, pid := range left {
			killed[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
		if len(left) == 0 {
			return len(killed), nil
		}
		if time.Now().After(deadline) {
			return len(killed), fault.New(fault.Timeout, "the mind of the agent before does not end: process %v", left)
		}
	}
}

func leftovers(variable string, session int) []int {
	all, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is a good one
	var left []int
	for _, path := range all {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() {
			continue
		}
		environ, err := os.ReadFile(path)
		if err != nil || !slices.Contains(strings.Split(string(environ), "\x00"), variable) {
			continue
		}
		if sessionOf(pid) == session {
			left = append(left, pid)
		}
	}
	return left
}
