package disk

import (
	"io/fs"
	"os"
)

// Windows opens neither FIFOs nor, without being asked, symbolic links in the
// places a room has.
const (
	noFollow = 0
	noBlock  = 0
)

func irregular(error) bool { return false }

// Windows cannot sync a directory; NTFS journals names by itself.
func syncDir(*os.File) error { return nil }

func own(*os.File, fs.FileInfo) {}
