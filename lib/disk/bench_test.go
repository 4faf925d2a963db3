package disk_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/substrate-tools/substrate/lib/disk"
)

func BenchmarkReplace(b *testing.B) {
	file := filepath.Join(b.TempDir(), "file")
	data := make([]byte, 1000)
	for b.Loop() {
		if err := disk.Replace(file, data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReplaceLoose(b *testing.B) {
	file := filepath.Join(b.TempDir(), "file")
	data := make([]byte, 1000)
	for b.Loop() {
		if err := disk.ReplaceLoose(file, data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	dir := b.TempDir()
	data := make([]byte, 1000)
	for i := 0; b.Loop(); i++ {
		if err := disk.Create(filepath.Join(dir, fmt.Sprint(i)), data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkLock(b *testing.B) {
	file := filepath.Join(b.TempDir(), "lock")
	for b.Loop() {
		unlock, err := disk.Lock(b.Context(), file, 0)
		if err != nil {
			b.Fatal(err)
		}
		unlock()
	}
}
