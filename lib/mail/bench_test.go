package mail

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/substrate-tools/substrate/lib/body/bodytest"
)

// BenchmarkIdlePoll is what a running agent spends on its mail twice a second while
// there is none: with 100 messages that it has not read, and a human beside it.
func BenchmarkIdlePoll(b *testing.B) {
	t := &testing.T{}
	net := b.TempDir()
	human, ann := agent(t, net, "human"), agent(t, net, "ann")
	if err := os.MkdirAll(human.path(Outbox), 0o755); err != nil {
		b.Fatal(err)
	}
	for i := range 100 {
		bodytest.Write(t, filepath.Join(ann.path(Inbox), fmt.Sprint(i), messageFile), `{"from":"bob","message":"m"}`)
	}
	p := NewPoller(ann, DefaultSubscriptions)
	look := func() {
		if got, err := p.Poll(ctx, noon); err != nil || got.Unread != 100 {
			b.Fatal(err, got)
		}
	}
	for look(); !p.unread.still.holds(); look() { // until all that was just made is old
	}
	for b.Loop() {
		look()
	}
}
