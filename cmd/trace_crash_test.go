//go:build crash && linux && amd64

package cmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// Why not strace alone. "-e inject=CALL:signal=KILL:when=N" sends the signal when the call is entered, and the
// kernel then skips the call: it kills before. It has no way to kill after one, and it counts "per syscall and
// per tracee" (strace(1)): a Go program changes threads between any two calls, so that N names no particular
// call and some are never hit. The tracer below counts over all threads of a process, and stops at entry and
// exit alike. TestCrashPoints has strace confirm that it sees the same calls.

// A point is one call by which a program changes a file in its sandbox.
type point struct {
	n    int // 1 for the first of the run
	call string
	path string // what it changes; the new name where there are two
	open bool   // it makes a file
}

func (p point) String() string { return fmt.Sprintf("%d %s %s", p.n, p.call, filepath.Base(p.path)) }

// names reports whether the call changes a name.
func (p point) names() bool {
	return !p.open && !strings.HasSuffix(p.call, "sync") && !strings.Contains(p.call, "write") && p.call[0] != 'f'
}

// What to do at a point.
type act struct {
	before, after bool          // kill the process when the call is entered, or when it has returned
	fail          syscall.Errno // make it fail without taking place
	hold          func()        // called when it has returned, before the process goes on
}

// An ending is how a traced run came out.
type ending struct {
	result
	killed bool
	points []point
}

// The calls that change files, by number: name and which argument has the path or, above 10, the descriptor.
var changes = map[uint64]struct {
	call string
	arg  int
}{
	syscall.SYS_RENAME: {"rename", 1}, syscall.SYS_RENAMEAT: {"renameat", 3}, 316: {"renameat2", 3},
	syscall.SYS_LINK: {"link", 1}, syscall.SYS_LINKAT: {"linkat", 3}, syscall.SYS_SYMLINKAT: {"symlinkat", 2},
	syscall.SYS_UNLINK: {"unlink", 0}, syscall.SYS_UNLINKAT: {"unlinkat", 1}, syscall.SYS_RMDIR: {"rmdir", 0},
	syscall.SYS_MKDIR: {"mkdir", 0}, syscall.SYS_MKDIRAT: {"mkdirat", 1},
	syscall.SYS_OPEN: {"open", 0}, syscall.SYS_OPENAT: {"openat", 1},
	syscall.SYS_FSYNC: {"fsync", 10}, syscall.SYS_FDATASYNC: {"fdatasync", 10},
	syscall.SYS_WRITE: {"write", 10}, syscall.SYS_PWRITE64: {"pwrite64", 10}, syscall.SYS_WRITEV: {"writev", 10},
	syscall.SYS_FTRUNCATE: {"ftruncate", 10}, syscall.SYS_FCHMOD: {"fchmod", 10},
}

const (
	wall           = 0x40000000 // __WALL
	getSyscallInfo = 0x420e     // PTRACE_GET_SYSCALL_INFO
	exitKill       = 0x100000   // PTRACE_O_EXITKILL
)

// syscallInfo is struct ptrace_syscall_info.
type syscallInfo struct {
	op   uint8
	_    [3]uint8
	arch uint32
	ip   uint64
	sp   uint64
	nr   uint64 // at exit: the result
	args [6]uint64
}

// trace runs a program and asks at every point below dir what to do there; at may be nil.
func trace(t *testing.T, dir string, c *invocation, at func(point) act) ending {
	t.Helper()
	out := make(chan ending, 1)
	failed := make(chan error, 1)
	go func() {
		// All requests about a tracee have to come from one thread, which ends with this goroutine.
		runtime.LockOSThread()
		tr := &tracer{dir: dir, at: at, tasks: map[int]*task{}}
		e, err := tr.run(c)
		if err != nil {
			failed <- err
			return
		}
		out <- e
	}()
	select {
	case e := <-out:
		return e
	case err := <-failed:
		t.Fatalf("trace %s: %v", c, err)
	case <-time.After(60 * time.Second):
		t.Fatalf("trace %s: did not end", c)
	}
	panic("unreachable")
}

type tracer struct {
	dir   string
	at    func(point) act
	pid   int
	tasks map[int]*task
	ending
}

// A task is a thread of the tracee; act is for the call that it is in.
type task struct{ act *act }

