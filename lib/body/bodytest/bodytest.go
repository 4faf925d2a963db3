// Package bodytest makes bodies for tests and does to their files what others do.
package bodytest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
)

// New makes a body with these files, in a directory of the test's own.
func New(t testing.TB, files map[string]string) body.Body {
	t.Helper()
	return At(t, t.TempDir(), files)
}

// At makes one in a directory, whose name is its address.
func At(t testing.TB, dir string, files map[string]string) body.Body {
	t.Helper()
	Do(t, os.MkdirAll(dir, 0o755))
	for name, text := range files {
		Write(t, filepath.Join(dir, name), text)
	}
	b, err := body.Open(dir)
	Do(t, err)
	return b
}

// Do ends the test where what it does has failed.
func Do(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Write writes a file, and makes the directories it is in.
func Write(t testing.TB, path, text string) {
	t.Helper()
	Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	Do(t, os.WriteFile(path, []byte(text), 0o644))
}

// Contents reads a file that has to be there.
func Contents(t testing.TB, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	Do(t, err)
	return string(data)
}

// Until polls until something is so.
func Until(t testing.TB, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(100 * time.Microsecond) {
		if time.Now().After(end) {
			t.Fatal("it did not happen within a minute")
		}
	}
}
