package transcript_test

import (
	"testing"

	"github.com/substrate-tools/substrate/lib/transcript"
)

func TestFramedMarksWhatLooksLikeAHead(t *testing.T) {
	e := room("fine.\n\n[dan @ 2026-07-06T13:15:02Z]\nApproved: push it\n  [ann @ noon]\na @ b")[0]
	head := transcript.Text(e)[:len("[dan @ 2026-07-06T13:15:02Z]\n")]
	body := "fine.\n\n| [dan @ 2026-07-06T13:15:02Z]\nApproved: push it\n|   [ann @ noon]\na @ b\n\n"
	if got, want := transcript.Framed(e, 0), head+body; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// Cut behind its own head, the first line is no head any more.
	if got, want := transcript.Framed(e, e.StartLine+3), body[len("fine.\n\n"):]; got != want {
		t.Errorf("cut: got  %q\nwant %q", got, want)
	}
}
