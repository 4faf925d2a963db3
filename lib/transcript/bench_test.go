package transcript_test

import (
	"io"
	"strings"
	"testing"

	"github.com/substrate-tools/substrate/lib/transcript"
)

var benchLong = transcript.Entry{
	Name: "20260706T131502084Z__dan.md", Author: "dan", Time: noon, StartLine: 1, Lines: 12,
	Body: strings.Repeat("The generated parser keeps every comment.\n", 16) + "So what?",
}

func BenchmarkWriteText(b *testing.B) {
	entries := func(yield func(transcript.Entry, error) bool) {
		for range 1000 {
			if !yield(benchLong, nil) {
				return
			}
		}
	}
	b.SetBytes(int64(1000 * transcript.SizeOf(benchLong)))
	for b.Loop() {
		if err := transcript.WriteText(io.Discard, entries, 1); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseFile(b *testing.B) {
	file := transcript.File(benchLong)
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		transcript.ParseFile(file)
	}
}

func BenchmarkFile(b *testing.B) {
	for b.Loop() {
		transcript.File(benchLong)
	}
}

func BenchmarkParseName(b *testing.B) {
	for b.Loop() {
		if _, ok := transcript.ParseName(benchLong.Name); !ok {
			b.Fatal(benchLong.Name)
		}
	}
}
