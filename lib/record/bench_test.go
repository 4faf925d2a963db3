package record_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/record"
)

var benchEntry = record.Entry{
	Type: "entry", Thread: "design", Entry: "20260706T131502084Z__dan.md", Author: "dan",
	Time: "2026-07-06T13:15:02.084Z", StartLine: 1, EndLine: 12, Bytes: 700, SHA256: strings.Repeat("0a", 32),
	Body: strings.Repeat("The generated parser keeps every comment, the hand-written one does not.\n", 9),
}

func BenchmarkEncode(b *testing.B) {
	for b.Loop() {
		if _, err := record.Encode(benchEntry); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReader(b *testing.B) {
	line, err := record.Encode(benchEntry)
	if err != nil {
		b.Fatal(err)
	}
	lines := bytes.Repeat(line, 1000)
	b.SetBytes(int64(len(lines)))
	for b.Loop() {
		r := record.NewReader(bytes.NewReader(lines))
		for {
			if _, err := r.Next(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				b.Fatal(err)
			}
		}
	}
}