func (tr *tracer) run(c *invocation) (ending, error) {
	var files [3]*os.File
	for i := range files {
		f, err := os.CreateTemp("", "crash-std")
		if err != nil {
			return tr.ending, err
		}
		defer f.Close()
		defer os.Remove(f.Name())
		files[i] = f
	}
	files[0].WriteString(c.stdin)
	files[0].Seek(0, 0)
	p, err := os.StartProcess(c.path(), c.args, &os.ProcAttr{
		Dir: c.dir, Env: c.env, Files: files[:],
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if err != nil {
		return tr.ending, err
	}
	tr.pid = p.Pid
	defer p.Release()
	if err := tr.loop(); err != nil {
		syscall.Kill(tr.pid, syscall.SIGKILL)
		return tr.ending, err
	}
	for i, to := range []*string{&tr.stdout, &tr.stderr} {
		b, err := os.ReadFile(files[i+1].Name())
		if err != nil {
			return tr.ending, err
		}
		*to = string(b)
	}
	return tr.ending, nil
}

func (tr *tracer) loop() error {
	started := false
	for {
		var ws syscall.WaitStatus
		// Its process group keeps the children of other tests out of this.
		tid, err := syscall.Wait4(-tr.pid, &ws, wall, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return fmt.Errorf("wait: %w", err)
		case ws.Exited() || ws.Signaled():
			if tid == tr.pid {
				tr.status, tr.killed = ws.ExitStatus(), ws.Signaled() && ws.Signal() == syscall.SIGKILL
				return nil
			}
			continue
		case !started:
			started = true
			opt := syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACESYSGOOD | exitKill
			if err := syscall.PtraceSetOptions(tid, opt); err != nil {
				return fmt.Errorf("ptrace: %w", err)
			}
			syscall.PtraceSyscall(tid, 0)
			continue
		}
		sig := ws.StopSignal()
		known := tr.tasks[tid] != nil
		if !known {
			tr.tasks[tid] = &task{}
		}
		switch {
		case sig == syscall.SIGTRAP|0x80:
			err, sig = tr.stop(tid), 0
		case sig == syscall.SIGTRAP, sig == syscall.SIGSTOP && !known:
			sig = 0 // a thread was made; a thread begins
		}
		if err == nil {
			err = syscall.PtraceSyscall(tid, int(sig))
		}
		if err != nil && !errors.Is(err, syscall.ESRCH) { // ESRCH: it was killed meanwhile
			return fmt.Errorf("ptrace: %w", err)
		}
	}
}

func (tr *tracer) stop(tid int) error {
	var info syscallInfo
	_, _, e := syscall.Syscall6(syscall.SYS_PTRACE, getSyscallInfo, uintptr(tid),
		unsafe.Sizeof(info), uintptr(unsafe.Pointer(&info)), 0, 0)
	if e != 0 {
		return e
	}
	task := tr.tasks[tid]
	switch {
	case info.op == 1:
		p, ok := tr.point(tid, info.nr, info.args)
		if !ok {
			return nil
		}
		p.n = len(tr.points) + 1
		tr.points = append(tr.points, p)
		if tr.at == nil {
			return nil
		}
		a := tr.at(p)
		task.act = &a
		if a.before {
			return syscall.Kill(tr.pid, syscall.SIGKILL)
		}
		if a.fail != 0 {
			return tr.set(tid, func(r *syscall.PtraceRegs) { r.Orig_rax = ^uint64(0) })
		}
	case info.op == 2 && task.act != nil:
		a := task.act
		task.act = nil
		if a.hold != nil {
			a.hold()
		}
		if a.after {
			return syscall.Kill(tr.pid, syscall.SIGKILL)
		}
		if a.fail != 0 {
			return tr.set(tid, func(r *syscall.PtraceRegs) { r.Rax = uint64(-int64(a.fail)) })
		}
	}
	return nil
}

func (tr *tracer) set(tid int, change func(*syscall.PtraceRegs)) error {
	var r syscall.PtraceRegs
	if err := syscall.PtraceGetRegs(tid, &r); err != nil {
		return err
	}
	change(&r)
	return syscall.PtraceSetRegs(tid, &r)
}

// point reports whether a call changes something in the sandbox.
func (tr *tracer) point(tid int, nr uint64, args [6]uint64) (point, bool) {
	c, ok := changes[nr]
	if !ok {
		return point{}, false
	}
	p := point{call: c.call}
	switch {
	case c.arg == 10:
		p.path, _ = os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", tr.pid, int32(args[0])))
	default:
		p.path = text(tid, args[c.arg])
		if !filepath.IsAbs(p.path) {
			cwd, _ := os.Readlink("/proc/" + strconv.Itoa(tr.pid) + "/cwd")
			p.path = filepath.Join(cwd, p.path)
		}
	}
	if c.call == "openat" || c.call == "open" {
		if args[c.arg+1]&syscall.O_CREAT == 0 {
			return p, false
		}
		p.open = true
	}
	return p, strings.HasPrefix(p.path, tr.dir+"/")
}

// text reads a string from a tracee's memory.
func text(tid int, at uint64) string {
	f, err := os.Open(fmt.Sprintf("/proc/%d/mem", tid))
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, 4096)
	n, _ := f.ReadAt(b[:4096-at%4096], int64(at))
	if i := bytes.IndexByte(b[:n], 0); i >= 0 {
		return string(b[:i])
	}
	m, _ := f.ReadAt(b[n:], int64(at)+int64(n))
	s, _, _ := strings.Cut(string(b[:n+m]), "\x00")
	return s
}
