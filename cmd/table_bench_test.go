//go:build bench && unix

package cmd_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	libdisk "github.com/substrate-tools/substrate/lib/disk" // a crash test has a disk of its own
)

// A line is one measurement.
type line struct {
	Work    string         `json:"work"`
	Size    int            `json:"size"` // entries, or what the work names; -1 for neither
	Count   int            `json:"samples"`
	Median  time.Duration  `json:"median_ns"`
	Worst   time.Duration  `json:"worst_ns"`
	Best    time.Duration  `json:"best_ns"` // what the work takes when nobody else is in the way
	Floor   string         `json:"floor"`   // "" for none
	FloorNS time.Duration  `json:"floor_ns"`
	Ratio   float64        `json:"ratio"`          // median to the floor's
	Over10  float64        `json:"over_10"`        // to the smallest room; of the ratios where the floor is one
	CPU     time.Duration  `json:"cpu_ns"`         // processor time of the program, which load leaves alone
	Peak    int64          `json:"peak_kib"`       // memory of the whole process; 0: not measured
	Calls   map[string]int `json:"calls,omitzero"` // system calls
	Peer    string         `json:"peer_quoted"`
	Target  string         `json:"target"`
	Met     *bool          `json:"met"` // null: no target, or not measured
	Note    string         `json:"note"`
}

// report writes the table and the targets to bin/bench.txt, and the lines to bin/bench.jsonl.
func (m *bench) report(targets []string, load string) {
	var text strings.Builder
	kind, _ := libdisk.FileSystem(m.dir)
	fmt.Fprintf(&text, "%s, file system %s, load %s before and %s after, %.0f s\n\n",
		machine(), kind, load, loadavg(), time.Since(m.began).Seconds())
	w := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "entries\tbest\tmedian\tworst\tx floor\tfloor\tx smallest\tcpu\tpeak MiB"+
		"\tpeer (quoted)\t  work\t")
	for _, l := range m.lines {
		fmt.Fprintln(w, l.cells())
	}
	w.Flush()
	text.WriteString("\n" + strings.Join(targets, "\n") + "\n")
	m.must(os.WriteFile(filepath.Join(root, "bin", "bench.txt"), []byte(leftLast(text.String())), 0o666))
	var records strings.Builder
	enc := json.NewEncoder(&records)
	enc.SetEscapeHTML(false)
	for _, l := range m.lines {
		m.must(enc.Encode(l))
	}
	m.must(os.WriteFile(filepath.Join(root, "bin", "bench.jsonl"), []byte(records.String()), 0o666))
	if m.Failed() {
		m.progress("not done: see above; the table has what was measured before")
	}
}

// lastCell stands before the text that is not aligned.
const lastCell = "\x01"

func (l *line) cells() string {
	size, ratio, over, cpu, peak := "", "", "", "", ""
	if l.Size >= 0 {
		size = thousands(l.Size)
	}
	if l.Ratio > 0 {
		ratio = fmt.Sprintf("%.2f", l.Ratio)
	}
	if l.Over10 > 0 {
		over = fmt.Sprintf("%.2f", l.Over10)
	}
	if l.CPU > 0 {
		cpu = millis(l.CPU)
	}
	if l.Peak > 0 {
		peak = fmt.Sprintf("%.1f", float64(l.Peak)/1024)
	}
	best, median, worst, least := millis(l.Best), millis(l.Median), millis(l.Worst), millis(l.FloorNS)
	if l.Count == 0 {
		best, median, worst, least = "-", "-", "-", ""
	}
	if l.FloorNS == 0 {
		least = ""
	}
	work := l.Work
	if l.Floor != "" {
		work += " / " + l.Floor
	}
	if l.Note != "" {
		work += ": " + l.Note
	}
	cells := []string{size, best, median, worst, ratio, least, over, cpu, peak, l.Peer, lastCell, work}
	return strings.Join(cells, "\t")
}

// leftLast takes the mark out that kept the table's last column from being aligned to the right.
func leftLast(s string) string { return strings.ReplaceAll(s, lastCell, "") }

func millis(d time.Duration) string {
	ms := float64(d) / float64(time.Millisecond)
	switch {
	case ms < 1:
		return fmt.Sprintf("%.3f ms", ms)
	case ms < 100:
		return fmt.Sprintf("%.1f ms", ms)
	}
	return fmt.Sprintf("%.0f ms", ms)
}

func thousands(n int) string {
	if n >= 1000 && n%1000 == 0 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}
