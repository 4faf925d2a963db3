//go:build crash && linux && amd64

package cmd_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestCrashErrors makes every call by which a program changes a file fail: once, and from there on as on a disk
// that has died.
func TestCrashErrors(t *testing.T) {
	begin(t)
	t.Parallel()
	for _, sc := range scenarios() {
		switch sc.name {
		case "post-no-transactions", "post-index-behind", "pass", "post-to", "recover-undone", "recover-cleared", "moderate-next":
			continue // they differ from others in what is decided, not in how it is written
		}
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			before, after, end := sc.clean(t)
			said, acked, unknown := 0, 0, 0
			for n := 1; n <= len(end.points); n++ {
				for _, errno := range []syscall.Errno{syscall.EIO, syscall.ENOSPC} {
					for _, dead := range []bool{false, true} {
						if errno == syscall.ENOSPC && (dead || !strings.HasSuffix(sc.name, "post")) {
							continue
						}
						var hit point
						s := newSandbox(t, t.TempDir())
						sc.prepare(s)
						temps := len(s.temps())
						got := trace(t, s.top, s.invoke(sc.args...), func(p point) act {
							if p.n == n {
								hit = p
							}
							if p.n == n || dead && p.n > n {
								return act{fail: errno}
							}
							return act{}
						})
						switch {
						case got.status == 0 && got.stdout != "":
							acked++
							sc.follow(s, after)
						case got.stdout != "":
							t.Errorf("status %d, yet it acknowledges: %s", got.status, got.stdout)
						case got.status != 111 || got.stderr == "":
							t.Errorf("status %d: %q", got.status, got.stderr)
						case strings.Contains(got.stderr, "not known"):
							unknown++
							sc.follow(s, before, after)
						default:
							said++
							sc.follow(s, before)
						}
						if !dead && len(s.temps()) > temps {
							t.Errorf("it leaves %q behind", s.temps())
						}
						if t.Failed() {
							t.Fatalf("%v at %v (dead: %v), status %d: %s\nof %v",
								errno, hit, dead, got.status, got.stderr, got.points)
						}
					}
				}
			}
			t.Logf("%d points: %d failures said so, %d not known, %d did not matter", len(end.points), said, unknown, acked)
		})
	}
}

// temps returns the temporary files in the sandbox.
func (s *sandbox) temps() []string {
	s.Helper()
	var found []string
	for line := range strings.Lines(s.tree()) {
		if path, _, _ := strings.Cut(line, " "); strings.HasPrefix(filepath.Base(path), ".tmp-") {
			found = append(found, path)
		}
	}
	return found
}

// mount mounts something on a new directory until the test ends.
func mount(t *testing.T, args ...string) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", append(args, dir)...).CombinedOutput(); err != nil {
		needs(t, false, "a mount", strings.TrimSpace(string(out)))
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// TestCrashDiskFull fills a file system to within a few pages of its end, at every size, and posts.
func TestCrashDiskFull(t *testing.T) {
	needsRoot(t)
	begin(t)
	for _, body := range []int{10, 5000, 20000} {
		t.Run(fmt.Sprint(body), func(t *testing.T) {
			s := newSandbox(t, mount(t, "-t", "tmpfs", "-o", "size=1m", "tmpfs"))
			s.room(3)
			v := s.see()
			refused, posted := 0, 0
			for free := range 24 {
				ballast := filepath.Join(s.top, "ballast")
				fill(t, ballast, s.top, free)
				c := s.invoke("post", "r", "--as", v.Current, "-m", strings.Repeat("x", body))
				r := c.run(t)
				now := s.see() // while it is full
				switch {
				case r.status == 0:
					posted++
					if now.Version != v.Version+1 {
						t.Errorf("%d pages free: acknowledged, but version %d after %d", free, now.Version, v.Version)
					}
				case r.status != 111 || r.stdout != "" || !strings.Contains(r.stderr, "no space left"):
					t.Errorf("%d pages free: status %d: %s%s", free, r.status, r.stdout, r.stderr)
				case !reflect.DeepEqual(now, v):
					t.Errorf("%d pages free: refused, yet readers see\n%+v\nafter\n%+v", free, now, v)
				default:
					refused++
				}
				if temps := s.temps(); len(temps) > 0 {
					t.Errorf("%d pages free: it leaves %q behind", free, temps)
				}
				if err := os.Remove(ballast); err != nil {
					t.Fatal(err)
				}
				want := goOn(s, now)
				if v = s.see(); !reflect.DeepEqual(v, want) {
					t.Errorf("after freeing\n%+v\nwant\n%+v", v, want)
				}
				s.audit(v)
				if t.Failed() {
					t.FailNow()
				}
			}
			if refused == 0 || posted == 0 {
				t.Errorf("%d refused, %d posted: it never was full, or always", refused, posted)
			}
			t.Logf("%d refused, %d posted", refused, posted)
		})
	}
}

// fill writes a file until only so many pages of 4 KiB are free.
func fill(t *testing.T, path, fs string, pages int) {
	t.Helper()
	var st syscall.Statfs_t
	if err := syscall.Statfs(fs, &st); err != nil {
		t.Fatal(err)
	}
	n := (int(st.Bavail)*int(st.Bsize))/4096 - pages
	if n < 0 {
		t.Fatalf("only %d pages are free, want %d", n+pages, pages)
	}
	if err := os.WriteFile(path, make([]byte, n*4096), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCrashRecoverySyncs: whoever finishes an interrupted post may find entry and config in place, but nothing
// says that their names are durable. They must be made so before the marker says that it is done, and before a
// receipt is given for a repeated ID.
func TestCrashRecoverySyncs(t *testing.T) {
	begin(t)
	for _, last := range []string{"renameat2 ENTRY", "renameat config.yaml"} {
		s := newSandbox(t, t.TempDir())
		s.room(4)
		args := []string{"post", "r", "--as", "ann", "--id", "k", "-m", "new"}
		cut := trace(t, s.top, s.invoke(args...), func(p point) act {
			return act{after: p.call+" "+kind(p.path) == last}
		})
		end := trace(t, s.top, s.invoke(args...), nil)
		if !cut.killed || !strings.Contains(end.stdout, `"duplicate":true`) {
			t.Fatalf("killed %v, then status %d: %s%s", cut.killed, end.status, end.stdout, end.stderr)
		}
		marker := slices.IndexFunc(end.points, func(p point) bool { return kind(p.path) == "MARKER" })
		synced := slices.IndexFunc(end.points, func(p point) bool { return p.call == "fsync" && p.path == s.dir() })
		if synced < 0 || synced > marker {
			t.Errorf("cut off after %s: the marker is written and a receipt given with no sync of the room's directory: %v",
				last, end.points)
		}
	}
}
