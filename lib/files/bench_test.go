package files_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// benchRoom returns a room of n entries, the last of which was posted, so that the index is there.
func benchRoom(b *testing.B, s *files.Store, n int) store.Key {
	b.Helper()
	members := []store.Member{{Name: "ann", Kind: "human"}, {Name: "ben", Kind: "agent"}}
	root, err := files.Init(b.TempDir(), members)
	if err != nil {
		b.Fatal(err)
	}
	key := store.Key{Space: root, Room: "design"}
	rooms := room.Rooms{Store: s}
	opening := room.Opening{Topic: "which parser?", Moderator: "ann", Order: []string{"ben"}}
	if _, err := rooms.Open(b.Context(), key, opening); err != nil {
		b.Fatal(err)
	}
	begin := time.Now().Add(-time.Duration(n) * time.Second)
	for i := range n - 1 {
		e, _ := transcript.ParseName(transcript.Name(begin.Add(time.Duration(i)*time.Second), "ann", false))
		e.Body = fmt.Sprint("Entry ", i)
		file := filepath.Join(root, files.Dir, "threads", key.Room, e.Name)
		if err := os.WriteFile(file, transcript.File(e), 0o666); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := rooms.Post(b.Context(), key, room.Draft{As: "ann", Body: "The last one."}); err != nil {
		b.Fatal(err)
	}
	return key
}

func benchSizes(b *testing.B, run func(b *testing.B, s *files.Store, key store.Key)) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := &files.Store{}
			run(b, s, benchRoom(b, s, n))
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	benchSizes(b, func(b *testing.B, s *files.Store, key store.Key) {
		rooms := room.Rooms{Store: s}
		for next := "ben"; b.Loop(); {
			posted, err := rooms.Post(b.Context(), key, room.Draft{As: next, Body: "And another one."})
			if err != nil {
				b.Fatal(err)
			}
			next = posted.Next
		}
	})
}

func BenchmarkHead(b *testing.B) {
	benchSizes(b, func(b *testing.B, s *files.Store, key store.Key) {
		for b.Loop() {
			if _, err := s.Head(b.Context(), key); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkReadAll(b *testing.B) {
	benchSizes(b, func(b *testing.B, s *files.Store, key store.Key) {
		for b.Loop() {
			v, err := s.Read(b.Context(), key, store.Part{Bodies: true})
			if err != nil {
				b.Fatal(err)
			}
			for _, err := range v.Entries {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
