package export

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"iter"
	"os"
	"time"

	"github.com/substrate-tools/substrate/lib/transcript"
)

// spool is a temporary file for what must be known whole before it is put anywhere: a
// room's text may be larger than memory.
type spool struct {
	f    *os.File
	out  *bufio.Writer
	size int64
}

func newSpool() (*spool, error) {
	f, err := os.CreateTemp("", "substrate-export-")
	if err != nil {
		return nil, err
	}
	os.Remove(f.Name()) // so that a kill leaves nothing; where that cannot be, close does
	return &spool{f: f, out: bufio.NewWriter(f)}, nil
}

func (s *spool) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	return s.out.Write(p)
}

// content returns what was written, from its beginning.
func (s *spool) content() (io.Reader, error) {
	if err := s.out.Flush(); err != nil {
		return nil, err
	}
	return io.NewSectionReader(s.f, 0, s.size), nil
}

// digest returns the hash of what was written.
func (s *spool) digest() (string, error) {
	in, err := s.content()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, in)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// put puts what was written.
func (s *spool) put(out Sink, name string, at time.Time) error {
	in, err := s.content()
	if err != nil {
		return err
	}
	return out.Put(name, at, s.size, in)
}

// sign puts a signature of what was written.
func (s *spool) sign(out Sink, at time.Time, sign func(io.Reader) ([]byte, error)) error {
	in, err := s.content()
	if err != nil {
		return err
	}
	signature, err := sign(in)
	if err != nil {
		return err
	}
	return put(out, signatureFile, at, signature)
}

// entries yields those whose rows of a manifest were written, as JSON Lines.
func (s *spool) entries() iter.Seq2[transcript.Entry, error] {
	return func(yield func(transcript.Entry, error) bool) {
		in, err := s.content()
		if err != nil {
			yield(transcript.Entry{}, err)
			return
		}
		rows := json.NewDecoder(in)
		for rows.More() {
			var r transcript.Row
			err := rows.Decode(&r)
			e, _ := r.Entry()
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

func (s *spool) close() {
	s.f.Close()
	os.Remove(s.f.Name())
}
