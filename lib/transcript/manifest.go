package transcript

import (
	"bufio"
	"encoding/json"
	"io"
	"iter"
	"time"
)

// OmissionPolicy is the sentence every manifest says of passes.
const OmissionPolicy = "passes count in thread_version and are omitted from the transcript and from entries"

// Summary is what a manifest says of the room as a whole. Its field order is the
// order of the keys.
type Summary struct {
	Thread         string `json:"thread"`
	ThreadVersion  int    `json:"thread_version"`
	TotalLines     int    `json:"total_lines"`
	VisibleEntries int    `json:"visible_entries"`
	NoOpEntries    int    `json:"no_op_entries"`
	OmissionPolicy string `json:"omission_policy"`
}

// Row is what a manifest says of one visible entry.
type Row struct {
	Filename   string `json:"filename"`
	Author     string `json:"author"`
	Timestamp  string `json:"timestamp"`
	StartLine  int    `json:"start_line"`
	EndLine    int    `json:"end_line"`
	ByteLength int64  `json:"byte_length"`
	SHA256     string `json:"sha256"`
}

// RowOf returns an entry's row.
func RowOf(e Entry) Row {
	return Row{
		Filename:   e.Name,
		Author:     e.Author,
		Timestamp:  e.Time.UTC().Format(time.RFC3339Nano),
		StartLine:  e.StartLine,
		EndLine:    e.EndLine(),
		ByteLength: e.Bytes,
		SHA256:     e.SHA256,
	}
}

// Entry returns the entry that a row is about, without its version, body and ID: RowOf
// of it is the row again, where that is what its file name says. ok tells whether the
// name is one.
func (r Row) Entry() (e Entry, ok bool) {
	e, ok = ParseName(r.Filename)
	e.StartLine, e.Lines = r.StartLine, r.EndLine-r.StartLine+1
	e.Bytes, e.SHA256 = r.ByteLength, r.SHA256
	return e, ok
}

// WriteManifest writes the manifest as one line of JSON: the same room state gives
// the same bytes. It holds none of the entries, and ends with the first error of theirs.
func WriteManifest(w io.Writer, s Summary, entries iter.Seq2[Entry, error]) error {
	s.OmissionPolicy = OmissionPolicy
	head, err := json.Marshal(s)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(head[:len(head)-1])
	out.WriteString(`,"entries":[`)
	separator := ""
	for e, err := range entries {
		if err != nil {
			return err
		}
		row, err := json.Marshal(RowOf(e))
		if err != nil {
			return err
		}
		out.WriteString(separator)
		if _, err := out.Write(row); err != nil {
			return err
		}
		separator = ","
	}
	out.WriteString("]}\n")
	return out.Flush()
}
