package index

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/substrate-tools/substrate/lib/disk"
)

// Publish runs change, which publishes the entry of that name (none when added is empty) or
// anything else in the directory, and remembers the outcome in the file cache.
// The caller holds the room's lock and has held it since x was opened.
//
// That the outcome could not be remembered is no error: nobody believes a file
// that does not agree with its directory.
func (x *Index) Publish(cache string, added string, change func() error) error {
	own := x.Current()
	if err := change(); err != nil {
		return err
	}
	print := disk.PrintAt(x.dir)
	if !own || print == (disk.Print{}) {
		return nil
	}
	if added != "" {
		dir, err := disk.OpenDir(x.dir)
		if err != nil {
			return nil
		}
		defer dir.Close()
		r, err := measure(dir, added, nil)
		if err != nil {
			return nil
		}
		x.save(cache, print, r)
	} else {
		x.save(cache, print)
	}
	return nil
}

// save writes the file so that it holds what x does and the rows that are new.
func (x *Index) save(cache string, print disk.Print, added ...row) {
	unread := func(r row) bool { return r.unread != nil }
	if slices.ContainsFunc(x.mem, unread) || slices.ContainsFunc(added, unread) || ready(filepath.Dir(cache)) != nil {
		return
	}
	x.head.dir, x.head.settled = print, print.Settled(x.dir)
	if x.file != nil {
		x.extend(cache, added)
		return
	}
	for _, r := range added {
		x.add(r)
	}
	all := slices.Clone(x.head.encode())
	for _, r := range x.mem {
		all = append(all, r.encode()...)
	}
	disk.ReplaceLoose(cache, all)
}

// extend appends to the file that x came from. Rows go first: a header is right
// about rows that are there, and whoever has an older one never looks at them.
func (x *Index) extend(cache string, added []row) {
	f, err := disk.Edit(cache)
	if err != nil {
		return
	}
	defer f.Close()
	now, err := f.Stat()
	before, lost := x.file.Stat()
	if err != nil || lost != nil || !os.SameFile(now, before) {
		return // somebody has put another file in its place
	}
	at := int64(size * (1 + x.head.rows))
	for _, r := range added {
		x.add(r)
	}
	for _, r := range x.mem {
		if _, err := f.WriteAt(r.encode(), at); err != nil {
			return
		}
		at += size
	}
	f.WriteAt(x.head.encode(), 0)
}

// ready makes the cache directory, marked as one for programs that make backups
// and kept out of version control.
func ready(dir string) error {
	if info, err := os.Lstat(dir); err == nil {
		if !info.IsDir() {
			return disk.ErrNotRegular // a link, say, to where nothing of ours belongs
		}
		return nil
	}
	if err := disk.Mkdir(dir); err != nil {
		return err
	}
	tag := "Signature: 8a477f597d28d172789f06886806bc55\n# Disposable: derived from the rooms next to it.\n"
	if err := disk.ReplaceLoose(filepath.Join(dir, "CACHEDIR.TAG"), []byte(tag)); err != nil {
		return err
	}
	return disk.ReplaceLoose(filepath.Join(dir, ".gitignore"), []byte("*\n"))
}
