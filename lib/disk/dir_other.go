//go:build !linux

package disk

import "path/filepath"

// Dir is a directory, for looks at very many of its files.
type Dir struct{ Path string }

// OpenDir opens a directory.
func OpenDir(path string) (Dir, error) { return Dir{path}, nil }

// Close lets go of it.
func (d Dir) Close() {}

// Print returns the print of a file in the directory, the zero Print when there
// is none of that name.
func (d Dir) Print(name string) Print { return PrintAt(filepath.Join(d.Path, name)) }
