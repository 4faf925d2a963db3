package body

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ProcessOf returns the full name of a process that runs on this machine, the zero
// Process when none has this number.
func ProcessOf(pid int) Process {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil || pid <= 0 {
		return Process{}
	}
	// The second field is a name in parentheses that may hold anything; the start is
	// the 22nd, the 20th behind it.
	_, rest, _ := strings.Cut(string(data[max(bytes.LastIndexByte(data, ')'), 0):]), " ")
	fields := strings.Fields(rest)
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return Process{}
	}
	started, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return Process{}
	}
	host, _ := os.Hostname()
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	return Process{PID: pid, Host: host, Boot: strings.TrimSpace(string(boot)), Started: started}
}

// Duplicates returns the numbers of processes on this machine that run an agent on
// this directory, but for our own and our parent's. It is a courtesy that can name
// them; what keeps a second agent out is the lease.
func (b Body) Duplicates() []int {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil
	}
	var pids []int
	for _, path := range all {
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || pid == os.Getpid() || pid == os.Getppid() {
			continue
		}
		line, err := os.ReadFile(path)
		if err != nil { // it has ended since
			continue
		}
		cwd, _ := os.Readlink(filepath.Join(filepath.Dir(path), "cwd")) // somebody else's may not be known
		if b.Runs(strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), cwd) {
			pids = append(pids, pid)
		}
	}
	return pids
}
