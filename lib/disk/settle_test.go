package disk

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// TestSettled: after a print that says so of itself, every change gives another one, however soon it comes. It
// looks at $SETTLE_DIR too, for the file system that is there.
func TestSettled(t *testing.T) {
	places := []string{t.TempDir()}
	if dir, err := os.MkdirTemp("/dev/shm", "settle"); err == nil { // tmpfs, mostly
		defer os.RemoveAll(dir)
		places = append(places, dir)
	}
	if dir := os.Getenv("SETTLE_DIR"); dir != "" {
		places = append(places, dir)
	}
	for _, place := range places {
		kind, _ := FileSystem(place)
		for name, change := range map[string]func(dir, beside string) error{
			"create":        func(dir, _ string) error { return os.WriteFile(dir+"/new", nil, 0o644) },
			"remove":        func(dir, _ string) error { return os.Remove(dir + "/old") },
			"rename over":   func(dir, beside string) error { return os.Rename(beside, dir+"/old") },
			"rename within": func(dir, _ string) error { return os.Rename(dir+"/old", dir+"/new") },
			"rename away":   func(dir, beside string) error { return os.Rename(dir+"/old", beside) },
			"link":          func(dir, beside string) error { return os.Link(beside, dir+"/new") },
			"mkdir":         func(dir, _ string) error { return os.Mkdir(dir+"/new", 0o755) },
			"times": func(dir, _ string) error {
				if err := os.Remove(dir + "/old"); err != nil {
					return err
				}
				then := time.Unix(1e9, 0)
				return os.Chtimes(dir, then, then)
			},
		} {
			t.Run(kind+"/"+name, func(t *testing.T) {
				settled, lost := 0, 0
				for range 100 {
					top, err := os.MkdirTemp(place, "top")
					if err != nil {
						t.Fatal(err)
					}
					dir, beside := filepath.Join(top, "dir"), filepath.Join(top, "beside")
					for _, err := range []error{
						os.Mkdir(dir, 0o755), os.WriteFile(dir+"/old", nil, 0o644), os.WriteFile(dir+"/config", nil, 0o644),
						os.WriteFile(beside, []byte("x"), 0o644), os.WriteFile(top+"/config", nil, 0o644),
					} {
						if err != nil {
							t.Fatal(err)
						}
					}
					PrintAt(dir) // as when the room was looked at
					if err := os.Rename(top+"/config", dir+"/config"); err != nil {
						t.Fatal(err)
					}
					print := PrintAt(dir)
					if print.Settled(dir) {
						settled++
						if err := change(dir, beside); err != nil {
							t.Fatal(err)
						}
						if PrintAt(dir) == print {
							lost++
						}
					}
					os.RemoveAll(top)
				}
				if lost > 0 {
					t.Errorf("%d of %d changes do not show in a settled print", lost, settled)
				}
			})
		}
	}
}
