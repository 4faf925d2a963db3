package gateway

import (
	"bufio"
	"net/http"

	"github.com/substrate-tools/substrate/lib/record"
)

// lines are records on their way, many in a write.
type lines struct{ out *bufio.Writer }

func newLines(w http.ResponseWriter) *lines {
	w.Header().Set("Content-Type", "application/jsonl")
	return &lines{bufio.NewWriterSize(w, piece)}
}

func (l *lines) put(v any) error {
	line, err := record.Encode(v)
	if err != nil {
		return err
	}
	_, err = l.out.Write(line)
	return err
}

func (l *lines) flush() error { return l.out.Flush() }
