package remote

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/store"
)

// slowest is the longest pause before a lost stream of events is asked for again.
const slowest = 5 * time.Second

// Watch yields a room that may have changed. A stream that breaks is taken up
// where it broke, as often as need be; only its first beginning may fail. Where it is
// broken when the time is over, that is its error, not the time.
func (s *Store) Watch(ctx context.Context, key store.Key) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		keys, err := s.watchers(ctx, key)
		if err != nil {
			yield(key, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		woken, failed, armed := make(chan string), make(chan error), make(chan bool)
		var all []*follower
		var following sync.WaitGroup
		end := func(err error) error {
			if ctx.Err() == nil {
				return err
			}
			following.Wait()
			for _, f := range all {
				if lost := f.lost.Load(); lost != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
					return *lost
				}
			}
			return context.Cause(ctx)
		}
		for _, k := range keys {
			f := &follower{s: s, key: k, room: key.Room, woken: woken, armed: armed}
			all = append(all, f)
			following.Go(func() {
				err := f.follow(ctx)
				select {
				case failed <- err:
				case <-ctx.Done():
				}
			})
		}
		for range keys {
			select {
			case <-armed:
			case err := <-failed:
				yield(key, end(err))
				return
			case <-ctx.Done():
				yield(key, end(nil))
				return
			}
		}
		for more := yield(key, nil); more; {
			select {
			case room := <-woken:
				if key.Room != "" {
					room = key.Room
				}
				more = yield(store.Key{Space: key.Space, Room: room}, nil)
			case err := <-failed:
				yield(key, end(err))
				return
			case <-ctx.Done():
				yield(key, end(nil))
				return
			}
		}
	}
}

// watchers returns whose keys a watch needs: for one room, the first who is in it.
func (s *Store) watchers(ctx context.Context, key store.Key) ([]Key, error) {
	if key.Room == "" {
		return s.Keys, s.here(key.Space)
	}
	path, err := s.path(key)
	if err != nil {
		return nil, err
	}
	for _, k := range s.Keys {
		var answer *Response
		if answer, err = s.try(ctx, k.Key, Request{Method: "GET", Path: path}, haste); err == nil {
			answer.Body.Close()
			return []Key{k}, nil
		}
	}
	if err == nil {
		_, err = s.key("")
	}
	return nil, err
}

// follower follows one stream of events.
type follower struct {
	s     *Store
	key   Key
	room  string
	last  string // the event to go on after
	woken chan<- string
	armed chan<- bool
	lost  atomic.Pointer[error] // why there is no stream; nil while there is
}

// follow returns only with an error: of the first beginning, or of a proxy that
// does not let the participant in any more.
func (f *follower) follow(ctx context.Context) error {
	pauses, begun := haste, false
	for pause := pauses[0]; ; pause = min(2*pause, slowest) {
		answer, err := f.begin(ctx, pauses)
		if err == nil {
			pause = pauses[0]
			f.lost.Store(nil)
			f.read(ctx, answer.Body, &begun)
			if ctx.Err() == nil { // it was not we who ended it
				why := error(fault.New(fault.Unreachable, "cannot reach %s: its stream of events has ended", f.s.URL))
				f.lost.Store(&why)
			}
		} else if fault.Is(err, fault.Unreachable) {
			f.lost.Store(&err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil && (!begun || !again(err)) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (f *follower) begin(ctx context.Context, pauses []time.Duration) (*Response, error) {
	r := Request{Method: "GET", Path: "/v1/events", Header: map[string]string{"Accept": "text/event-stream"}}
	if f.room != "" {
		r.Path += "?room=" + url.QueryEscape(f.room)
	}
	if f.last != "" {
		r.Header["Last-Event-Id"] = f.last
	}
	answer, err := f.s.try(ctx, f.key.Key, r, pauses)
	if err == nil && answer.Header["content-type"] != "text/event-stream" {
		answer.Body.Close()
		err = fault.New(fault.Unreachable, "not a stream of events: %q", answer.Header["content-type"])
	}
	return answer, err
}

// read passes on what the events of a stream are about until it ends. begun is set
// by its first event, which says that from here on nothing is missed.
func (f *follower) read(ctx context.Context, body io.ReadCloser, begun *bool) {
	defer body.Close()
	lines := bufio.NewReader(body)
	event, id, data := "", "", ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		field, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			event = value
		case "id":
			id = value
		case "data":
			data = value
		case "":
			if data == "" {
				continue // a comment, or the end of one
			}
			if !f.pass(ctx, event, data, begun) {
				return
			}
			if id != "" {
				f.last = id
			}
			event, id, data = "", "", ""
		}
	}
}

// pass tells whoever watches of an event.
func (f *follower) pass(ctx context.Context, event, data string, begun *bool) bool {
	if event == "ready" {
		if *begun {
			return true
		}
		*begun = true
		select {
		case f.armed <- true:
			return true
		case <-ctx.Done():
			return false
		}
	}
	var about struct {
		Thread string `json:"thread"` // "": any of them
	}
	if json.Unmarshal([]byte(data), &about) != nil {
		return false
	}
	select {
	case f.woken <- about.Thread:
		return true
	case <-ctx.Done():
		return false
	}
}
