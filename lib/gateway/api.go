package gateway

import (
	"bufio"
	_ "embed"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// openAPI describes the API; a test holds it against the routes and their answers.
//
//go:embed openapi.json
var openAPI []byte

// slow is how long a client may take to read a piece of an answer, or to send a
// request.
const (
	slow  = 30 * time.Second
	piece = 64 << 10 // bytes
)

// routes are the API's, by pattern. Those that are not keyed tell nothing of rooms.
func (g *Gateway) routes() map[string]http.HandlerFunc {
	all := map[string]http.HandlerFunc{
		"GET /healthz":         g.health,
		"GET /v1/openapi.json": g.describe,
	}
	for pattern, h := range map[string]member{
		"GET /v1":                         g.space,
		"GET /v1/rooms":                   g.list,
		"POST /v1/rooms":                  g.open,
		"GET /v1/rooms/{room}":            g.head,
		"GET /v1/rooms/{room}/entries":    g.entries,
		"POST /v1/rooms/{room}/entries":   g.post,
		"GET /v1/rooms/{room}/posted":     g.posted,
		"GET /v1/rooms/{room}/transcript": g.transcript,
		"GET /v1/rooms/{room}/manifest":   g.manifest,
		"POST /v1/rooms/{room}/moderate":  g.moderate,
		"GET /v1/participants":            g.participants,
		"POST /v1/participants":           g.register,
		"GET /v1/events":                  g.stream,
		"GET /metrics":                    g.metrics,
		"/v1":                             g.nothing,
		"/v1/":                            g.nothing,
	} {
		all[pattern] = g.keyed(h)
	}
	return all
}

func (g *Gateway) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Write([]byte("ok\n"))
}

func (g *Gateway) describe(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Write(openAPI)
}

// nothing is asked where there is no route, or none for this method.
func (g *Gateway) nothing(w http.ResponseWriter, r *http.Request, _ string) error {
	if methods := g.methods(r); len(methods) > 0 {
		w.Header().Set("Allow", strings.Join(methods, ", "))
		Refuse(w, http.StatusMethodNotAllowed, fault.New(fault.Usage, "no %s here: %q", record.Clip(r.Method, 16), record.Clip(r.URL.Path, 256)).
			WithHint("ask by %s", strings.Join(methods, " or ")))
		return nil
	}
	Refuse(w, http.StatusNotFound, fault.New(fault.Usage, "no such route: %s %q", record.Clip(r.Method, 16), record.Clip(r.URL.Path, 256)).
		WithHint("GET /v1/openapi.json describes what there is"))
	return nil
}

// methods are those by which there is something at a request's path.
func (g *Gateway) methods(r *http.Request) []string {
	var all []string
	other := *r
	for _, other.Method = range []string{http.MethodGet, http.MethodPost} {
		if _, pattern := g.mux.Handler(&other); pattern != "/v1" && pattern != "/v1/" {
			all = append(all, other.Method)
		}
	}
	return all
}

// space tells what the space is called and who takes part in it.
func (g *Gateway) space(w http.ResponseWriter, r *http.Request, who string) error {
	members, err := g.Rooms.Store.Members(r.Context(), g.Space)
	if err != nil {
		return err
	}
	s := record.Host{Space: record.Space{Type: "space", Version: 1, Participants: []record.Member{}}, For: who}
	if g.Rooms.Label != nil {
		s.Label = g.Rooms.Label(g.Space)
	}
	for _, m := range members {
		s.Participants = append(s.Participants, record.Member(m))
	}
	for _, err := range g.Mine(r, who) {
		if err != nil {
			return err
		}
		s.Rooms++
	}
	return send(w, http.StatusOK, s)
}

// Mine yields the rooms that somebody is in. One that cannot be read is left out
// and the host is told.
func (g *Gateway) Mine(r *http.Request, who string) iter.Seq2[record.Room, error] {
	return func(yield func(record.Room, error) bool) {
		for found, err := range g.Rooms.List(r.Context(), g.Space, nil) {
			if err != nil && fault.Is(err, fault.NotASpace) {
				yield(found, err)
				return
			}
			if err != nil {
				g.Odd(err)
				continue
			}
			found.RoomKeys = public(found.RoomKeys)
			if In(found.RoomKeys, who) && !yield(found, nil) {
				return
			}
		}
	}
}

func (g *Gateway) list(w http.ResponseWriter, r *http.Request, who string) error {
	out := newLines(w)
	for found, err := range g.Mine(r, who) {
		if err == nil {
			err = out.put(found)
		}
		if err != nil {
			return err
		}
	}
	return out.flush()
}

func (g *Gateway) head(w http.ResponseWriter, r *http.Request, who string) error {
	key, _, err := g.In(r.Context(), who, r.PathValue("room"))
	if err != nil {
		return err
	}
	h, err := g.Rooms.Store.Head(r.Context(), key)
	if err != nil {
		return hidden(err, key.Room)
	}
	return send(w, http.StatusOK, record.LiveRoom{Type: "room", RoomKeys: public(g.Rooms.Keys(key, h)), LastEntry: h.Last})
}

