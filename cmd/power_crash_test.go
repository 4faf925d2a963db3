//go:build crash && linux && amd64

package cmd_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

const (
	fsShutdown = 0x8004587d // FS_IOC_SHUTDOWN
	noLogFlush = 2          // what is not on disk is gone
)

// A disk is an ext4 in a file, mounted by a loop device.
type disk struct {
	t         *testing.T
	image, at string
}

func newDisk(t *testing.T) *disk {
	t.Helper()
	dir := t.TempDir()
	d := &disk{t, filepath.Join(dir, "image"), filepath.Join(dir, "mount")}
	if err := os.Mkdir(d.at, 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfs.ext4", "-q", d.image, "64M").CombinedOutput(); err != nil {
		t.Fatalf("mkfs.ext4: %v\n%s", err, out)
	}
	t.Cleanup(func() { d.umount() })
	if out, err := d.mount(); err != nil {
		needs(t, false, "a loop-mounted ext4", strings.TrimSpace(string(out)))
	}
	return d
}

// mount also makes the loop device, which goes with the last mount. Where a process of somebody else keeps the
// last one in a mount namespace of its own, the image would be mounted dead as it is, so a copy takes its place.
func (d *disk) mount() ([]byte, error) {
	if used, err := exec.Command("losetup", "-j", d.image).CombinedOutput(); err != nil || len(used) > 0 {
		if out, err := exec.Command("cp", "--sparse=always", d.image, d.image+"+").CombinedOutput(); err != nil {
			return out, err
		}
		os.Remove(d.image)
		d.image += "+"
	}
	return exec.Command("mount", "-o", "loop", d.image, d.at).CombinedOutput()
}

func (d *disk) umount() error {
	var err error
	for range 100 {
		if err = syscall.Unmount(d.at, 0); err == nil || err == syscall.EINVAL { // EINVAL: it is not mounted
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	syscall.Unmount(d.at, syscall.MNT_DETACH)
	return err
}

// cut takes the power away.
func (d *disk) cut() error {
	f, err := os.Open(d.at)
	if err != nil {
		return err
	}
	defer f.Close()
	flags := uint32(noLogFlush)
	_, _, e := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), fsShutdown, uintptr(unsafe.Pointer(&flags)))
	if e != 0 {
		return e
	}
	return nil
}

type receipt struct {
	Entry, Author, Next string
	Version             int
	body                string
	file                []byte // as it was when it was acknowledged; nil when the power was cut too soon to see
}

// TestCrashPower cuts the power of a disk on which somebody posts, again and again: whatever was acknowledged is
// there afterwards, and the next command works. Some posts are killed and retried before the cut, so that what
// recovery makes durable counts too.
func TestCrashPower(t *testing.T) {
	needsRoot(t)
	needsTool(t, "mkfs.ext4", "e2fsprogs")
	begin(t)
	t.Parallel()
	d := newDisk(t)
	s := newSandbox(t, filepath.Join(d.at, "top"))
	s.room(0)
	if err := exec.Command("sync", "-f", d.at).Run(); err != nil {
		t.Fatal(err)
	}
	cuts := 100
	if testing.Short() {
		cuts = 10
	}
	var receipts []receipt // of every post acknowledged so far, in our memory: not on that disk
	unacked, landed := 0, 0
	for cut := range cuts {
		v := s.look()
		cutAt := time.Now().Add(time.Duration(rand.IntN(150)) * time.Millisecond)
		done := make(chan error, 1)
		go func() {
			time.Sleep(time.Until(cutAt))
			done <- d.cut()
		}()
		author, n := v.Current, 0
		var open string // the body of the post that was not acknowledged
		for open == "" {
			body := fmt.Sprintf("cut %d post %d", cut, n)
			args := []string{"post", "r", "--as", author, "--id", body, "-m", body}
			c := s.invoke(args...)
			if n++; n%3 == 0 { // killed on the way, and retried
				cmd := c.cmd()
				if cmd.Start() == nil {
					time.Sleep(time.Duration(rand.IntN(6000)) * time.Microsecond)
					cmd.Process.Kill()
					cmd.Wait()
				}
			}
			r := c.run(t)
			if r.status != 0 {
				open = body
				break
			}
			got := receipt{body: body}
			s.decode(r.stdout, &got)
			got.file, _ = os.ReadFile(filepath.Join(s.dir(), got.Entry))
			receipts = append(receipts, got)
			author = got.Next
		}
		if err := <-done; err != nil {
			t.Fatalf("FS_IOC_SHUTDOWN: %v", err)
		}
		if err := d.umount(); err != nil {
			t.Fatalf("umount: %v", err)
		}
		if out, err := d.mount(); err != nil {
			t.Fatalf("mount: %v: %s", err, out)
		}
		s.powerBack(receipts, open)
		if t.Failed() {
			t.Fatalf("at cut %d", cut)
		}
		v = s.see()
		if len(v.Entries) > len(receipts) { // it landed, though nobody heard
			landed++
			receipts = append(receipts, receipt{Entry: "", body: open})
		} else {
			unacked++
		}
		var next receipt
		next.body = fmt.Sprintf("after cut %d", cut)
		s.decode(s.must("post", "r", "--as", v.Current, "-m", next.body), &next)
		receipts = append(receipts, next)
		if next.Version != len(receipts) {
			t.Fatalf("cut %d: version %d after %d entries", cut, next.Version, len(receipts))
		}
		s.audit(s.see())
		if t.Failed() {
			t.Fatalf("at cut %d", cut)
		}
	}
	t.Logf("%d cuts, %d entries acknowledged; of the posts in flight %d were there, %d were not",
		cuts, len(receipts)-landed, landed, unacked)
}

// powerBack checks that every acknowledged entry is there, byte for byte, and that the floor agrees.
func (s *sandbox) powerBack(receipts []receipt, open string) {
	s.Helper()
	v := s.see()
	if n := len(v.Entries) - len(receipts); n != 0 && n != 1 {
		s.Errorf("%d entries, %d were acknowledged", len(v.Entries), len(receipts))
		return
	}
	for i, e := range v.Entries {
		want := open
		if i < len(receipts) {
			want = receipts[i].body
		}
		if e != members[i%3]+": "+want {
			s.Errorf("entry %d is %q, want %q", i+1, e, want)
		}
	}
	for _, r := range receipts {
		if r.Entry == "" {
			continue
		}
		data, err := os.ReadFile(filepath.Join(s.dir(), r.Entry))
		if err != nil || !strings.HasSuffix(string(data), "---\n\n"+r.body+"\n") || r.file != nil && !bytes.Equal(data, r.file) {
			s.Errorf("acknowledged entry %s: %v: %q", r.Entry, err, data)
		}
	}
	if v.Version != len(v.Entries) || v.Current != members[v.Version%3] {
		s.Errorf("version %d, %s holds the floor, %d entries", v.Version, v.Current, len(v.Entries))
	}
}
