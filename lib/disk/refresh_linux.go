package disk

import (
	"io"

	"golang.org/x/sys/unix"
)

// rewrite replaces the content of a regular file that is there, which is no link, and
// with same has as many bytes.
func rewrite(path string, data []byte, same bool) error {
	fd, err := again(func() (int, error) {
		return unix.Open(path, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return err
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return ErrNotRegular
	case same && st.Size != int64(len(data)):
		return io.ErrShortWrite
	}
	n, err := again(func() (int, error) { return unix.Pwrite(fd, data, 0) })
	switch {
	case err != nil:
		return err
	case n < len(data):
		return io.ErrShortWrite
	case st.Size > int64(n):
		return unix.Ftruncate(fd, int64(n))
	}
	return nil
}
