package transcript_test

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/transcript"
)

func manifest(t *testing.T, s transcript.Summary, all []transcript.Entry) string {
	t.Helper()
	var b bytes.Buffer
	if err := transcript.WriteManifest(&b, s, seq(all, nil)); err != nil {
		t.Fatal(err)
	}
	if !json.Valid(b.Bytes()) {
		t.Fatalf("no JSON: %s", b.String())
	}
	return b.String()
}

func TestManifestKeysAreInOrder(t *testing.T) {
	s := transcript.Summary{Thread: "design", ThreadVersion: 3, TotalLines: 7, VisibleEntries: 2, NoOpEntries: 1}
	want := `{"thread":"design","thread_version":3,"total_lines":7,"visible_entries":2,"no_op_entries":1,` +
		`"omission_policy":"` + transcript.OmissionPolicy + `","entries":[` +
		`{"filename":"20260706T131602084Z__dan.md","author":"dan","timestamp":"2026-07-06T13:16:02.084Z",` +
		`"start_line":1,"end_line":3,"byte_length":61,"sha256":"` + hash + `"},` +
		`{"filename":"20260707T131602084Z__dan.md","author":"dan","timestamp":"2026-07-07T13:16:02.084Z",` +
		`"start_line":4,"end_line":7,"byte_length":67,"sha256":"` + hash + `"}]}` + "\n"
	all := room("one", "two\nlines")
	if got := manifest(t, s, all); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if a, b := manifest(t, s, all), manifest(t, s, all); a != b {
		t.Errorf("two answers: %s and %s", a, b)
	}
}

var hash = strings.Repeat("0f", 32)

func TestManifestOfAnEmptyRoomHasAnEmptyList(t *testing.T) {
	const want = `{"thread":"design","thread_version":0,"total_lines":0,"visible_entries":0,"no_op_entries":0,` +
		`"omission_policy":"` + transcript.OmissionPolicy + `","entries":[]}` + "\n"
	if got := manifest(t, transcript.Summary{Thread: "design"}, nil); got != want {
		t.Errorf("got %s", got)
	}
}

func TestManifestTimesHaveAsManyDigitsAsNeeded(t *testing.T) {
	for ms, want := range map[int]string{
		0: "2026-07-06T13:15:02Z", 80: "2026-07-06T13:15:02.08Z", 100: "2026-07-06T13:15:02.1Z", 84: "2026-07-06T13:15:02.084Z",
	} {
		e := transcript.Entry{Time: time.Date(2026, 7, 6, 13, 15, 2, ms*1e6, time.UTC)}
		if got := transcript.RowOf(e).Timestamp; got != want {
			t.Errorf("%d ms: got %q", ms, got)
		}
	}
}

func TestARowIsAboutItsEntry(t *testing.T) {
	for _, e := range room("one", "two\nlines") {
		r := transcript.RowOf(e)
		got, ok := r.Entry()
		if !ok || transcript.RowOf(got) != r || got.Lines != e.Lines || !got.Time.Equal(e.Time) {
			t.Errorf("%+v became %+v", e, got)
		}
	}
	if _, ok := (transcript.Row{Filename: "x.md"}).Entry(); ok {
		t.Error("x.md is an entry")
	}
}

func TestManifestReportsErrors(t *testing.T) {
	if err := transcript.WriteManifest(&writes{fail: 1}, transcript.Summary{}, seq(nil, nil)); err != os.ErrClosed {
		t.Errorf("got %v", err)
	}
	if err := transcript.WriteManifest(io.Discard, transcript.Summary{}, seq(room("one"), io.ErrNoProgress)); err != io.ErrNoProgress {
		t.Errorf("got %v", err)
	}
}
