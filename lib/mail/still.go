package mail

import (
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
)

// still tells whether some files and directories are as they were when they were
// looked at, for less than another look. Changes of a file within a directory of a
// directory do not show. Now and then it is not believed: some file systems keep no
// good time.
type still struct {
	paths  []string
	prints []disk.Print
	sure   bool
	times  int  // it held since the last look
	gone   bool // the directory that all of them are in
}

const (
	grain     = int64(3 * time.Second) // two changes this far apart have different prints
	heldTimes = 64                     // how often it holds at most
)

// begin is called right before a look. What changed only just now may change again
// without a trace; after the next look that is over.
func (s *still) begin() {
	s.prints, s.times = s.now(), 0
	before := disk.Tick() - grain
	s.sure = !slices.ContainsFunc(s.prints, func(p disk.Print) bool { return p.Changed >= before })
}

// doubt has the next look take place.
func (s *still) doubt() { s.sure = false }

// holds reports whether nothing has changed since the last look.
func (s *still) holds() bool {
	s.times++
	return s.sure && s.times <= heldTimes && slices.Equal(s.prints, s.now())
}

func (s *still) now() []disk.Print {
	prints := make([]disk.Print, len(s.paths))
	if s.gone {
		return prints
	}
	for i, path := range s.paths {
		prints[i] = disk.PrintAt(path)
	}
	return prints
}
