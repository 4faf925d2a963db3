// Package home holds this machine's files (spec/rooms-format.md, section 9):
// identity, crew, registry of spaces. They help a machine find things and grant
// no authority. They are read anew at each use; every change is a locked
// read-modify-write; one bad item disables only itself.
package home

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/yamldoc"
)

// Home is the directory of this machine's files.
type Home struct{ dir string }

// maxFile is the largest of the files that is read, in bytes.
const maxFile = 4 << 20

// Open returns $SUBSTRATE_HOME, else ~/.substrate, which need not exist. It
// refuses with usage when the environment names no home directory: a cron job or
// a service that needs none of these files never gets here.
func Open() (Home, error) {
	if dir := os.Getenv("SUBSTRATE_HOME"); dir != "" {
		dir, err := filepath.Abs(dir)
		return Home{dir}, err
	}
	user, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(user) {
		return Home{}, fault.New(fault.Usage, "no home directory: HOME is not set").
			WithHint("set SUBSTRATE_HOME to the directory of this machine's substrate files")
	}
	return Home{filepath.Join(user, ".substrate")}, nil
}

// Dir returns the directory.
func (h Home) Dir() string { return h.dir }

// doc returns one of the files; one that is missing is empty.
func (h Home) doc(file string) (*yamldoc.Doc, error) {
	path := filepath.Join(h.dir, file)
	data, err := disk.ReadFile(path, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	doc, err := yamldoc.Parse(path, data)
	if err != nil {
		return nil, fault.New(fault.Corrupt, "%w", err).WithHint("repair the file by hand; nothing was changed")
	}
	return doc, nil
}

func (h Home) make() error { return os.MkdirAll(h.dir, 0o700) }

// change edits one of the files under its lock. A file that does not parse is
// left alone.
func (h Home) change(ctx context.Context, file string, edit func(*yamldoc.Doc) error) error {
	if err := h.make(); err != nil {
		return err
	}
	unlock, err := disk.Lock(ctx, filepath.Join(h.dir, "."+file+".lock"), 10*time.Second)
	if err != nil {
		return err
	}
	defer unlock()
	doc, err := h.doc(file)
	if err != nil {
		return err
	}
	before := string(doc.Bytes())
	if err := edit(doc); err != nil {
		return err
	}
	if string(doc.Bytes()) == before {
		return nil
	}
	return disk.Replace(filepath.Join(h.dir, file), doc.Bytes())
}
