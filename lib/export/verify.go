package export

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// Checked is an export that agrees with its own manifest.
type Checked struct {
	Record   record.Export
	Rows     []transcript.Row
	Manifest []byte
	// Signature is of the manifest, nil when it has none. That it is there says
	// nothing yet; see VerifySignature.
	Signature []byte
}

// manifest is what a manifest file holds.
type manifest struct {
	transcript.Summary
	Entries []transcript.Row `json:"entries"`
}

// differs is the error for the first thing that is not as the manifest says.
func differs(format string, args ...any) error {
	return fault.New(fault.Corrupt, format, args...).WithHint("the export was changed, or is not whole")
}

// changed is the error for the first thing in a room that is not as it was exported.
func changed(format string, args ...any) error {
	return fault.New(fault.Corrupt, format, args...).WithHint("the export itself is whole")
}

// Verify checks the export in a directory against its manifest: every entry's
// size, hash and lines, their order, the transcript, and that nothing is missing
// or added. The error names the first difference and has the code corrupt.
func Verify(dir fs.FS) (Checked, error) {
	c := Checked{Record: record.Export{Type: "verified"}}
	_, err := fs.Stat(dir, manifestFile)
	if err != nil {
		return c, differs("no manifest: %w", err)
	}
	if err = regular(dir); err != nil {
		return c, err
	}
	if c.Manifest, err = fs.ReadFile(dir, manifestFile); err != nil {
		return c, differs("no manifest: %w", err)
	}
	var m manifest
	if err := json.Unmarshal(c.Manifest, &m); err != nil {
		return c, differs("manifest does not parse: %w", err)
	}
	c.Rows = m.Entries
	c.Record.Thread, c.Record.Version = m.Thread, m.ThreadVersion
	c.Record.Entries, c.Record.ManifestSHA256 = len(m.Entries), digest(c.Manifest)
	line, err := c.verifyEntries(dir)
	switch {
	case err != nil:
	case line != m.TotalLines, len(m.Entries) != m.VisibleEntries, m.NoOpEntries < 0, m.VisibleEntries+m.NoOpEntries != m.ThreadVersion:
		err = differs("manifest's totals are not those of its entries")
	default:
		err = unexpected(dir, m.Entries)
	}
	if err == nil {
		written := &same{rest: c.Manifest}
		err = transcript.WriteManifest(written, m.Summary, entriesOf(m.Entries))
		if err == nil && (written.differs || len(written.rest) > 0) {
			err = differs("manifest is not as it was written")
		}
	}
	if err != nil {
		return c, err
	}
	c.Signature, err = fs.ReadFile(dir, signatureFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	c.Record.Signed = c.Signature != nil
	return c, err
}

// verifyEntries checks the entries and, along with them, the transcript, and returns
// how many lines that has.
func (c *Checked) verifyEntries(dir fs.FS) (line int, err error) {
	f, err := dir.Open(transcriptFile)
	if err != nil {
		return 0, differs("no transcript: %w", err)
	}
	defer f.Close()
	text := bufio.NewReader(f)
	for _, row := range c.Rows {
		e, err := verifyEntry(dir, row, line+1, c.Record.ThroughEntry)
		if err != nil {
			return line, err
		}
		if !next(text, transcript.Text(e)) {
			return line, differs("transcript differs from entry: %q", row.Filename)
		}
		line = e.EndLine()
		c.Record.ThroughEntry, c.Record.Bytes = row.Filename, c.Record.Bytes+row.ByteLength
	}
	switch _, end := text.ReadByte(); {
	case end == nil:
		return line, differs("transcript goes on after the last entry")
	case !errors.Is(end, io.EOF):
		return line, differs("no transcript: %w", end)
	}
	return line, nil
}

// next reads a text, and reports whether it is the one that comes next.
func next(in io.Reader, text string) bool {
	got := make([]byte, len(text))
	_, err := io.ReadFull(in, got)
	return err == nil && string(got) == text
}

// same compares what is written with what was read.
type same struct {
	rest    []byte
	differs bool
}

func (s *same) Write(p []byte) (int, error) {
	rest, ok := bytes.CutPrefix(s.rest, p)
	s.rest, s.differs = rest, s.differs || !ok
	return len(p), nil
}

// entriesOf yields the entries of a manifest's rows.
func entriesOf(rows []transcript.Row) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		for _, r := range rows {
			if e, _ := r.Entry(); !yield(e, nil) {
				return
			}
		}
	}
}

