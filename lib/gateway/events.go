package gateway

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// One watch of the space serves every stream: each change is looked at once, and
// kept for who is away for a while. A stream says its place in what is kept as the
// id of an event; a place that is not known any more, which a restart makes of
// all, means that anything may have changed, and is answered with a reset.
const (
	kept  = 4096             // events
	alive = 15 * time.Second // between signs of life on a stream
	check = 500 * time.Millisecond
)

// events are what happened in the space's rooms.
type events struct {
	boot    string
	mu      sync.Mutex
	armed   bool
	next    uint64        // number of the next event
	last    []event       // the last ones
	changed chan struct{} // closed when any of this, or the keys, changes
}

// event is a change of one room, or, without one, of any.
type event struct {
	n     uint64
	floor *record.Floor
}

func newEvents() *events { return &events{boot: token(), changed: make(chan struct{})} }

// tell changes something and wakes every stream.
func (e *events) tell(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *events) add(floor *record.Floor) {
	e.tell(func() {
		if e.last = append(e.last, event{e.next, floor}); len(e.last) > kept {
			e.last = append([]event(nil), e.last[len(e.last)-kept/2:]...)
		}
		e.next++
	})
}

// run watches the space until ctx ends.
func (e *events) run(ctx context.Context, rooms room.Rooms, space string, odd func(error)) {
	f := room.Follower{}
	look := func(key store.Key, begun bool) {
		floor, err := f.Look(ctx, rooms, key, begun)
		if err != nil {
			e.add(nil)
		} else if floor != nil {
			floor.RoomKeys = public(floor.RoomKeys)
			e.add(floor)
		}
	}
	for ctx.Err() == nil {
		for key, err := range rooms.Store.Watch(ctx, store.Key{Space: space}) {
			if err != nil {
				if ctx.Err() == nil {
					odd(err)
				}
				break
			}
			if key.Room != "" {
				look(key, true)
				continue
			}
			for key, err := range rooms.Store.List(ctx, space) {
				if err == nil {
					look(key, e.armed)
				}
			}
			e.tell(func() { e.armed = true })
		}
		select {
		case <-time.After(time.Second): // the space may come back
		case <-ctx.Done():
		}
	}
}

// guard wakes every stream when the keys have changed, so that one whose key is
// gone ends.
func (e *events) guard(ctx context.Context, keys string) {
	before := disk.PrintAt(keys)
	tick := time.NewTicker(check)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			if now := disk.PrintAt(keys); now != before {
				before = now
				e.tell(func() {})
			}
		case <-ctx.Done():
			e.tell(func() {})
			return
		}
	}
}

// place is where a stream is.
type place struct {
	boot string
	next uint64
}

func (p place) String() string { return fmt.Sprintf("%s-%d", p.boot, p.next) }

// parsePlace reads the id of an event.
func parsePlace(id string) (p place, ok bool) {
	boot, n, parted := strings.Cut(id, "-")
	next, err := strconv.ParseUint(n, 10, 64)
	return place{boot, next}, parted && err == nil
}

// since returns what happened after a place, and the place then. lost says that
// the place is not known.
func (e *events) since(p place) (news []event, now place, lost, armed bool, changed <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	now = place{e.boot, e.next}
	oldest := e.next - uint64(len(e.last))
	if lost = p.boot != e.boot || p.next > e.next || p.next < oldest; !lost {
		news = e.last[p.next-oldest:]
	}
	return news, now, lost, e.armed, e.changed
}

// Stream is a stream of server-sent events to somebody.
type Stream struct {
	g    *Gateway
	w    io.Writer
	rc   *http.ResponseController
	who  string
	room string // "": all his rooms
	at   place
	lost bool // where he was is not known
}

// stream serves the changes of a participant's rooms.
func (g *Gateway) stream(w http.ResponseWriter, r *http.Request, who string) error {
	name := r.URL.Query().Get("room")
	if name != "" {
		if _, _, err := g.In(r.Context(), who, name); err != nil {
			return err
		}
	}
	key := bearer(r)
	return g.Stream(w, r, who, name, func() bool { return g.whose(key, keyring.Standing) == who })
}

// Stream serves the changes of somebody's rooms, or of one, as server-sent events,
// as long as he is let in. It begins with ready, when nothing is missed from then
// on. An event is a floor record, or a reset, when anything may have changed.
func (g *Gateway) Stream(w http.ResponseWriter, r *http.Request, who, room string, in func() bool) error {
	g.counts.streams.Add(1)
	defer g.counts.streams.Add(-1)
	rc := http.NewResponseController(w)
	s := &Stream{g: g, w: w, rc: rc, who: who, room: room}
	_, s.at, _, _, _ = g.events.since(place{})
	if id := r.Header.Get("Last-Event-Id"); id != "" {
		was, ok := parsePlace(id)
		if _, _, lost, _, _ := g.events.since(was); !ok || lost {
			s.lost = true
		} else {
			s.at = was
		}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // a reverse proxy is to pass it on at once
	if r.Method == http.MethodHead {
		return nil // whoever asks for no body takes no place
	}
	if err := s.comment(); err != nil || r.Method == http.MethodHead {
		return err
	}
	s.serve(r.Context(), in)
	return nil // it ends as its client, its key or the server does
}

func (s *Stream) serve(ctx context.Context, in func() bool) {
	beat := time.NewTicker(alive)
	defer beat.Stop()
	ready := false
	for {
		news, now, lost, armed, changed := s.g.events.since(s.at)
		if armed && !ready {
			ready = true
			if s.send("ready", s.at, struct{}{}) != nil {
				return
			}
		}
		if armed && s.tell(news, now, lost) != nil {
			return
		}
		select {
		case <-changed:
		case <-beat.C:
			if s.comment() != nil {
				return
			}
		case <-ctx.Done():
			return
		}
		if !in() || s.g.closed() {
			return
		}
	}
}

// tell sends what concerns the reader, of each room the last state. Whoever is cut
// off in the middle goes on behind the event that he got.
func (s *Stream) tell(news []event, now place, lost bool) error {
	s.at = now
	if s.lost || lost {
		s.lost = false
		return s.send("reset", now, struct {
			Thread string `json:"thread"`
		}{})
	}
	newest := map[string]uint64{}
	for _, e := range news {
		if e.floor == nil {
			newest[""] = e.n
		} else {
			newest[e.floor.Thread] = e.n
		}
	}
	for _, e := range news {
		switch {
		case e.floor == nil && newest[""] == e.n:
			s.lost = true // a room that could not be looked at
		case e.floor == nil || newest[e.floor.Thread] != e.n || s.room != "" && s.room != e.floor.Thread || !In(e.floor.RoomKeys, s.who):
		default:
			if err := s.send("floor", place{now.boot, e.n + 1}, e.floor); err != nil {
				return err
			}
		}
	}
	if s.lost {
		return s.tell(nil, now, true)
	}
	return nil
}

func (s *Stream) send(kind string, at place, v any) error {
	data, err := record.Encode(v)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(s.w, "event: %s\nid: %s\ndata: %s\n", kind, at, data); err != nil {
		return err
	}
	return s.rc.Flush()
}

// comment is a sign of life.
func (s *Stream) comment() error {
	if _, err := io.WriteString(s.w, ": \n\n"); err != nil {
		return err
	}
	return s.rc.Flush()
}

// closed reports whether the gateway has ended.
func (g *Gateway) closed() bool { return g.ctx.Err() != nil }
