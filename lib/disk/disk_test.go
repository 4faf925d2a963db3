package disk_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/substrate-tools/substrate/lib/disk"
)

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// holds checks the content of a file and that its directory has so many names.
func holds(t *testing.T, path, text string, names int) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil || string(got) != text {
		t.Errorf("%s: got %q, %v; want %q", filepath.Base(path), got, err, text)
	}
	count(t, filepath.Dir(path), names)
}

func count(t *testing.T, dir string, names int) {
	t.Helper()
	have, err := os.ReadDir(dir)
	if err != nil || len(have) != names {
		t.Errorf("got names %v, %v; want %d", have, err, names)
	}
}

func TestCreateAndReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"one", "", "two\n"} {
		if err := disk.Replace(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		holds(t, path, text, 1)
	}
	other := path + "2"
	if err := disk.Create(other, []byte("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, other, "new", 2)
	if err := disk.ReplaceLoose(other, []byte("loose")); err != nil {
		t.Fatal(err)
	}
	holds(t, other, "loose", 2)
}

func TestCreateOverwritesNothing(t *testing.T) {
	for what, make := range map[string]func(path string) error{
		"file":          func(path string) error { return os.WriteFile(path, []byte("old"), 0o600) },
		"empty file":    func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"dangling link": func(path string) error { return os.Symlink("nowhere", path) },
		"link to a file": func(path string) error {
			return errors.Join(os.WriteFile(path+"-target", nil, 0o600), os.Symlink(path+"-target", path))
		},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		if err := make(path); err != nil {
			t.Fatal(err)
		}
		before, _ := os.Lstat(path)
		had, _ := os.ReadDir(dir)
		if err := disk.Create(path, []byte("new")); !errors.Is(err, fs.ErrExist) {
			t.Errorf("%s: got %v", what, err)
		}
		after, err := os.Lstat(path)
		if err != nil || !os.SameFile(before, after) || before.Size() != after.Size() {
			t.Errorf("%s: something else stands there now", what)
		}
		if _, err := os.Lstat(filepath.Join(dir, "nowhere")); err == nil {
			t.Errorf("%s: the link was followed", what)
		}
		count(t, dir, len(had)) // no temporary file is left either
	}
}

func TestOneOfManyCreates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	won := make(chan byte, 20)
	var wait sync.WaitGroup
	for i := range byte(20) {
		wait.Go(func() {
			if disk.Create(path, []byte{i}) == nil {
				won <- i
			}
		})
	}
	wait.Wait()
	close(won)
	if len(won) != 1 {
		t.Fatalf("%d have won", len(won))
	}
	holds(t, path, string([]byte{<-won}), 1)
}

func TestReplaceOverADirectoryLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.Mkdir(path, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := disk.Replace(path, []byte("x")); err == nil {
		t.Error("replaced a directory")
	}
	count(t, dir, 1)
}

func TestReplaceTakesThePlaceOfALink(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "target"), "old")
	path := filepath.Join(dir, "f")
	if err := os.Symlink("target", path); err != nil {
		t.Fatal(err)
	}
	if err := disk.Replace(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	holds(t, path, "new", 2)
	holds(t, filepath.Join(dir, "target"), "old", 2)
}

func TestAStagedFileHasNoPublicName(t *testing.T) {
	dir := t.TempDir()
	s, err := disk.Stage(dir, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	have, _ := os.ReadDir(dir)
	if len(have) != 1 || !strings.HasPrefix(have[0].Name(), disk.TempPrefix) || disk.TempPrefix[0] != '.' {
		t.Errorf("got names %v", have)
	}
	s.Discard()
	count(t, dir, 0)
}

func TestDiscardLeavesWhatWasPublished(t *testing.T) {
	dir := t.TempDir()
	s, err := disk.Stage(dir, []byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	temp, _ := os.ReadDir(dir)
	if err := s.Create(filepath.Join(dir, "f")); err != nil {
		t.Fatal(err)
	}
	// Somebody may use the temporary name again.
	put(t, filepath.Join(dir, temp[0].Name()), "another's")
	s.Discard()
	holds(t, filepath.Join(dir, "f"), "x", 2)
}

func TestAfterAFailedCreateAnotherNameMayBeTried(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "taken"), "old")
	s, err := disk.Stage(dir, []byte("new"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(filepath.Join(dir, "taken")); !errors.Is(err, fs.ErrExist) {
		t.Fatalf("got %v", err)
	}
	if err := s.Create(filepath.Join(dir, "free")); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(dir, "free"), "new", 2)
}

func TestStageInNoDirectory(t *testing.T) {
	if _, err := disk.Stage(filepath.Join(t.TempDir(), "none"), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestMoveNew(t *testing.T) {
	dir := t.TempDir()
	temp, err := disk.TempDir(dir)
	if err != nil || !strings.HasPrefix(filepath.Base(temp), disk.TempPrefix) {
		t.Fatalf("got %s, %v", temp, err)
	}
	to := filepath.Join(dir, "d")
	if err := disk.MoveNew(temp, to); err != nil || disk.Exists(temp) || !disk.Exists(to) {
		t.Fatalf("got %v", err)
	}
	for what, make := range map[string]func(path string) error{
		"directory":     func(path string) error { return os.Mkdir(path, 0o700) },
		"file":          func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"dangling link": func(path string) error { return os.Symlink("nowhere", path) },
	} {
		taken := filepath.Join(t.TempDir(), "d")
		if err := make(taken); err != nil {
			t.Fatal(err)
		}
		if err := disk.MoveNew(to, taken); !errors.Is(err, fs.ErrExist) || !disk.Exists(to) {
			t.Errorf("%s: got %v", what, err)
		}
	}
}

func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, "x")
	for range 2 {
		if err := disk.Remove(path); err != nil || disk.Exists(path) {
			t.Errorf("got %v", err)
		}
	}
	if err := os.MkdirAll(filepath.Join(path, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := disk.Remove(path); err == nil {
		t.Error("removed a directory with something in it")
	}
}

func TestMkdirIsExclusive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := disk.Mkdir(dir); err != nil {
		t.Fatal(err)
	}
	if err := disk.Mkdir(dir); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
}

func TestReadFileLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, path, "12345")
	for limit, ok := range map[int64]bool{4: false, 5: true, 6: true} {
		data, err := disk.ReadFile(path, limit)
		if ok && (err != nil || string(data) != "12345") || !ok && !errors.Is(err, disk.ErrTooLarge) {
			t.Errorf("limit %d: got %q, %v", limit, data, err)
		}
	}
	if _, err := disk.ReadFile(path+"-none", 5); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestReadFileFollowsALink(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "f"), "x")
	link := filepath.Join(dir, "l")
	if err := os.Symlink("f", link); err != nil {
		t.Fatal(err)
	}
	if data, err := disk.ReadFile(link, 5); err != nil || string(data) != "x" {
		t.Errorf("got %q, %v", data, err)
	}
}

func TestExistsSeesADanglingLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "l")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if !disk.Exists(link) || !disk.Exists(dir) || disk.Exists(filepath.Join(dir, "nowhere")) {
		t.Error("got it wrong")
	}
}
