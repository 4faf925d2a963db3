package index_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/index"
	"github.com/substrate-tools/substrate/lib/transcript"
)

var benchSizes = []int{10, 1000, 10_000}

var benchBegin = time.Date(2026, 7, 6, 13, 0, 0, 0, time.UTC)

func benchEntry(i int) transcript.Entry {
	e, _ := transcript.ParseName(transcript.Name(benchBegin.Add(time.Duration(i)*time.Second), "dan", false))
	e.Body = fmt.Sprintf("Entry %d says what the ones before it did not.", i)
	return e
}

// benchRoom writes n entries and, if warm, an index of them. It returns the directory and the index's file.
func benchRoom(b *testing.B, n int, warm bool) (dir, cache string) {
	b.Helper()
	top := b.TempDir()
	dir, cache = filepath.Join(top, "room"), filepath.Join(top, "cache", "room.index")
	if err := os.Mkdir(dir, 0o777); err != nil {
		b.Fatal(err)
	}
	for i := range n {
		benchWrite(b, dir, benchEntry(i))
	}
	if !warm {
		return dir, cache
	}
	x := benchOpen(b, dir, cache)
	defer x.Close()
	if err := x.Publish(cache, "", func() error { return nil }); err != nil {
		b.Fatal(err)
	}
	if x := benchOpen(b, dir, cache); !x.Remembered() {
		b.Fatal("the index is not believed")
	}
	return dir, cache
}

func benchWrite(b *testing.B, dir string, e transcript.Entry) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(dir, e.Name), transcript.File(e), 0o666); err != nil {
		b.Fatal(err)
	}
}

func benchOpen(b *testing.B, dir, cache string) *index.Index {
	b.Helper()
	x, err := index.Open(dir, cache, func() bool { return false })
	if err != nil {
		b.Fatal(err)
	}
	return x
}

func benchEach(b *testing.B, run func(b *testing.B, n int)) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) { run(b, n) })
	}
}

func BenchmarkOpen(b *testing.B) {
	benchEach(b, func(b *testing.B, n int) {
		dir, cache := benchRoom(b, n, true)
		for b.Loop() {
			benchOpen(b, dir, cache).Close()
		}
	})
}

func BenchmarkOpenWithout(b *testing.B) {
	benchEach(b, func(b *testing.B, n int) {
		dir, cache := benchRoom(b, n, false)
		for b.Loop() {
			benchOpen(b, dir, cache).Close()
		}
	})
}

// Each round opens a room to which somebody else has just added an entry; the wait for a tick of the clock is
// part of it.
func BenchmarkOpenAfterForeignEntry(b *testing.B) {
	benchEach(b, func(b *testing.B, n int) {
		dir, cache := benchRoom(b, n, true)
		for i := n; b.Loop(); i++ {
			benchWrite(b, dir, benchEntry(i))
			benchOpen(b, dir, cache).Close()
		}
	})
}

func BenchmarkSeek(b *testing.B) {
	benchEach(b, func(b *testing.B, n int) {
		dir, cache := benchRoom(b, n, true)
		x := benchOpen(b, dir, cache)
		defer x.Close()
		for i := 0; b.Loop(); i++ {
			want := i * 7919 % n
			if got, exact, err := x.Seek(benchEntry(want).Name); err != nil || !exact || got != want {
				b.Fatal(got, exact, err)
			}
		}
	})
}

func BenchmarkSeekLine(b *testing.B) {
	benchEach(b, func(b *testing.B, n int) {
		dir, cache := benchRoom(b, n, true)
		x := benchOpen(b, dir, cache)
		defer x.Close()
		for i := 0; b.Loop(); i++ {
			if _, err := x.SeekLine(1 + i*7919%x.Lines()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkTail20(b *testing.B) {
	benchEach(b, func(b *testing.B, n int) {
		dir, cache := benchRoom(b, n, true)
		for b.Loop() {
			x := benchOpen(b, dir, cache)
			for _, err := range x.Entries(max(0, n-20), n, index.Body) {
				if err != nil {
					b.Fatal(err)
				}
			}
			x.Close()
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	benchEach(b, func(b *testing.B, n int) {
		dir, cache := benchRoom(b, n, true)
		for i := n; b.Loop(); i++ {
			x, e := benchOpen(b, dir, cache), benchEntry(i)
			err := x.Publish(cache, e.Name, func() error {
				benchWrite(b, dir, e)
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			x.Close()
		}
	})
}
