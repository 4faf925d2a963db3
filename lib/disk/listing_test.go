//go:build unix

package disk_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/substrate-tools/substrate/lib/disk"
)

// listed fills a directory with all kinds of things and so many files more.
func listed(t *testing.T, more int) (dir string, files []string) {
	t.Helper()
	dir = t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	err := errors.Join(os.Mkdir(at("dir"), 0o700), os.Symlink("a", at("link")), syscall.Mkfifo(at("fifo"), 0o600))
	for i := range more {
		files = append(files, fmt.Sprintf("%s%d", strings.Repeat("x", i%200), i))
	}
	files = append(files, "a", ".hidden", "ü", strings.Repeat("n", 255))
	for _, name := range files {
		err = errors.Join(err, os.WriteFile(at(name), nil, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	return dir, files
}

func TestRegular(t *testing.T) {
	for _, more := range []int{0, 5000} { // more than one call to the kernel
		dir, want := listed(t, more)
		d, err := disk.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.Regular()
		d.Close()
		if slices.Sort(got); err != nil || !slices.Equal(got, want) {
			t.Errorf("%d of %d names, %v", len(got), len(want), err)
		}
	}
}

func TestListing(t *testing.T) {
	dir, _ := listed(t, 100)
	d, err := disk.OpenDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	l := d.Listing()
	has := func(want string) {
		t.Helper()
		if err := l.Look(); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, name := range []string{"a", "dir", "link", "fifo", ".hidden", "ü", "none", "x1"} {
			if l.Has(name) {
				got += name + " "
			}
		}
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	has("a dir link fifo .hidden ü x1 ")
	if err := errors.Join(os.Remove(filepath.Join(dir, "a")), os.WriteFile(filepath.Join(dir, "none"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	has("dir link fifo .hidden ü none x1 ")
	// Of very many it lists none: looking for each is cheaper then. Where it can tell, that is on Linux.
	for i := range 3000 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("many", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Look(); err != nil && !errors.Is(err, disk.ErrTooLarge) {
		t.Error(err)
	}
}
