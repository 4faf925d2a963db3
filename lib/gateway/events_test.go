package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/gateway/gatewaytest"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// event is one of a stream: its kind, the id to go on after it, and what room and
// version it is about.
type event struct {
	kind, id, thread, about string
}

// stream follows the events of somebody.
type stream struct {
	h      *host
	lines  *bufio.Reader
	status int
	header http.Header
}

func (h *host) follow(who, query, last string) *stream {
	h.T.Helper()
	ctx, cancel := context.WithTimeout(h.T.Context(), time.Minute)
	h.T.Cleanup(cancel)
	r := h.request("GET", "/v1/events"+query, who, nil).WithContext(ctx)
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	res, err := gatewaytest.Client.Do(r)
	if err != nil {
		h.T.Fatal(err)
	}
	h.T.Cleanup(func() { res.Body.Close() })
	return &stream{h, bufio.NewReader(res.Body), res.StatusCode, res.Header}
}

// next returns the next event, or how the stream ended. Its data is held against
// openapi.json.
func (s *stream) next() (e event, err error) {
	s.h.T.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "event":
			e.kind = value
		case "id":
			e.id = value
		case "data":
			openapi(s.h.T).valid(s.h.T, map[string]string{"ready": "Ready", "floor": "Floor", "reset": "Reset"}[e.kind], value)
			s.h.discreet(answer{body: value})
			var f record.Floor
			answer{body: value}.record(s.h.T, &f)
			if e.thread = f.Thread; e.kind == "floor" {
				e.about = fmt.Sprint(f.Event, " ", f.Current, " ", f.Version)
			}
		case "":
			if e.kind != "" {
				return e, nil
			}
		}
	}
}

func (s *stream) expect(kind, thread, about string) event {
	s.h.T.Helper()
	e, err := s.next()
	if err != nil || e.kind != kind || e.thread != thread || e.about != about || e.id == "" {
		s.h.T.Fatalf("got %+v, %v; want %s of %q: %s", e, err, kind, thread, about)
	}
	return e
}

// ends asserts that nothing more comes.
func (s *stream) ends(why string) {
	s.h.T.Helper()
	if e, err := s.next(); err != io.EOF {
		s.h.T.Errorf("%s: got %+v, %v", why, e, err)
	}
}

func TestEventsTellOfTheReadersRoomsOnly(t *testing.T) {
	h := serve(t)
	bob, dan, one := h.follow("bob", "", ""), h.follow("dan", "", ""), h.follow("dan", "?room=a%2Fb", "")
	for _, s := range []*stream{bob, dan, one} {
		s.expect("ready", "", "")
		if s.status != 200 || s.header.Get("Content-Type") != "text/event-stream" || s.header.Get("X-Accel-Buffering") != "no" {
			t.Errorf("%d %v", s.status, s.header)
		}
	}
	h.Posted("a/b", "dan", "x")
	dan.expect("floor", "a/b", "floor ann 1")
	one.expect("floor", "a/b", "floor ann 1")
	h.Posted("design", "dan", "x")
	dan.expect("floor", "design", "floor ann 1")
	bob.expect("floor", "design", "floor ann 1") // the first that he hears of
	for _, c := range []struct {
		what string
		act  room.Act
	}{{"changed", room.Topic("another")}, {"ended", room.End}} {
		if _, err := h.Beside.Moderate(t.Context(), h.At("a/b"), "dan", c.act); err != nil {
			t.Fatal(c.what, err)
		}
		one.expect("floor", "a/b", c.what+" ann 1")
	}
	if _, err := h.Beside.Open(t.Context(), h.At("new"), room.Opening{Topic: "t", Moderator: "dan", Order: []string{"bob"}}); err != nil {
		t.Fatal(err)
	}
	bob.expect("floor", "new", "floor dan 0")
	if a := h.ask("GET", "/metrics", "dan", nil); !strings.Contains(a.body, "substrate_event_streams_open 3\n") {
		t.Errorf("got %s", a.body)
	}
}

// TestAReaderWhoComesBackGetsTheDelta: after an event's id come, of each room that
// has changed since, the last state, and nothing else.
func TestAReaderWhoComesBackGetsTheDelta(t *testing.T) {
	h := serve(t)
	watch := h.follow("dan", "", "")
	watch.expect("ready", "", "")
	h.Posted("design", "dan", "1")
	seen := watch.expect("floor", "design", "floor ann 1")
	for i, who := range []string{"ann", "bob", "dan"} {
		h.Posted("design", who, who)
		watch.expect("floor", "design", fmt.Sprint("floor ", []string{"bob", "dan", "ann"}[i], " ", i+2))
	}
	h.Posted("a/b", "dan", "x")
	middle := watch.expect("floor", "a/b", "floor ann 1")

	again := h.follow("dan", "", seen.id)
	again.expect("ready", "", "")
	cut := again.expect("floor", "design", "floor ann 4")
	// Cut off here, in the middle of what there is: the rest is not lost.
	last := again.expect("floor", "a/b", "floor ann 1")
	rest := h.follow("dan", "", cut.id)
	rest.expect("ready", "", "")
	if e := rest.expect("floor", "a/b", "floor ann 1"); e.id != last.id || e.id != middle.id {
		t.Errorf("the same event is at %s, %s and %s", e.id, last.id, middle.id)
	}
	up := h.follow("dan", "", last.id)
	up.expect("ready", "", "")
	other := h.follow("bob", "", seen.id)
	other.expect("ready", "", "")
	other.expect("floor", "design", "floor ann 4")
	h.Posted("a/b", "ann", "y")
	for _, s := range []*stream{again, rest, up} { // nothing came in between
		s.expect("floor", "a/b", "floor dan 2")
	}
	h.Posted("design", "ann", "y")
	other.expect("floor", "design", "floor bob 5")
}

