package disk_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/substrate-tools/substrate/lib/disk"
)

func TestRefresh(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "beat")
	for i := range 20 {
		want := strings.Repeat(fmt.Sprint(i), 1+(i*7)%30)
		if err := disk.Refresh(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Fatalf("%d: %q, %v; want %q", i, got, err, want)
		}
	}
	if err := errors.Join(disk.EndRefresh(path), disk.Remove(path)); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestOverwrite(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "beat"), filepath.Join(dir, "other")
	inode := func() int64 { return disk.PrintAt(path).Inode }
	write := func(data string) {
		t.Helper()
		if err := disk.Overwrite(path, []byte(data)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != data {
			t.Fatalf("%q, %v; want %q", got, err, data)
		}
	}
	write("12345")
	first := inode()
	if write("67890"); inode() != first {
		t.Error("as many bytes, and another file")
	}
	if write("123456"); inode() == first {
		t.Error("more bytes, and the same file")
	}
	if err := errors.Join(os.Remove(path), os.WriteFile(other, []byte("secret"), 0o600), os.Symlink("other", path)); err != nil {
		t.Fatal(err)
	}
	write("abcdef")
	if got, err := os.ReadFile(other); err != nil || string(got) != "secret" {
		t.Errorf("written through a link: %q, %v", got, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}

// Whatever stands in its way, the file ends up right.
func TestRefreshOverAnything(t *testing.T) {
	for what, spoil := range map[string]func(path string) error{
		"a directory": func(path string) error { return os.Mkdir(path, 0o755) },
		"a link":      func(path string) error { return os.Symlink("/etc/passwd", path) },
		"a dangling spare": func(path string) error {
			return os.Symlink("/nowhere", filepath.Join(filepath.Dir(path), disk.TempPrefix+"spare-beat"))
		},
	} {
		path := filepath.Join(t.TempDir(), "beat")
		if err := spoil(path); err != nil {
			t.Fatal(err)
		}
		var err error
		for i := range 3 {
			err = disk.Refresh(path, []byte{byte('0' + i)})
		}
		if what == "a directory" && err != nil {
			continue // it is somebody's, and was not refreshed before
		}
		if got, lost := os.ReadFile(path); err != nil || lost != nil || string(got) != "2" {
			t.Errorf("%s: %q, %v, %v", what, got, err, lost)
		}
		if data, err := os.ReadFile("/etc/passwd"); err != nil || len(data) < 10 {
			t.Fatalf("%s: followed", what)
		}
	}
}

// A reader never finds it absent or empty.
func TestRefreshIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "beat")
	a, b := strings.Repeat("a", 4000), strings.Repeat("b", 4000)
	if err := disk.Refresh(path, []byte(a)); err != nil {
		t.Fatal(err)
	}
	stop := make(chan bool)
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if got, err := os.ReadFile(path); err != nil || len(got) == 0 {
				t.Errorf("%d bytes, %v", len(got), err)
				return
			}
		}
	})
	for i := range 2000 {
		if err := disk.Refresh(path, []byte([]string{a, b}[i%2])); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	wait.Wait()
}

func TestHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if held, err := disk.Held(path); held || err != nil || disk.Exists(path) {
		t.Errorf("no file: %v, %v", held, err)
	}
	f, err := disk.Hold(path)
	if err != nil {
		t.Fatal(err)
	}
	if held, err := disk.Held(path); !held || err != nil {
		t.Errorf("held: %v, %v", held, err)
	}
	f.Close()
	if held, err := disk.Held(path); held || err != nil {
		t.Errorf("let go of: %v, %v", held, err)
	}
	if f, err = disk.Hold(path); err != nil {
		t.Errorf("a look keeps it: %v", err)
	}
	f.Close()
}

func TestReplaceLikeKeepsModeAndLink(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "init.json"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("init.json", link); err != nil {
		t.Fatal(err)
	}
	if err := disk.ReplaceLike(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(file)
	data, _ := os.ReadFile(file)
	if err != nil || info.Mode().Perm() != 0o600 || string(data) != "new" {
		t.Errorf("%v, %q, %v", info.Mode(), data, err)
	}
	if to, err := os.Readlink(link); err != nil || to != "init.json" {
		t.Errorf("the link: %q, %v", to, err)
	}
	if err := disk.ReplaceLike(filepath.Join(dir, "none"), nil); !os.IsNotExist(err) {
		t.Errorf("nothing to replace: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 2 {
		t.Errorf("left behind: %v", left)
	}
}
