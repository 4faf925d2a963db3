// Package gateway serves the rooms of one space over HTTP: the API for programs,
// and what courier and page stand on, which is who is let in, how often, and what
// is logged. It adds no authority: the room's own rules decide, inside the
// operation, with the owner of the key as the actor.
package gateway

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/stamp"
	"github.com/substrate-tools/substrate/lib/store"
)

// Config is what is served, and to whom.
type Config struct {
	Rooms room.Rooms
	Space string           // what the store knows the space by
	Keys  *keyring.Ring    // who has one is let in
	Only  []string         // of them, these; none: everybody
	URL   string           // where this is reached, without a slash at the end
	Local bool             // answer to loopback names only
	Hosts []string         // other names that are answered to; an IP address always is, unless Local
	Rate  float64          // requests a second for each participant; 0: no limit
	Now   func() time.Time // nil: time.Now
	Log   io.Writer        // of requests, a JSON line each; nil: nowhere
	Odd   func(error)      // told what participants are not: paths, I/O errors; nil: nobody
}

// Gateway is the handler.
type Gateway struct {
	Config
	mux    http.ServeMux
	limits limits
	once   Once
	events *events
	counts counts
	logMu  sync.Mutex
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	done   sync.WaitGroup
}

// New returns a Gateway, which is to be closed.
func New(c Config) *Gateway {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Odd == nil {
		c.Odd = func(error) {}
	}
	g := &Gateway{Config: c, events: newEvents()}
	for pattern, h := range g.routes() {
		g.Handle(pattern, h)
	}
	g.ctx, g.stop = context.WithCancel(context.Background())
	g.done.Go(func() { g.events.run(g.ctx, g.Rooms, g.Space, g.Odd) })
	g.done.Go(func() { g.events.guard(g.ctx, g.Keys.Path()) })
	return g
}

// Close ends the streams of events.
func (g *Gateway) Close() {
	g.stop()
	g.done.Wait()
}

// Handle adds a handler, for what stands on the gateway.
func (g *Gateway) Handle(pattern string, h http.HandlerFunc) { g.mux.HandleFunc(pattern, h) }

// ServeHTTP serves a request, counts it and logs it.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	a := &answer{ResponseWriter: w, rc: http.NewResponseController(w), status: http.StatusOK}
	g.counts.open.Add(1)
	defer func() {
		g.counts.open.Add(-1)
		g.counts.note(a.status)
		g.log(r, a, time.Since(began))
	}()
	// A connection is used again, and its deadlines last. Whoever begins a body and
	// does not end it is given up, also where nobody reads it.
	a.rc.SetWriteDeadline(began.Add(slow))
	if r.ContentLength != 0 {
		a.rc.SetReadDeadline(began.Add(slow))
	}
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cache-Control", "no-store")
	if err := g.guard(r); err != nil {
		Refuse(a, http.StatusForbidden, err)
		return
	}
	g.mux.ServeHTTP(a, r)
}

// answer is a ResponseWriter that remembers what the log says, and gives a client
// so long for each piece.
type answer struct {
	http.ResponseWriter
	rc     *http.ResponseController
	status int
	bytes  int64
	who    string
	wrote  bool
}

func (a *answer) WriteHeader(status int) {
	if !a.wrote {
		a.status, a.wrote = status, true
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (sent int, err error) {
	a.wrote = true
	for first := true; err == nil && (first || sent < len(b)); first = false {
		n := 0
		a.rc.SetWriteDeadline(time.Now().Add(slow)) // not every writer can, in tests
		n, err = a.ResponseWriter.Write(b[sent:min(len(b), sent+piece)])
		sent += n
	}
	a.bytes += int64(sent)
	return sent, err
}

// Unwrap is for http.ResponseController.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// request is a line of the log. It has the path and not the query, in which
// couriers have their keys.
type request struct {
	Type   string `json:"type"` // "request"
	Time   string `json:"time"`
	From   string `json:"from"` // address
	For    string `json:"for"`  // "" when nobody was let in
	Method string `json:"method"`
	Path   string `json:"path"`
	Status int    `json:"status"`
	Bytes  int64  `json:"bytes"`
	TookMS int64  `json:"took_ms"`
}

func (g *Gateway) log(r *http.Request, a *answer, took time.Duration) {
	if g.Log == nil {
		return
	}
	line, err := record.Encode(request{
		Type: "request", Time: stamp.Record(g.Now()), From: address(r), For: a.who,
		Method: record.Clip(r.Method, 16), Path: record.Clip(r.URL.EscapedPath(), 256),
		Status: a.status, Bytes: a.bytes, TookMS: took.Milliseconds(),
	})
	if err != nil {
		return
	}
	g.logMu.Lock()
	defer g.logMu.Unlock()
	g.Log.Write(line) // a log that cannot be written stops nobody
}

// counts is what the metrics show.
type counts struct {
	open, streams, posts, wrong, limited atomic.Int64
	byClass                              [6]atomic.Int64
}

func (c *counts) note(status int) {
	if class := status / 100; class > 0 && class < len(c.byClass) {
		c.byClass[class].Add(1)
	}
}

// In returns a room that a participant is in, or refuses with unknown_thread, in
// the same words whether it is there or not.
func (g *Gateway) In(ctx context.Context, who, name string) (store.Key, record.Room, error) {
	key := store.Key{Space: g.Space, Room: name}
	found, err := g.Rooms.Head(ctx, key)
	if err != nil && !fault.Is(err, fault.InvalidName) {
		return key, found, hidden(err, name)
	}
	if err != nil || !In(found.RoomKeys, who) {
		return key, found, noRoom(name)
	}
	found.RoomKeys = public(found.RoomKeys)
	return key, found, nil
}

// In reports whether somebody takes part in a room.
func In(k record.RoomKeys, who string) bool {
	return k.Moderator == who || slices.Contains(k.TurnOrder, who)
}

// public takes out what is this machine's business alone.
func public(k record.RoomKeys) record.RoomKeys {
	k.Root = ""
	return k
}

// token returns something that nobody can guess.
func token() string { return rand.Text() }
