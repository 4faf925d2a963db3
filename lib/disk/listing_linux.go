package disk

import (
	"encoding/binary"
	"io"
	"strings"

	"golang.org/x/sys/unix"
)

// Regular returns the names of the regular files in the directory, in no order. It is
// for one goroutine, once.
func (d Dir) Regular() ([]string, error) {
	var names []string
	buf := make([]byte, 256<<10)
	for {
		n, err := again(func() (int, error) { return unix.Getdents(d.fd, buf) })
		if err != nil || n <= 0 {
			return names, err
		}
		// Of a struct linux_dirent64: a number, an offset, the length of it all, the kind,
		// the name. One string holds all names of a call.
		all := string(buf[:n])
		for at := 0; at < n; {
			end := at + int(binary.NativeEndian.Uint16(buf[at+16:]))
			name, _, _ := strings.Cut(all[at+19:end], "\x00")
			if kind := buf[at+18]; kind == unix.DT_REG || kind == unix.DT_UNKNOWN && d.regular(name) {
				names = append(names, name)
			}
			at = end
		}
	}
}

// regular asks the file itself, on a file system whose directories do not say.
func (d Dir) regular(name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
}

// Listing is the names in a directory, for who looks for the same dozen again and again:
// all of them cost three calls. It is for one goroutine.
type Listing struct {
	dir   Dir
	buf   []byte
	names []string
	all   map[string]bool
}

// maxListing is how much of a directory is listed, in bytes of its entries.
const maxListing = 64 << 10

// Listing returns one of the directory, on which Look has to be called.
func (d Dir) Listing() *Listing {
	return &Listing{dir: d, buf: make([]byte, 4<<10), all: map[string]bool{}}
}

// Look notes what is there now. It refuses a directory with very many names.
func (l *Listing) Look() error {
	clear(l.all)
	if _, err := unix.Seek(l.dir.fd, 0, io.SeekStart); err != nil {
		return err
	}
	for read := 0; ; {
		n, err := again(func() (int, error) { return unix.Getdents(l.dir.fd, l.buf) })
		switch {
		case err != nil:
			return err
		case n <= 0:
			return nil
		}
		if read += n; read > maxListing {
			return ErrTooLarge
		}
		_, _, l.names = unix.ParseDirent(l.buf[:n], -1, l.names[:0])
		for _, name := range l.names {
			l.all[name] = true
		}
	}
}

// Has reports whether a name was there.
func (l *Listing) Has(name string) bool { return l.all[name] }
