//go:build !linux

package disk

import "io"

// rewrite replaces the content of a regular file that is there, which is no link, and
// with same has as many bytes.
func rewrite(path string, data []byte, same bool) error {
	f, err := Edit(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && same && info.Size() != int64(len(data)) {
		err = io.ErrShortWrite
	}
	if err != nil {
		return err
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	if info.Size() != int64(len(data)) {
		err = f.Truncate(int64(len(data)))
	}
	return err
}
