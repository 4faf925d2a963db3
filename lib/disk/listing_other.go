//go:build !linux

package disk

import "os"

// Regular returns the names of the regular files in the directory, in no order.
func (d Dir) Regular() ([]string, error) {
	found, err := os.ReadDir(d.path)
	var names []string
	for _, f := range found {
		if f.Type().IsRegular() {
			names = append(names, f.Name())
		}
	}
	return names, err
}

// Listing is the names in a directory, for who looks for the same dozen again and again.
type Listing struct {
	dir Dir
	all map[string]bool
}

// Listing returns one of the directory, on which Look has to be called.
func (d Dir) Listing() *Listing { return &Listing{d, map[string]bool{}} }

// Look notes what is there now.
func (l *Listing) Look() error {
	clear(l.all)
	found, err := os.ReadDir(l.dir.path)
	for _, f := range found {
		l.all[f.Name()] = true
	}
	return err
}

// Has reports whether a name was there.
func (l *Listing) Has(name string) bool { return l.all[name] }
