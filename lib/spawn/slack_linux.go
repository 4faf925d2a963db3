package spawn

import (
	"os"
	"runtime"
	"strings"
	"syscall"
)

// The slack of a thread's timers, in ns: how much later than asked for the kernel may
// wake it, so as to wake many at once. Threads and children begin with that of the
// thread that starts them, and it outlasts an exec.
const (
	usual     = 50_000
	unhurried = 5_000_000

	setSlack, getSlack = 29, 30 // of prctl(2)
)

// marker keeps the program from starting itself over and over where slack does not last.
const marker = "SUBSTRATE_UNHURRIED"

// Unhurried is for a program that does little once a second, for ever: it starts itself
// anew, as the same process, with timers that may be 5 ms late. The thread by which the
// Go runtime watches the others then wakes once where it woke four times, and that is
// nearly half of what such a program costs. It must be called before anything is held;
// where it cannot be done the program just goes on. Commands of this package have the
// usual timers again.
func Unhurried() {
	if os.Getenv(marker) != "" {
		os.Unsetenv(marker)
		return
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if slack() >= unhurried || !slacken(unhurried) {
		return
	}
	self, lost := os.Executable()
	line, err := os.ReadFile("/proc/self/cmdline")
	if args := strings.Split(string(line), "\x00"); lost == nil && err == nil && len(args) > 1 {
		_ = syscall.Exec(self, args[:len(args)-1], append(os.Environ(), marker+"=1"))
	}
	slacken(usual)
}

// slack returns that of this thread, -1 where the kernel does not say.
func slack() int {
	n, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, getSlack, 0, 0)
	if failed != 0 {
		return -1
	}
	return int(n)
}

// slacken sets it, and reports whether it is so.
func slacken(ns int) bool {
	_, _, failed := syscall.RawSyscall(syscall.SYS_PRCTL, setSlack, uintptr(ns), 0)
	return failed == 0 && slack() == ns
}