// verifyEntry checks one entry, which begins at a line and comes after another.
func verifyEntry(dir fs.FS, row transcript.Row, line int, last string) (transcript.Entry, error) {
	e, ok := transcript.ParseName(row.Filename)
	if !ok || e.Pass || row.Filename <= last {
		return e, differs("manifest lists no entry, or out of order: %q", row.Filename)
	}
	data, err := fs.ReadFile(dir, path.Join(entriesDir, row.Filename))
	if err != nil {
		return e, differs("entry is missing: %q", row.Filename)
	}
	e.Body, e.ID = transcript.ParseFile(data)
	e.StartLine, e.Lines = line, transcript.LinesOf(e.Body)
	e.Bytes, e.SHA256 = int64(len(data)), digest(data)
	switch now := transcript.RowOf(e); {
	case now.SHA256 != row.SHA256 || now.ByteLength != row.ByteLength:
		return e, differs("entry was changed: %q", row.Filename)
	case now != row:
		return e, differs("manifest is wrong about entry: %q", row.Filename)
	}
	return e, nil
}

// regular looks for what no export holds and reading could follow or wait for.
func regular(dir fs.FS) error {
	return fs.WalkDir(dir, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			err = differs("not a regular file: %q", name)
		}
		return err
	})
}

// unexpected looks for what the manifest does not list.
func unexpected(dir fs.FS, rows []transcript.Row) error {
	expected := map[string]bool{".": true, entriesDir: true, manifestFile: true, signatureFile: true, transcriptFile: true}
	for _, row := range rows {
		expected[path.Join(entriesDir, row.Filename)] = true
	}
	return fs.WalkDir(dir, ".", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && !expected[name] {
			err = differs("file was added: %q", name)
		}
		return err
	})
}

// Compare says which entry of an export a room no longer has as it was exported.
func (c Checked) Compare(ctx context.Context, s store.Store, key store.Key) error {
	view, err := s.Read(ctx, key, store.Part{})
	if err != nil {
		return err
	}
	i := 0
	for e, err := range view.Entries {
		if err != nil {
			return err
		}
		if i == len(c.Rows) {
			return nil // what came later is no difference
		}
		switch row := c.Rows[i]; {
		case e.Name > row.Filename:
			return changed("entry was deleted from the room since: %q", row.Filename)
		case e.Name < row.Filename:
			return changed("entry was added to the room since: %q", e.Name)
		case e.SHA256 != row.SHA256:
			return changed("entry was edited in the room since: %q", e.Name)
		}
		i++
	}
	if i < len(c.Rows) {
		return changed("entry was deleted from the room since: %q", c.Rows[i].Filename)
	}
	return nil
}

// Open returns an export, a directory or a tar, as a directory. close removes
// what was unpacked for that.
func Open(name string) (dir fs.FS, close func(), err error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, fault.New(fault.BadInput, "%w", err)
	}
	if info.IsDir() {
		return os.DirFS(name), func() {}, nil
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	temp, err := os.MkdirTemp("", "substrate-verify-")
	if err != nil {
		return nil, nil, err
	}
	if err := unpack(f, temp); err != nil {
		os.RemoveAll(temp)
		return nil, nil, err
	}
	return os.DirFS(temp), func() { os.RemoveAll(temp) }, nil
}

// ended asks that nothing but empty blocks stands behind the end of a tar: other
// programs may read on there.
func ended(in io.Reader) error {
	rest := bufio.NewReader(in)
	for {
		b, err := rest.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case b != 0:
			return differs("something was added behind the end of the tar")
		}
	}
}

// unpack writes the regular files of a tar below a directory, and none elsewhere.
func unpack(in io.Reader, to string) error {
	archive := tar.NewReader(in)
	for {
		head, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return ended(in)
		}
		if err != nil {
			return differs("not a tar: %w", err)
		}
		if filepath.IsLocal(head.Name) && head.Typeflag == tar.TypeDir {
			continue // tar itself writes those
		}
		if !filepath.IsLocal(head.Name) || head.Typeflag != tar.TypeReg {
			return differs("file was added: %q", head.Name)
		}
		name := filepath.Join(to, filepath.FromSlash(head.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return differs("file is there twice: %q", head.Name)
		}
		_, err = io.Copy(f, archive)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
			return err // ours, such as a disk that is full
		}
		if err != nil {
			return differs("tar is cut short in %q: %w", head.Name, err)
		}
	}
}
