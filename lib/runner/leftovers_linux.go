package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/spawn"
)

// session returns the number of the session of processes that we are in, -1 where that
// is not known. It is 0 where the one who began it is in a process namespace around ours,
// as in some containers.
func session() int { return sessionOf(os.Getpid()) }

// sessionOf reads it from the process table: it is the fourth field behind the name.
func sessionOf(pid int) int {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return -1
	}
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 4 || fields[0] == "Z" || fields[0] == "X" {
		return -1
	}
	n, err := strconv.Atoi(fields[3])
	if err != nil {
		return -1
	}
	return n
}

// endLeftovers kills the processes that have a variable in their environment and are in
// a session still: what a mind detached into a session of its own is not its turn's any
// more. It returns how many there were, once they are gone.
func endLeftovers(variable string, session int) (int, error) {
	if session < 0 {
		return 0, nil
	}
	killed := map[int]bool{}
	began := time.Now()
	for ; ; time.Sleep(5 * time.Millisecond) {
		left, blank := leftovers(variable, session)
		for _, pid := range left {
			killed[pid] = true
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended by itself
		}
		switch waited := time.Since(began); {
		case len(left) > 0 && waited > spawn.Grace:
			return len(killed), fault.New(fault.Timeout, "the mind of the agent before does not end: process %v", left)
		case len(left) == 0 && (!blank || waited > blankFor):
			return len(killed), nil
		}
	}
}

// blankFor is how long a process may show no environment because it is just becoming
// another program. Some have none for good.
const blankFor = 100 * time.Millisecond

// leftovers returns the processes of a session that have a variable, and whether there
// is one that shows no environment.
func leftovers(variable string, session int) (left []int, blank bool) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is a good one
	for _, path := range all {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() || sessionOf(pid) != session {
			continue
		}
		environ, err := os.ReadFile(path)
		switch {
		case err != nil: // somebody else's, or it has ended
		case len(environ) == 0:
			blank = true
		case slices.Contains(strings.Split(string(environ), "\x00"), variable):
			left = append(left, pid)
		}
	}
	return left, blank
}
