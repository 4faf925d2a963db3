//go:build !unix

package wake

import "os"

// keyOf returns what is equal for all names of one directory: the path without
// symbolic links, which is what these kernels watch.
func keyOf(path string, _ os.FileInfo) any { return path }
