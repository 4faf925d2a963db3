package wake

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	child     = "WAKE_TEST_CHILD" // the variable that makes TestChild one
	instances = "/proc/sys/user/max_inotify_instances"
	watches   = "/proc/sys/user/max_inotify_watches"
	quick     = 100 * time.Millisecond // the scan interval here
)

// TestLimits runs this test binary where a limit is low: the limits of inotify
// are those of a user namespace.
func TestLimits(t *testing.T) {
	for _, limit := range []string{"files", "instances", "watches", "mounts"} {
		t.Run(limit, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			do(t, err)
			run := `exec "$0" -test.run=^TestChild$ -test.v -test.timeout=60s`
			if limit == "files" {
				run = "ulimit -n 24; " + run
			}
			cmd := exec.Command("sh", "-c", run, self)
			cmd.Env = append(os.Environ(), child+"="+limit)
			if limit != "files" {
				cmd.SysProcAttr = &syscall.SysProcAttr{
					Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
					UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
					GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
				}
			}
			out, err := cmd.CombinedOutput()
			switch {
			case len(out) == 0 && limit != "files":
				t.Skip("no user namespaces here: ", err)
			case err != nil:
				t.Fatalf("%v\n%s", err, out)
			case strings.Contains(string(out), "--- SKIP"):
				t.Skipf("%s", out)
			case !strings.Contains(string(out), "--- PASS: TestChild"):
				t.Fatalf("not run:\n%s", out)
			}
		})
	}
}

func TestChild(t *testing.T) {
	switch os.Getenv(child) {
	case "files":
		childFiles(t)
	case "instances":
		set(t, instances, "0")
		blindThenNot(t, "fs.inotify.max_user_instances is used up", func() { set(t, instances, "9") })
	case "watches":
		childWatches(t)
	case "mounts":
		childMounts(t)
	default:
		t.Skip("for TestLimits")
	}
}

func set(t *testing.T, file, value string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(value), 0); err != nil {
		t.Skip(err)
	}
}

func childFiles(t *testing.T) {
	var all []*os.File
	defer func() {
		for _, f := range all {
			f.Close()
		}
	}()
	blindThenNot(t, "ulimit -n", func() {
		for _, f := range all {
			f.Close()
		}
	}, func() {
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				return
			}
			all = append(all, f)
		}
	})
}

// blindThenNot has a limit reached, and then raised.
func blindThenNot(t *testing.T, limit string, raise func(), reach ...func()) {
	dir := t.TempDir()
	for _, f := range reach {
		f()
	}
	h := hub(t, quick)
	w := h.Watch(dir)
	notice := h.Notice()
	if want := "; scanning every 100ms instead"; !strings.Contains(notice, limit) || !strings.HasSuffix(notice, want) {
		t.Errorf("notice %q", notice)
	}
	start := time.Now()
	do(t, os.Mkdir(filepath.Join(dir, "f"), 0o777)) // needs no descriptor
	for range 3 {
		if dirs, scan := next(t, w); !scan || len(dirs) != 1 || dirs[0] != dir {
			t.Errorf("got %q, scan %v", dirs, scan)
		}
		if h.Notice() != notice {
			t.Errorf("notice %q, earlier %q", h.Notice(), notice)
		}
	}
	if took := time.Since(start); took > 30*quick {
		t.Errorf("3 scans took %v", took)
	}
	raise()
	for h.Notice() != "" {
		next(t, w)
	}
	hasEvents(t, w, dir)
}

// drainScans takes wakes up to and with a scan.
func drainScans(t *testing.T, w *Watch) {
	t.Helper()
	for scan := false; !scan; {
		_, scan = next(t, w)
	}
}

// hasEvents waits until a change in dir wakes by its event. One change may not be
// enough: what coincides with a scan is returned with it.
func hasEvents(t *testing.T, w *Watch, dir string) {
	t.Helper()
	for range 50 {
		drainScans(t, w)
		publish(t, dir, "published")
		if dirs, scan := next(t, w); !scan && slices.Contains(dirs, dir) {
			return
		}
	}
	t.Fatal("no events")
}

func childWatches(t *testing.T) {
	a, b, c := t.TempDir(), t.TempDir(), t.TempDir()
	h := hub(t, quick)
	set(t, watches, "1")
	w := h.Watch(a, b)
	if n := h.Notice(); !strings.Contains(n, "fs.inotify.max_user_watches is used up") {
		t.Errorf("notice %q", n)
	}
	hasEvents(t, w, a) // as before
	w.Remove(a)
	for h.Notice() != "" {
		next(t, w)
	}
	hasEvents(t, w, b)
	w.Add(c)
	if h.Notice() == "" {
		t.Error("no notice")
	}
	w.Remove(c)
	if n := h.Notice(); n != "" {
		t.Errorf("notice %q of a directory that is watched no more", n)
	}
}

func childMounts(t *testing.T) {
	a, b, dir := t.TempDir(), t.TempDir(), t.TempDir()
	for _, m := range []struct {
		from, to, kind string
		flags          uintptr
	}{{a, b, "", syscall.MS_BIND}, {"none", dir, "tmpfs", 0}} {
		if err := syscall.Mount(m.from, m.to, m.kind, m.flags, ""); err != nil {
			t.Skip(err)
		}
		defer syscall.Unmount(m.to, syscall.MNT_DETACH)
	}
	h := hub(t, quick)
	w := h.Watch(a, b)
	hasEvents(t, w, a)
	hasEvents(t, w, b)
	if _, _, n := kernel(t); n != 1 {
		t.Errorf("%d kernel watches of one directory", n)
	}
	w = h.Watch(dir)
	do(t, syscall.Unmount(dir, 0))
	drainScans(t, w)
	hasEvents(t, w, dir)
}
