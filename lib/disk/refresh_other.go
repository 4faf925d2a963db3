//go:build !linux

package disk

// rewrite replaces the content of a regular file that is there.
func rewrite(path string, data []byte) error {
	f, err := Edit(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteAt(data, 0); err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && info.Size() != int64(len(data)) {
		err = f.Truncate(int64(len(data)))
	}
	return err
}
