package notice_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/notice"
)

func TestAWatchSeesEveryChange(t *testing.T) {
	s := store(t, nil)
	w := s.Watch()
	for i := range 300 { // without a pause: many within one tick of the clock
		if _, err := s.Put(t.Context(), "cron", notice.Any, notice.Envelope{Header: fmt.Sprint(i)}, noon); err != nil {
			t.Fatal(err)
		}
		all, err := w.Snapshot(noon)
		if err != nil || len(all.Channels) != 1 || all.Channels[0].Object.Text("header") != fmt.Sprint(i) {
			t.Fatalf("%d: got %v, %v", i, all.Channels, err)
		}
	}
	do(t, os.Remove(file(s, "cron")))
	if all, err := w.Snapshot(noon); err != nil || len(all.Channels) != 0 || all.Print != "" {
		t.Errorf("got %v, %v", all.Channels, err)
	}
}

func TestAWatchReadsNothingWhileNothingChanges(t *testing.T) {
	s := store(t, nil)
	put(t, s, "cron")
	dir := s.Body().Path(body.NoticeDir)
	bodytest.Until(t, func() bool { return disk.Tick()-disk.PrintAt(dir).Changed > int64(100*time.Millisecond) })
	w := s.Watch()
	header := func(now time.Time) string {
		t.Helper()
		all, err := w.Snapshot(now)
		do(t, err)
		return all.Channels[0].Object.Text("header")
	}
	header(noon)
	// What is edited in place does not show in the directory, so it tells us who read.
	do(t, os.WriteFile(file(s, "cron"), []byte(`{"header":"edited"}`), 0o600))
	if got := header(noon.Add(14 * time.Second)); got != "cron" {
		t.Errorf("read again: %q", got)
	}
	if got := header(noon.Add(15 * time.Second)); got != "edited" {
		t.Errorf("not read again: %q", got)
	}
	do(t, os.WriteFile(file(s, "cron"), []byte(`{"header":"set back"}`), 0o600))
	if got := header(noon.Add(-8 * time.Hour)); got != "set back" {
		t.Errorf("the clock was set back: %q", got)
	}
}
