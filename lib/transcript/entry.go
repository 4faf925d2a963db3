// Package transcript holds the pure text rules of a room (spec/rooms-format.md,
// sections 3, 6 and 7): entry names, rendered text with its line numbers,
// windows, the manifest, and offers within a budget. It does no I/O of its own.
package transcript

import (
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// Entry is one entry of a room as it is now.
type Entry struct {
	Name      string // its file name, from which author, time and pass are read
	Author    string
	Time      time.Time
	Pass      bool
	Version   int    // entries up to and including this one, passes counted
	StartLine int    // 1-based transcript line of its head; for a pass, of what follows
	Lines     int    // transcript lines; 0 for a pass
	Bytes     int64  // size of the file
	SHA256    string // of the file, lower-case hex
	ID        string // idempotency key, "" for none
	Body      string // trimmed; "" unless it was asked for
	File      []byte // the whole file; nil unless it was asked for
}

// EndLine returns the transcript line of the entry's last one, which is empty.
func (e Entry) EndLine() int { return e.StartLine + e.Lines - 1 }

const (
	entrySuffix = ".md"
	passSuffix  = "__no-op"
)

// Name returns the file name of an entry, the only authority for its time and
// author. Stores that keep no files use the same names.
func Name(t time.Time, author string, pass bool) string {
	id := stamp.Entry(t) + "__" + name.Component(author)
	if pass {
		id += passSuffix
	}
	return id + entrySuffix
}

// ParseName reads an entry's file name into the fields of an Entry that it
// decides. ok is false for what is no entry name; readers skip those.
func ParseName(file string) (e Entry, ok bool) {
	id, isEntry := strings.CutSuffix(file, entrySuffix)
	when, component, parted := strings.Cut(id, "__")
	if !isEntry || !parted {
		return e, false
	}
	component, e.Pass = strings.CutSuffix(component, passSuffix)
	var timed, named bool
	e.Time, timed = stamp.ParseEntry(when)
	e.Author, named = name.FromComponent(component)
	e.Name = file
	return e, timed && named
}

// ID returns an entry's name without its ending, by which transactions know it.
func ID(file string) string { return strings.TrimSuffix(file, entrySuffix) }

// IsPass reports whether a trimmed body is a turn that passes.
func IsPass(body string) bool {
	switch strings.ToLower(body) {
	case "pass", "no-op", "...":
		return true
	}
	return false
}

// LinesOf returns how many transcript lines an entry with this body takes: its
// head, its body, and an empty one.
func LinesOf(body string) int { return 3 + strings.Count(body, "\n") }

// Text returns an entry as the transcript shows it.
func Text(e Entry) string {
	return "[" + e.Author + " @ " + stamp.Seconds(e.Time) + "]\n" + e.Body + "\n\n"
}

// SizeOf returns how many bytes of transcript text an entry takes.
func SizeOf(e Entry) int {
	return len("[ @ 2026-07-06T13:15:02Z]\n") + len(e.Author) + len(e.Body) + len("\n\n")
}
