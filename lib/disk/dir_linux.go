package disk

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Dir is an open directory, for looks at very many of its files: a call to the
// kernel costs more than what it does here, so there are as few as can be.
type Dir struct {
	f  *os.File
	fd int
}

// OpenDir opens a directory.
func OpenDir(path string) (Dir, error) {
	f, err := os.Open(path)
	if err != nil {
		return Dir{}, err
	}
	return Dir{f, int(f.Fd())}, nil
}

// Close lets go of it. Nobody may be looking any more.
func (d Dir) Close() { d.f.Close() }

func printOf(st *unix.Stat_t) Print {
	return Print{int64(st.Ino), st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}

// Print returns the print of a file in the directory, the zero Print when there
// is none of that name.
func (d Dir) Print(name string) Print {
	var st unix.Stat_t
	if unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
		return Print{}
	}
	return printOf(&st)
}

// Read returns the content of a regular file in the directory, up to limit bytes,
// and its print when it was opened. What Open refuses, it refuses.
func (d Dir) Read(name string, limit int64) ([]byte, Print, error) {
	fail := func(op string, err error) ([]byte, Print, error) {
		if irregular(err) {
			err = ErrNotRegular
		}
		return nil, Print{}, &fs.PathError{Op: op, Path: name, Err: err}
	}
	fd, err := again(func() (int, error) {
		return unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return fail("open", err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	switch err := unix.Fstat(fd, &st); {
	case err != nil:
		return fail("stat", err)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fail("open", ErrNotRegular)
	case st.Size > limit:
		return fail("read", ErrTooLarge)
	}
	data := make([]byte, st.Size)
	for n := 0; n < len(data); {
		more, err := again(func() (int, error) { return unix.Read(fd, data[n:]) })
		if err != nil {
			return fail("read", err)
		}
		if more == 0 {
			data = data[:n] // it has been cut since
			break
		}
		n += more
	}
	return data, printOf(&st), nil
}

// again makes a call until no signal interrupts it.
func again(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
