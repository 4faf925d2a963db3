package export

import (
	"archive/tar"
	"bufio"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

// To begins an export at a path: a tar if it ends in .tar, else a directory. It
// refuses with exists when something is there.
func To(path string) (Sink, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if !disk.Exists(filepath.Dir(path)) {
		return nil, fault.New(fault.BadInput, "no such directory: %q", filepath.Dir(path))
	}
	if disk.Exists(path) {
		return nil, fault.New(fault.Exists, "exists: %q", path)
	}
	if strings.HasSuffix(path, ".tar") {
		f, err := disk.TempFile(filepath.Dir(path))
		if err != nil {
			return nil, err
		}
		return &file{Sink: Tar(f), f: f, final: path}, nil
	}
	temp, err := disk.TempDir(filepath.Dir(path))
	if err == nil {
		err = disk.Mkdir(filepath.Join(temp, entriesDir))
	}
	return &directory{temp, path}, err
}

// directory collects an export under a temporary name.
type directory struct{ temp, final string }

func (d *directory) Put(name string, _ time.Time, _ int64, content io.Reader) error {
	path := filepath.Join(d.temp, filepath.FromSlash(name))
	f, err := disk.TempFile(filepath.Dir(path))
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return err
	}
	return disk.MoveNew(f.Name(), path)
}

func (d *directory) Close(err error) error {
	if err == nil {
		err = disk.MoveNew(d.temp, d.final)
	}
	if err != nil {
		os.RemoveAll(d.temp)
	}
	return err
}

// file collects a tar under a temporary name.
type file struct {
	Sink
	f     *os.File
	final string
}

func (t *file) Close(err error) error {
	err = t.Sink.Close(err)
	if closed := t.f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = disk.MoveNew(t.f.Name(), t.final)
	}
	if err != nil {
		os.Remove(t.f.Name())
	}
	return err
}

// stream writes a tar.
type stream struct {
	tar *tar.Writer
	out *bufio.Writer
}

// Tar returns a sink that writes a tar to w: the same room gives the same bytes.
func Tar(w io.Writer) Sink {
	out := bufio.NewWriter(w)
	return stream{tar.NewWriter(out), out}
}

func (s stream) Put(name string, at time.Time, size int64, content io.Reader) error {
	head := &tar.Header{Name: name, Mode: 0o644, Size: size, ModTime: at.Truncate(time.Second)}
	if err := s.tar.WriteHeader(head); err != nil {
		return err
	}
	_, err := io.Copy(s.tar, content)
	return err
}

func (s stream) Close(err error) error {
	if err == nil {
		err = s.tar.Close()
	}
	if err == nil {
		err = s.out.Flush()
	}
	return err
}