func TestAPlaceThatIsNotKnownIsAReset(t *testing.T) {
	h := serve(t)
	first := h.follow("dan", "", "")
	id := first.expect("ready", "", "").id
	boot, _, _ := strings.Cut(id, "-")
	for _, last := range []string{"x", "-", "-1", boot, boot + "-", boot + "-x", boot + "-99", boot + "--1", boot + "-18446744073709551616", "another-0", strings.Repeat("9", 5000)} {
		s := h.follow("dan", "", last)
		s.expect("ready", "", "")
		s.expect("reset", "", "")
		h.Posted("design", []string{"dan", "ann", "bob"}[h.version("design")%3], "x")
		s.expect("floor", "design", h.line("design"))
	}
	// A restart makes all places unknown.
	h.Restart()
	first.expectAll(t)
	s := h.follow("dan", "", id)
	s.expect("ready", "", "")
	s.expect("reset", "", "")
}

// expectAll reads a stream to its end.
func (s *stream) expectAll(t *testing.T) {
	t.Helper()
	for {
		if _, err := s.next(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func (h *host) version(room string) int {
	h.T.Helper()
	found, err := h.Beside.Head(h.T.Context(), h.At(room))
	if err != nil {
		h.T.Fatal(err)
	}
	return found.Version
}

func (h *host) line(room string) string {
	h.T.Helper()
	found, err := h.Beside.Head(h.T.Context(), h.At(room))
	if err != nil {
		h.T.Fatal(err)
	}
	return fmt.Sprint("floor ", found.Current, " ", found.Version)
}

func TestAStreamEndsWithItsKeyItsServerOrItsReader(t *testing.T) {
	h := serve(t)
	ann, dan := h.follow("ann", "", ""), h.follow("dan", "", "")
	ann.expect("ready", "", "")
	dan.expect("ready", "", "")
	if err := h.Keys.Revoke(t.Context(), "ann", gatewaytest.Start); err != nil {
		t.Fatal(err)
	}
	ann.ends("a revoked key")
	h.Posted("design", "dan", "x") // dan's goes on
	dan.expect("floor", "design", "floor ann 1")
	if err := h.Keys.Rotate(t.Context(), "dan", gatewaytest.Start, func(key string) error { h.Key["dan"] = key; return nil }); err != nil {
		t.Fatal(err)
	}
	dan.ends("a rotated key")
	bob := h.follow("bob", "", "")
	bob.expect("ready", "", "")
	h.Close()
	bob.ends("a stop")
	within(t, func() string { return h.ask("GET", "/metrics", "bob", nil).body }, func(s string) bool {
		return strings.Contains(s, "substrate_event_streams_open 0\n")
	})
}

func TestWhoLeavesARoomHearsNoMoreOfIt(t *testing.T) {
	h := serve(t)
	ann := h.follow("ann", "", "")
	ann.expect("ready", "", "")
	if _, err := h.Beside.Moderate(t.Context(), h.At("design"), "dan", room.Order([]string{"dan", "bob"})); err != nil {
		t.Fatal(err)
	}
	h.Posted("design", "dan", "behind her back")
	h.Posted("a/b", "dan", "x")
	ann.expect("floor", "a/b", "floor ann 1")
}

func TestHEADTakesNoStream(t *testing.T) {
	h := serve(t)
	if a := h.ask("HEAD", "/v1/events", "dan", nil); a.status != 200 || a.header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

// broken is a store in which one room cannot be read.
type broken struct {
	store.Store
	room string
}

func (b broken) Head(ctx context.Context, key store.Key) (store.Head, error) {
	if key.Room == b.room {
		return store.Head{}, errBroken
	}
	return b.Store.Head(ctx, key)
}

func TestARoomThatCannotBeReadIsAReset(t *testing.T) {
	h := serve(t, func(c *gateway.Config) { c.Rooms.Store = broken{c.Rooms.Store, "a/b"} })
	s := h.follow("bob", "", "")
	s.expect("ready", "", "")
	h.Posted("a/b", "dan", "x")
	s.expect("reset", "", "")
	h.Posted("design", "dan", "x")
	e, err := s.next()
	for e.kind == "reset" { // a post is several changes
		e, err = s.next()
	}
	if err != nil || e.about != "floor ann 1" {
		t.Errorf("got %+v, %v", e, err)
	}
	a := h.ask("GET", "/v1/rooms", "dan", nil) // the others are listed
	if got := kinds(t, a); !slices.Equal(got, []string{"room"}) || !strings.Contains(h.odd.String(), "broken") {
		t.Errorf("%v, the host was told %s", got, h.odd)
	}
}
