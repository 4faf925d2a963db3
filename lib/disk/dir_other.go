//go:build !linux

package disk

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Dir is a directory, for looks at very many of its files.
type Dir struct{ path string }

// OpenDir opens a directory.
func OpenDir(path string) (Dir, error) { return Dir{path}, nil }

// Close lets go of it. Nobody may be looking any more.
func (d Dir) Close() {}

// Print returns the print of a file in the directory, the zero Print when there
// is none of that name.
func (d Dir) Print(name string) Print { return PrintAt(filepath.Join(d.path, name)) }

// Read returns the content of a regular file in the directory, up to limit bytes,
// and its print when it was opened. What Open refuses, it refuses.
func (d Dir) Read(name string, limit int64) ([]byte, Print, error) {
	f, info, err := Open(filepath.Join(d.path, name))
	if err != nil {
		return nil, Print{}, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, Print{}, &fs.PathError{Op: "read", Path: f.Name(), Err: ErrTooLarge}
	}
	data, err := readOpen(f, info)
	return data, PrintOf(info), err
}

// PrintAt returns the print of whatever is at path, the zero Print when nothing is.
func PrintAt(path string) Print {
	info, err := os.Lstat(path)
	if err != nil {
		return Print{}
	}
	return PrintOf(info)
}
