package disk

import (
	"io"

	"golang.org/x/sys/unix"
)

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