// entries sends a snapshot of a room, the entries of a part of it, and the window
// they make; what stops without one is not whole.
func (g *Gateway) entries(w http.ResponseWriter, r *http.Request, who string) error {
	key, _, err := g.In(r.Context(), who, r.PathValue("room"))
	if err != nil {
		return err
	}
	part, limit, err := asked(r.URL.Query())
	if err != nil {
		return err
	}
	bare := !part.Bodies
	part.Bodies = part.Bodies || limit > 0 // a bound is one of the text, shown or not
	view, err := g.Rooms.Store.Read(r.Context(), key, part)
	if err != nil {
		return hidden(err, key.Room)
	}
	snap := record.Snapshot{
		Type: "snapshot", RoomKeys: public(g.Rooms.Keys(key, view.Head)), LastEntry: view.Head.Last,
		TotalLines: view.Lines, VisibleEntries: view.Visible,
	}
	if view.Damage != nil {
		damage := record.ErrorOf(g.Public(view.Damage))
		snap.Damage = &damage
	}
	out := newLines(w)
	if err := out.put(snap); err != nil {
		return err
	}
	if err := g.sendEntries(out, key, view, part, limit, bare); err != nil {
		if err := out.put(record.ErrorOf(g.Public(err))); err != nil {
			return err
		}
	}
	return out.flush()
}

func (g *Gateway) sendEntries(out *lines, key store.Key, view store.View, part store.Part, limit int, bare bool) error {
	window := record.Window{Type: "window", Thread: key.Room, Version: view.Head.Version, TotalLines: view.Lines}
	for e, err := range view.Entries {
		if err != nil {
			return err
		}
		size := 0
		if !e.Pass && part.Bodies {
			size = transcript.SizeOf(e)
		}
		if limit > 0 && window.Bytes+size > limit {
			if window.NextEntry = e.Name; window.Entries == 0 {
				return fault.New(fault.TooLarge, "entry alone has %d bytes, more than %d: %q", size, limit, e.Name)
			}
			break
		}
		if window.Entries == 0 {
			window.FromEntry, window.StartLine = e.Name, e.StartLine
		}
		window.ThroughEntry, window.EndLine = e.Name, e.EndLine()
		window.Entries++
		window.Bytes += size
		full := record.FullEntry{Entry: room.Entry(key, e), Version: e.Version, Pass: e.Pass, ID: e.ID}
		if part.Files {
			full.File = e.File
		}
		if bare {
			full.Body = ""
		}
		if err := out.put(full); err != nil {
			return err
		}
	}
	return out.put(window)
}

// asked reads the part that a query names. Bodies come unless they are not wanted.
func asked(q url.Values) (p store.Part, limit int, err error) {
	p = store.Part{From: q.Get("from_entry"), Through: q.Get("through_entry"), After: q.Get("after"), Bodies: true}
	for name, n := range map[string]*int{
		"from_line": &p.FromLine, "last": &p.Last, "last_lines": &p.LastLines, "max_bytes": &limit,
	} {
		if value := q.Get(name); value != "" {
			if *n, err = strconv.Atoi(value); err != nil || *n < 0 {
				return p, 0, fault.New(fault.BadInput, "not a number of 0 or more: %s %q", name, record.Clip(value, 64))
			}
		}
	}
	for name, on := range map[string]*bool{"bodies": &p.Bodies, "passes": &p.Passes, "files": &p.Files} {
		if value := q.Get(name); value != "" {
			if *on, err = strconv.ParseBool(value); err != nil {
				return p, 0, fault.New(fault.BadInput, "not 0 or 1: %s %q", name, record.Clip(value, 64))
			}
		}
	}
	return p, limit, nil
}

// transcript sends the text of a line or entry window.
func (g *Gateway) transcript(w http.ResponseWriter, r *http.Request, who string) error {
	key, _, err := g.In(r.Context(), who, r.PathValue("room"))
	if err != nil {
		return err
	}
	part, limit, err := asked(r.URL.Query())
	if err != nil {
		return err
	}
	part.Passes, part.Files = false, false
	reading, err := g.Rooms.Read(r.Context(), key, part, limit)
	if err != nil {
		return hidden(err, key.Room)
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	out := bufio.NewWriterSize(w, piece)
	if err := transcript.WriteText(out, reading.Entries(), reading.First()); err != nil {
		return err
	}
	return out.Flush()
}

func (g *Gateway) manifest(w http.ResponseWriter, r *http.Request, who string) error {
	key, _, err := g.In(r.Context(), who, r.PathValue("room"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	return g.Rooms.WriteManifest(r.Context(), w, key)
}

func (g *Gateway) posted(w http.ResponseWriter, r *http.Request, who string) error {
	key, _, err := g.In(r.Context(), who, r.PathValue("room"))
	if err != nil {
		return err
	}
	p, err := g.Rooms.Receipt(r.Context(), key, who, r.URL.Query().Get("id"))
	if err != nil {
		return hidden(err, key.Room)
	}
	p.Root = ""
	return send(w, http.StatusOK, p)
}

func (g *Gateway) participants(w http.ResponseWriter, r *http.Request, _ string) error {
	members, err := g.Rooms.Store.Members(r.Context(), g.Space)
	if err != nil {
		return err
	}
	return send(w, http.StatusOK, everybody(members))
}

func everybody(members []store.Member) record.Participants {
	p := record.Participants{Type: "participants", Participants: []record.Member{}}
	for _, m := range members {
		p.Participants = append(p.Participants, record.Member(m))
	}
	return p
}
