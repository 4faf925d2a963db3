// Package export writes the record of a room as one directory or tar, and checks
// one: transcript, manifest, entries, and the manifest's signature.
package export

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
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

// Sink takes the files of an export.
type Sink interface {
	// Put takes one, of so many bytes.
	Put(name string, at time.Time, size int64, content io.Reader) error
	// Close ends the export, or undoes it when err says that it failed, and
	// returns err or what went wrong now.
	Close(err error) error
}

// Write writes the record of a room, through an entry ("": to its end), and
// returns what it wrote. sign, if it is not nil, makes the manifest's signature. What
// is in memory does not grow with the room: transcript and manifest are collected in
// temporary files of the system's.
func Write(
	ctx context.Context, s store.Store, key store.Key, through string, out Sink, sign func(io.Reader) ([]byte, error),
) (record.Export, error) {
	made := record.Export{Type: "export", Root: key.Space, Thread: key.Room}
	view, err := s.Read(ctx, key, store.Part{Through: through, Files: true})
	if err != nil {
		return made, err
	}
	text, err := newSpool()
	if err != nil {
		return made, err
	}
	defer text.close()
	rows, err := newSpool()
	if err != nil {
		return made, err
	}
	defer rows.close()
	sum := transcript.Summary{Thread: key.Room, ThreadVersion: view.Head.Version}
	last := time.Unix(0, 0)
	listed := json.NewEncoder(rows)
	for e, err := range view.Entries {
		if err == nil {
			err = put(out, path.Join(entriesDir, e.Name), e.Time, e.File)
		}
		if err == nil {
			e.Body, e.ID = transcript.ParseFile(e.File) // from elsewhere it comes in JSON, which is UTF-8 alone
			_, err = io.WriteString(text, transcript.Text(e))
		}
		if err == nil {
			err = listed.Encode(transcript.RowOf(e))
		}
		if err != nil {
			return made, err
		}
		if through != "" {
			sum.ThreadVersion = e.Version
		}
		sum.TotalLines, last = e.EndLine(), e.Time
		sum.VisibleEntries++
		made.ThroughEntry, made.Bytes = e.Name, made.Bytes+e.Bytes
	}
	sum.NoOpEntries = sum.ThreadVersion - sum.VisibleEntries
	made.Version, made.Entries = sum.ThreadVersion, sum.VisibleEntries
	manifest, err := newSpool()
	if err != nil {
		return made, err
	}
	defer manifest.close()
	if err = transcript.WriteManifest(manifest, sum, rows.entries()); err == nil {
		made.ManifestSHA256, err = manifest.digest()
	}
	if err == nil {
		err = text.put(out, transcriptFile, last)
	}
	if err == nil && sign != nil {
		err = manifest.sign(out, last, sign)
		made.Signed = err == nil
	}
	if err == nil {
		err = manifest.put(out, manifestFile, last)
	}
	return made, err
}

func put(out Sink, name string, at time.Time, data []byte) error {
	return out.Put(name, at, int64(len(data)), bytes.NewReader(data))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
