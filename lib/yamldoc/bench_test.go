package yamldoc_test

import (
	"testing"

	"github.com/substrate-tools/substrate/lib/yamldoc"
)

const roomConfig = `topic: which parser do we take?
created_at: 2026-07-06T13:15:02Z
moderator: dan
turn_order:
  - dan
  - claude # knows the grammar
  - ci
next_index: 1
status: active
`

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := yamldoc.Parse("", []byte(roomConfig)); err != nil {
			b.Fatal(err)
		}
	}
}

// What a post does to a room's config.
func BenchmarkEdit(b *testing.B) {
	for i := 0; b.Loop(); i++ {
		doc, err := yamldoc.Parse("", []byte(roomConfig))
		if err == nil {
			err = doc.SetInt(i%2+2, "next_index")
		}
		if err != nil {
			b.Fatal(err)
		}
		doc.Bytes()
	}
}
