package notice

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// An event is taken from the inbox once: the channel that has it names the file that
// it came in, by its number and time, in the same write, and does so for as long as
// the file is there. If we die before it is removed, it is found there by that name,
// or among those that were dismissed, and is only removed. A later file of the same
// name is another event.

// maxCycle is how many events one cycle takes.
const maxCycle = 100

// Intake says what was taken from the inbox.
type Intake struct {
	Taken    int     // events that are in their channel now
	Wake     bool    // one of them is to wake the agent
	Rejected []error // what was invalid and is in .dead now
	Failed   []error // what could not be taken and is left; the same every time until it is mended
	More     bool    // there was more than one cycle takes
}

// Intake moves what is in the inbox to the channels mcp.<server>, 100 events at most,
// as many of each server as of any other that has so many. Where there is nothing it
// takes no lock and writes nothing.
func (s Store) Intake(ctx context.Context, now time.Time) (Intake, error) {
	var in Intake
	waiting, err := s.waiting(&in)
	if err != nil {
		return in, err
	}
	left, servers := maxCycle, sortedBySize(waiting)
	for i, server := range servers {
		files := waiting[server]
		if share := max(1, left/(len(servers)-i)); len(files) > share {
			files, in.More = files[:share], true
		}
		if left -= len(files); left < 0 {
			in.More = true
			break
		}
		if err := s.intake(ctx, server, files, now, &in); err != nil {
			in.Failed = append(in.Failed, fmt.Errorf("inbox of %q: %w", server, err))
		}
	}
	return in, nil
}

// waiting returns the files of each server.
func (s Store) waiting(in *Intake) (map[string][]string, error) {
	servers, err := os.ReadDir(s.body.Path(body.DropDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	waiting := map[string][]string{}
	for _, server := range servers {
		if !server.IsDir() || strings.HasPrefix(server.Name(), ".") {
			continue
		}
		files, err := os.ReadDir(s.body.Path(body.DropDir, server.Name()))
		if err == nil {
			err = CheckKnown(mcpPrefix + server.Name())
		}
		if err != nil {
			in.Failed = append(in.Failed, err)
			continue
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".json") && !strings.HasPrefix(f.Name(), ".") {
				waiting[server.Name()] = append(waiting[server.Name()], f.Name())
			}
		}
	}
	return waiting, nil
}

// sortedBySize returns the servers, those with the fewest files first, so that what
// they leave of their share goes to the others.
func sortedBySize(waiting map[string][]string) []string {
	var servers []string
	for server, files := range waiting {
		if len(files) > 0 {
			servers = append(servers, server)
		}
	}
	slices.SortFunc(servers, func(a, b string) int {
		if n := len(waiting[a]) - len(waiting[b]); n != 0 {
			return n
		}
		return strings.Compare(a, b)
	})
	return servers
}

// found is an event in its file.
type found struct {
	Dropped
	name string // of the file
	key  string // tells this file from any other that ever had its name
	at   int64  // when it was written
}

// keyOf returns the name of a file that no other has that ever had its path.
func keyOf(server, file string, p disk.Print) string {
	return fmt.Sprintf("%s/%s@%x-%x", server, file, p.Inode, p.Modified)
}

// waits reports whether the file of a key is still in the inbox.
func (s Store) waits(key string) bool {
	path := key[:max(strings.LastIndexByte(key, '@'), 0)]
	server, file := filepath.Split(path)
	p := disk.PrintAt(s.body.Path(body.DropDir, filepath.FromSlash(path)))
	return p != disk.Print{} && keyOf(strings.TrimSuffix(server, "/"), file, p) == key
}

// intake takes some files of one server.
func (s Store) intake(ctx context.Context, server string, files []string, now time.Time, in *Intake) error {
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	dir := s.body.Path(body.DropDir, server)
	events, err := s.read(dir, server, files, now, in)
	if err != nil || len(events) == 0 {
		return err
	}
	c, err := s.Read(mcpPrefix + server)
	if err != nil {
		return err
	}
	fresh := s.fresh(c, events)
	if len(fresh) > 0 {
		if err := s.show(c, server, fresh, now); err != nil {
			return err
		}
		in.Taken += len(fresh)
		in.Wake = in.Wake || slices.ContainsFunc(fresh, func(f found) bool { return !f.Quiet })
	}
	for _, e := range events {
		if err := disk.Remove(filepath.Join(dir, e.name)); err != nil {
			in.Failed = append(in.Failed, err)
		}
	}
	return nil
}

// read reads files, the oldest first, and puts the invalid ones aside.
func (s Store) read(dir, server string, files []string, now time.Time, in *Intake) ([]found, error) {
	d, err := disk.OpenDir(dir)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	var events []found
	for _, file := range files {
		data, p, err := d.Read(file, maxDropped)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil && !errors.Is(err, disk.ErrNotRegular) && !errors.Is(err, disk.ErrTooLarge):
			in.Failed = append(in.Failed, err)
			continue
		}
		e := found{name: file, at: p.Modified, key: keyOf(server, file, p)}
		if err == nil {
			e.Dropped, err = ParseDropped(data)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", filepath.Join(dir, file), err)
			if failed := bury(dir, file, err, now); failed != nil {
				in.Failed = append(in.Failed, failed)
			} else {
				in.Rejected = append(in.Rejected, err)
			}
			continue
		}
		e.ID = strings.TrimSuffix(file, ".json")
		events = append(events, e)
	}
	slices.SortStableFunc(events, func(a, b found) int { return int(min(max(a.at-b.at, -1), 1)) })
	return events, nil
}

// bury moves an invalid file to .dead, beside a note that says why. The note is there
// first: a file in .dead always has one.
func bury(dir, file string, why error, now time.Time) error {
	dead := filepath.Join(dir, ".dead")
	if err := disk.Mkdir(dead); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	stem := strings.TrimSuffix(file, ".json")
	if disk.Exists(filepath.Join(dead, file)) {
		stem += fmt.Sprintf("-%x", rand.Uint32()) // another of this name died before
	}
	note, err := record.Encode(map[string]string{"error": why.Error(), "at": stamp.Record(now), "file": file})
	if err != nil {
		return err
	}
	if err := disk.Replace(filepath.Join(dead, stem+".error.json"), note); err != nil {
		return err
	}
	return disk.MoveNew(filepath.Join(dir, file), filepath.Join(dead, stem+".json"))
}
