package disk

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/gofrs/flock"
)

// linkNew stands in on file systems without an exclusive rename, which the
// tests of Create hardly ever run on.
func TestLinkNewOverwritesNothing(t *testing.T) {
	for what, make := range map[string]func(path string) error{
		"file":          func(path string) error { return os.WriteFile(path, []byte("old"), 0o600) },
		"directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"dangling link": func(path string) error { return os.Symlink("nowhere", path) },
	} {
		dir := t.TempDir()
		s, err := Stage(dir, []byte("new"))
		if err != nil {
			t.Fatal(err)
		}
		temp, taken := s.temp, filepath.Join(dir, "taken")
		if err := make(taken); err != nil {
			t.Fatal(err)
		}
		if err := s.publish(taken, linkNew); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: got %v", what, err)
		}
		if !Exists(temp) || Exists(filepath.Join(dir, "nowhere")) {
			t.Errorf("%s: the staged file is gone, or the link was followed", what)
		}
		if err := s.publish(filepath.Join(dir, "free"), linkNew); err != nil || Exists(temp) {
			t.Errorf("%s: got %v for a free name", what, err)
		}
		if data, err := os.ReadFile(filepath.Join(dir, "free")); err != nil || string(data) != "new" {
			t.Errorf("%s: got %q, %v", what, data, err)
		}
	}
}

func TestAFileThatCannotBeSyncedIsNotStaged(t *testing.T) {
	dir, broken := t.TempDir(), errors.New("broken")
	if s, err := stage(dir, []byte("x"), func(*os.File) error { return broken }); err != broken || s != nil {
		t.Errorf("got %v, %v", s, err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// A checkout may put another file in the place of the lock file between somebody's
// open and his lock. What he has then is not a lock on what others lock now.
func TestALockIsOnTheFileThatHasTheName(t *testing.T) {
	path := filepath.Join(t.TempDir(), ".lock")
	if err := MakeLock(path); err != nil {
		t.Fatal(err)
	}
	file := flock.New(path, flock.SetFlag(os.O_RDWR))
	if locked, err := file.TryLock(); !locked || err != nil || !named(file, path) {
		t.Fatalf("got %v, %v", locked, err)
	}
	defer file.Unlock()
	if err := Replace(path, nil); err != nil {
		t.Fatal(err)
	}
	if named(file, path) {
		t.Error("the lock is on a file that has no name any more")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if named(file, path) {
		t.Error("there is no file of that name")
	}
}
