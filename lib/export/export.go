// Package export writes the record of a room as one directory or tar, and checks
// one: transcript, manifest, entries, and the manifest's signature.
package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"path"
	"time"

	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// The parts of an export. Entries lie in a directory under their own names;
// passes, which the manifest only counts, are left out.
const (
	manifestFile   = "manifest.json"
	signatureFile  = "manifest.json.sig"
	transcriptFile = "transcript.txt"
	entriesDir     = "entries"
)

// Sink takes the files of an export, each whole.
type Sink interface {
	Put(name string, at time.Time, data []byte) error
	// Close ends the export, or undoes it when err says that it failed, and
	// returns err or what went wrong now.
	Close(err error) error
}

// Write writes the record of a room, through an entry ("": to its end), and
// returns what it wrote. sign, if it is not nil, makes the manifest's signature.
func Write(
	ctx context.Context, s store.Store, key store.Key, through string, out Sink, sign func([]byte) ([]byte, error),
) (record.Export, error) {
	made := record.Export{Type: "export", Root: key.Space, Thread: key.Room}
	view, err := s.Read(ctx, key, store.Part{Through: through, Files: true})
	if err != nil {
		return made, err
	}
	sum := transcript.Summary{Thread: key.Room, ThreadVersion: view.Head.Version}
	var rows []transcript.Entry
	var text bytes.Buffer
	for e, err := range view.Entries {
		if err == nil {
			err = out.Put(path.Join(entriesDir, e.Name), e.Time, e.File)
		}
		if err != nil {
			return made, err
		}
		text.WriteString(transcript.Text(e))
		if through != "" {
			sum.ThreadVersion = e.Version
		}
		sum.TotalLines = e.EndLine()
		sum.VisibleEntries++
		made.ThroughEntry, made.Bytes = e.Name, made.Bytes+e.Bytes
		e.Body, e.File = "", nil
		rows = append(rows, e)
	}
	sum.NoOpEntries = sum.ThreadVersion - sum.VisibleEntries
	var b bytes.Buffer
	if err := transcript.WriteManifest(&b, sum, all(rows)); err != nil {
		return made, err
	}
	manifest := b.Bytes()
	made.Version, made.Entries, made.ManifestSHA256 = sum.ThreadVersion, sum.VisibleEntries, digest(manifest)
	last := time.Unix(0, 0)
	if len(rows) > 0 {
		last = rows[len(rows)-1].Time
	}
	if err := out.Put(transcriptFile, last, text.Bytes()); err != nil {
		return made, err
	}
	if sign != nil {
		signature, err := sign(manifest)
		if err == nil {
			err = out.Put(signatureFile, last, signature)
		}
		if err != nil {
			return made, err
		}
		made.Signed = true
	}
	return made, out.Put(manifestFile, last, manifest)
}

// all yields entries that are here.
func all(entries []transcript.Entry) iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		for _, e := range entries {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
