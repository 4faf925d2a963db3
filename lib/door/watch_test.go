package door_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/room"
)

// watch collects the wake-ups of a query as "room" or "space/", one at a time.
func watch(t *testing.T, q door.Query) (next func() door.Wake) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	wakes := make(chan door.Wake)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for w, err := range q.Watch(ctx, time.Hour, func(err error) { t.Error(err) }, func(s string) { t.Error(s) }) {
			if err != nil {
				t.Error(err)
				return
			}
			select {
			case wakes <- w:
			case <-ctx.Done():
				return
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	return func() door.Wake {
		t.Helper()
		select {
		case w := <-wakes:
			return w
		case <-time.After(time.Minute):
			t.Fatal("no wake-up")
		}
		return door.Wake{}
	}
}

func post(t *testing.T, d *door.Door, name, who string) {
	t.Helper()
	if _, err := d.Post(t.Context(), d.Key(name), room.Draft{As: who, Body: "x"}); err != nil {
		t.Fatal(err)
	}
}

func TestWatchBeginsWithEverything(t *testing.T) {
	dir := machine(t, nil)
	d := found(t, filepath.Join(dir, "a"), "r", "r2")
	next := watch(t, door.Query{Space: d.Root})
	w := next()
	if !w.First || w.Key.Room != "" {
		t.Fatalf("got %+v", w.Key)
	}
	var rooms []string
	for key, err := range w.Keys(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		rooms = append(rooms, key.Room)
	}
	if !slices.Equal(rooms, []string{"r", "r2"}) {
		t.Errorf("got %q", rooms)
	}
	post(t, d, "r2", "dan")
	if w := next(); w.First || w.Key.Room != "r2" {
		t.Errorf("got %+v", w.Key)
	}
}

func TestWatchNamedRooms(t *testing.T) {
	dir := machine(t, nil)
	d := found(t, filepath.Join(dir, "a"), "r", "r2", "r3")
	next := watch(t, door.Query{Space: d.Root, Rooms: []string{"r", "r2"}})
	first := map[string]bool{}
	for range 2 {
		w := next()
		first[w.Key.Room] = w.First
	}
	if !first["r"] || !first["r2"] {
		t.Errorf("got %v", first)
	}
	post(t, d, "r3", "dan")
	post(t, d, "r", "dan")
	if w := next(); w.Key.Room != "r" {
		t.Errorf("got %+v", w.Key)
	}
	next = watch(t, door.Query{Space: d.Root, Rooms: []string{"none"}})
	if w := next(); !fault.Is(w.Err, fault.UnknownThread) && w.Err == nil {
		if _, err := d.Store.Head(t.Context(), w.Key); !fault.Is(err, fault.UnknownThread) {
			t.Errorf("a room that is not there: %+v, %v", w, err)
		}
	}
}

func TestWatchAllFindsNewSpaces(t *testing.T) {
	dir := machine(t, nil)
	a := found(t, filepath.Join(dir, "a"), "ra")
	next := watch(t, door.Query{All: true, For: "ann"})
	if w := next(); !w.First || w.Root != a.Root {
		t.Fatalf("got %+v", w.Key)
	}
	b := found(t, filepath.Join(dir, "b"), "rb")
	for {
		w := next()
		if w.Root != b.Root {
			continue // the registry is in nobody's room, but a look is free
		}
		if w.First {
			t.Error("a space that came later is taken for how it was")
		}
		break
	}
	post(t, b, "rb", "dan")
	for next().Key != b.Key("rb") {
	}
	// One that goes does not hurt the other.
	if err := os.RemoveAll(b.Root); err != nil {
		t.Fatal(err)
	}
	post(t, a, "ra", "dan")
	for next().Key != a.Key("ra") {
	}
}

func TestWatchRefusesAStranger(t *testing.T) {
	dir := machine(t, nil)
	d := found(t, filepath.Join(dir, "a"), "r")
	for what, c := range map[string]struct {
		q    door.Query
		code fault.Code
	}{
		"a stranger":   {door.Query{Space: d.Root, For: "zoe"}, fault.UnknownParticipant},
		"everywhere":   {door.Query{All: true, For: "zoe"}, fault.UnknownParticipant},
		"no space":     {door.Query{Space: dir}, fault.NotASpace},
		"in no spaces": {door.Query{Space: filepath.Join(dir, "none"), For: "dan"}, fault.NotASpace},
	} {
		n := 0
		for _, err := range c.q.Watch(t.Context(), time.Hour, func(error) {}, func(string) {}) {
			if n++; !fault.Is(err, c.code) {
				t.Errorf("%s: %v, want %s", what, err, c.code)
			}
		}
		if n != 1 {
			t.Errorf("%s: %d answers", what, n)
		}
	}
}

func TestAwait(t *testing.T) {
	dir := machine(t, nil)
	a, b := found(t, filepath.Join(dir, "a"), "ra"), found(t, filepath.Join(dir, "b"), "rb")
	await := func(q door.Query, within time.Duration) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		got, err := q.Await(ctx, func(err error) { t.Error(err) }, func(s string) { t.Error(s) })
		return got.Thread + got.Current, err
	}
	if got, err := await(door.Query{All: true, For: "dan"}, time.Minute); err != nil || got != "radan" && got != "rbdan" {
		t.Errorf("his already: %q, %v", got, err)
	}
	_, err := await(door.Query{All: true, For: "ann"}, 30*time.Millisecond)
	if !fault.Is(err, fault.Timeout) {
		t.Errorf("time-out: %v", err)
	}
	go func() {
		time.Sleep(20 * time.Millisecond)
		post(t, b, "rb", "dan")
	}()
	if got, err := await(door.Query{All: true, For: "ann"}, time.Minute); err != nil || got != "rbann" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := a.Moderate(t.Context(), a.Key("ra"), "dan", room.End); err != nil {
		t.Fatal(err)
	}
	_, err = await(door.Query{Space: a.Root, Rooms: []string{"ra"}, For: "ann"}, time.Minute)
	if !fault.Is(err, fault.Ended) {
		t.Errorf("ended: %v", err)
	}
	_, err = await(door.Query{Space: a.Root, For: "ann"}, 30*time.Millisecond)
	if !fault.Is(err, fault.Timeout) {
		t.Errorf("the end of one room is not the end of all: %v", err)
	}
}

// Whoever watches has the time to wait for a lock, as a reader at a door has not.
func TestAWatchedDoorWaitsForLocks(t *testing.T) {
	d := found(t, filepath.Join(machine(t, nil), "s"), "r")
	w := watch(t, door.Query{Space: d.Root})()
	read, err := door.Open(d.Root)
	if err != nil {
		t.Fatal(err)
	}
	unlock, err := disk.Lock(t.Context(), filepath.Join(d.Root, files.Dir, "threads", "r", ".turn.lock"), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, unlock)
	draft := room.Draft{As: "dan", Body: "x"}
	if _, err := read.Post(t.Context(), d.Key("r"), draft); !fault.Is(err, fault.Busy) {
		t.Errorf("a door to read from: %v", err)
	}
	if _, err := w.Door.Post(t.Context(), d.Key("r"), draft); err != nil {
		t.Errorf("a watched one: %v", err)
	}
}
