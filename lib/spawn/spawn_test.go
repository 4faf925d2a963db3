//go:build unix

package spawn_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/spawn"
)

func TestStatus(t *testing.T) {
	for line, want := range map[string]int{"true": 0, "exit 7": 7, "kill -TERM $$": 143, "/nosuch": 127} {
		c := spawn.Shell(t.Context(), line)
		c.Run()
		if c.End(); c.Status() != want {
			t.Errorf("%q: %d, want %d", line, c.Status(), want)
		}
	}
	if c := spawn.Shell(t.Context(), "true"); c.Status() != -1 {
		t.Errorf("not run: %d", c.Status())
	} else {
		c.End() // nothing to end
	}
}

// cut runs a script behind a shell, which is gone at once, and cuts it off when it is up.
func cut(t *testing.T, script string) (took time.Duration, said string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	up, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	c := spawn.Shell(ctx, "sh ./script; true")
	c.Dir, c.Stdout = dir, out
	var began time.Time
	go func() {
		bufio.NewReader(up).ReadString('\n')
		began = time.Now()
		cancel()
	}()
	c.Run()
	c.End()
	out.Close()
	data, _ := os.ReadFile(filepath.Join(dir, "said"))
	return time.Since(began), string(data)
}

func TestTimeToEndIn(t *testing.T) {
	if _, said := cut(t, "trap 'sleep .3; echo late >said; exit 0' TERM\necho up\nwhile :; do sleep .05; done"); said != "late\n" {
		t.Errorf("%q: it was killed first", said)
	}
	took, said := cut(t, "trap '' TERM\necho up\nwhile :; do sleep .05; done; echo late >said")
	if said != "" || took < spawn.Grace || took > 3*spawn.Grace {
		t.Errorf("deaf: gone after %v, %q", took, said)
	}
}
