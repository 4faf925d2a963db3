package mcpserver_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// filled makes a space whose room "design" has n entries, the last of them posted.
func filled(b *testing.B, n int) string {
	b.Helper()
	root, rooms := space(b)
	begin := time.Now().Add(-time.Duration(n) * time.Second)
	for i := range n - 1 {
		e, _ := transcript.ParseName(transcript.Name(begin.Add(time.Duration(i)*time.Second), "ann", false))
		e.Body = fmt.Sprintf("Entry %d.\nIt says what an entry says, in a line or two of the usual length.", i)
		file := filepath.Join(root, files.Dir, "threads", "design", e.Name)
		if err := os.WriteFile(file, transcript.File(e), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := rooms.Post(b.Context(), store.Key{Space: root, Room: "design"}, room.Draft{As: "ann", Body: "The last one."}); err != nil {
		b.Fatal(err)
	}
	return root
}

// BenchmarkRoundTrip asks a real child over its streams.
func BenchmarkRoundTrip(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000, 100_000} {
		root := filled(b, n)
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "MCPSERVER_CHILD="+root)
		cs, err := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "0"}, nil).
			Connect(b.Context(), &mcp.CommandTransport{Command: child}, nil)
		if err != nil {
			b.Fatal(err)
		}
		for _, c := range []struct {
			tool string
			args args
		}{{"check_turn", args{"thread": "design"}}, {"read_thread", args{"thread": "design", "last_n": 40}}} {
			b.Run(fmt.Sprintf("%s/%d", c.tool, n), func(b *testing.B) {
				must(b, call(b, cs, c.tool, c.args))
				for b.Loop() {
					must(b, call(b, cs, c.tool, c.args))
				}
			})
		}
		cs.Close()
	}
}
