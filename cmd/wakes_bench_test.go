//go:build bench && unix

package cmd_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/store"
)

// wakes times how long after a post somebody who watches the room has seen it.
func (m *bench) wakes() {
	for _, n := range sizes {
		m.progress("wakes, room of %d entries", n)
		t := m.talk(m.key(n))
		ctx, cancel := context.WithCancel(context.Background())
		seen, watcher := make(chan sighting, 1000), &files.Store{}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range watcher.Watch(ctx, t.key) {
				if h, err := watcher.Head(ctx, t.key); err == nil {
					seen <- sighting{h.Version, time.Now()}
				}
			}
		}()
		<-seen
		var after, whole []time.Duration
		for range samples(200) {
			begun := time.Now()
			t.post()
			acked := time.Now()
			at := m.await(seen, t.last.Version)
			after = append(after, max(0, at.Sub(acked)))
			whole = append(whole, at.Sub(begun))
		}
		cancel()
		<-done
		m.add(wakeRow, n, after, "", nil).Note = "0: seen before"
		m.add(waitRow, n, whole, "", nil)
	}
}

type sighting struct {
	version int
	at      time.Time
}

// await returns when a version was seen.
func (m *bench) await(seen <-chan sighting, version int) time.Time {
	limit := time.After(30 * time.Second)
	for {
		select {
		case s := <-seen:
			if s.version >= version {
				return s.at
			}
		case <-limit:
			m.Fatalf("version %d was not noticed for 30 s", version)
		}
	}
}

// watcher times the program that prints a line whenever a floor moves, where there is one.
func (m *bench) watcher() {
	if _, err := os.Stat(filepath.Join(m.prog, "substrate-watch")); err != nil {
		m.lines = append(m.lines, &line{Work: watchRow, Size: -1, Note: "not measured: no substrate-watch"})
		return
	}
	for _, n := range sizes {
		m.progress("substrate-watch, room of %d entries", n)
		t := m.talk(m.key(n))
		c := m.command("watch", t.key.Room, "--space", t.key.Space)
		c.Stdout = nil
		out, err := c.StdoutPipe()
		m.must(err)
		m.must(c.Start())
		seen := make(chan sighting, 1000)
		go func() {
			lines := json.NewDecoder(out)
			var floor struct {
				Version int `json:"version"`
			}
			for lines.Decode(&floor) == nil {
				seen <- sighting{floor.Version, time.Now()}
			}
		}()
		m.armed(t, seen)
		var after []time.Duration
		for range samples(200) {
			t.post()
			acked := time.Now()
			after = append(after, max(0, m.await(seen, t.last.Version).Sub(acked)))
		}
		c.Process.Kill()
		c.Wait()
		m.add(watchRow, n, after, "", nil).Note = "0: seen before"
	}
	m.idle()
}

// armed posts until the watcher notices: what was there when it began is no news to it.
func (m *bench) armed(t *talk, seen <-chan sighting) {
	for range 100 {
		t.post()
		select {
		case <-seen:
			return
		case <-time.After(300 * time.Millisecond):
		}
	}
	m.Fatalf("the watcher noticed none of 100 posts in %s", t.key.Room)
}

// idle adds what watchers do in rooms where nothing happens, all of them at once. What they do at their start
// is taken off.
func (m *bench) idle() {
	if *idle <= 0 {
		return
	}
	m.progress("idle watchers for %v", *idle)
	type use struct {
		cpu time.Duration
		out strings.Builder
	}
	watch := func(d time.Duration) []*use {
		used := make([]*use, len(sizes))
		var all sync.WaitGroup
		for i, n := range sizes {
			used[i] = &use{}
			c := m.command("watch", m.key(n).Room, "--space", m.key(n).Space)
			c.Stdout = &used[i].out
			m.must(c.Start())
			all.Go(func() {
				time.Sleep(d)
				c.Process.Kill()
				c.Wait()
				used[i].cpu = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
			})
		}
		all.Wait()
		return used
	}
	began, ended := watch(time.Second), watch(time.Second+*idle)
	for i, n := range sizes {
		l := m.add(idleRow, n, []time.Duration{max(0, ended[i].cpu-began[i].cpu)}, "", nil)
		l.Calls = map[string]int{"bytes": ended[i].out.Len() - began[i].out.Len()}
		l.Note = fmt.Sprintf("%.3f%% of a processor", 100*float64(l.Median)/float64(*idle))
	}
}

const idleRow = "CPU of an idle watcher"

func (m *bench) manyKey(i int) store.Key {
	return store.Key{Space: m.space("many"), Room: fmt.Sprintf("room-%04d", i)}
}

// many times a space of many rooms: all of them listed, and one wake while all are watched.
func (m *bench) many() {
	m.progress("%d rooms", manyRooms)
	space := m.space("many")
	configs := func() {
		found, err := os.ReadDir(filepath.Join(space, ".substrate", "threads"))
		m.must(err)
		for _, f := range found {
			_, err := os.ReadFile(filepath.Join(space, ".substrate", "threads", f.Name(), "config.yaml"))
			m.must(err)
		}
	}
	plain := floor{"read of every config.yaml", configs}
	l := m.measure(roomsRow, manyRooms, 5, plain, m.program("list", "--space", space))
	l.Peak = m.peak("list", "--space", space)

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	type woken struct {
		key store.Key
		at  time.Time
	}
	seen, done := make(chan woken, 2*manyRooms), make(chan struct{})
	go func() {
		defer close(done)
		for key := range (&files.Store{}).Watch(ctx, store.Key{Space: space}) {
			seen <- woken{key, time.Now()}
		}
	}()
	armed := time.Now()
	<-seen
	m.progress("%d rooms armed in %v", manyRooms, time.Since(armed).Round(time.Millisecond))
	var took []time.Duration
	other := 0
	for i := range 50 {
		t := m.talk(m.manyKey(i * 97 % manyRooms))
		begun := time.Now()
		t.post()
		limit := time.After(30 * time.Second)
		for first := true; ; {
			select {
			case w := <-seen:
				switch {
				case w.key != t.key:
					other++
				case first:
					took, first = append(took, w.at.Sub(begun)), false
				}
				continue
			case <-time.After(20 * time.Millisecond):
				if !first {
					break
				}
				continue
			case <-limit:
				m.Fatalf("%s was not noticed for 30 s", t.key.Room)
			}
			break
		}
	}
	cancel()
	<-done
	l = m.add(manyWakeRow, manyRooms, took, "", nil)
	l.Note = fmt.Sprintf("%d wakes of other rooms in %d posts", other, len(took))
}
