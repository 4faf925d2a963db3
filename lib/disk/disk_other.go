//go:build !linux && !darwin

package disk

import (
	"errors"
	"io/fs"
)

func renameNew(from, to string) error { return linkNew(from, to) }

const canExchange = false

func exchange(_, _ string) error { return errors.ErrUnsupported }

// Print is what the system notes about a file or directory whenever it changes.
// Here it notes too little: a print is never equal to another, and what was
// derived from files is derived anew each time.
type Print struct {
	Inode, Size, Modified, Changed int64 // times in ns since 1970
}

// PrintOf returns the zero Print, which vouches for nothing.
func PrintOf(fs.FileInfo) Print { return Print{} }

// FileSystem cannot tell here.
func FileSystem(string) (kind string, network bool) { return "a local file system", false }
