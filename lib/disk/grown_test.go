package disk

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, data string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestReadOpenReadsWhatHasGrownSince(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "123")
	f, info, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	long := strings.Repeat("x", 9000)
	write(t, path, long)
	if data, err := readOpen(f, info); err != nil || string(data) != long {
		t.Errorf("got %d bytes, %v", len(data), err)
	}
}

func TestReadOpenReadsWhatHasShrunkSince(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "12345")
	f, info, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	write(t, path, "1")
	if data, err := readOpen(f, info); err != nil || !bytes.Equal(data, []byte("1")) {
		t.Errorf("got %q, %v", data, err)
	}
}
