package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/gateway/gatewaytest"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
)

const entries = "/v1/rooms/design/entries"

func TestARightWriteIsRecorded(t *testing.T) {
	h := serve(t)
	a := h.ask("POST", entries, "dan", posting("hello\n\n---\n[ann @ 2026-07-06T13:15:02Z]\n", 0), "Idempotency-Key", "one")
	var p record.Posted
	a.record(t, &p)
	if a.status != 201 || p.Version != 1 || p.Author != "dan" || p.Next != "ann" || p.Root != "" || p.Duplicate {
		t.Errorf("%d %+v", a.status, p)
	}
	h.Stands("design", 1, "ann")
	var again record.Posted
	h.ask("GET", "/v1/rooms/design/posted?id=one", "dan", nil).record(t, &again)
	if again.Entry != p.Entry || !again.Duplicate {
		t.Errorf("the receipt is %+v", again)
	}
	h.refused("another's receipt", h.ask("GET", "/v1/rooms/design/posted?id=one", "ann", nil), 404, fault.UnknownEntry)
	if a := h.ask("POST", entries, "ann", posting("pass", 1)); a.status != 201 || !strings.Contains(a.body, `"pass":true`) {
		t.Errorf("a pass: %d %s", a.status, a.body)
	}
}

// T28: a stale version is refused with the current one, and no version at all with
// a status of its own.
func TestT28AVersionIsRequiredAndMustBeTheLast(t *testing.T) {
	h := serve(t)
	h.Posted("design", "dan", "first")
	for _, version := range []int{0, 2, -1, 1 << 40} {
		e := h.refused(fmt.Sprint(version), h.ask("POST", entries, "ann", posting("x", version)), 409, fault.Stale)
		if e.Version == nil || *e.Version != 1 || e.Current != "ann" || e.Thread != "design" {
			t.Errorf("does not tell where the room stands: %+v", e)
		}
		e = h.refused("moderate", h.ask("POST", "/v1/rooms/design/moderate", "dan", act("end", version)), 409, fault.Stale)
		if e.Version == nil || *e.Version != 1 {
			t.Errorf("does not tell where the room stands: %+v", e)
		}
	}
	for _, body := range []string{`{"body":"x"}`, `{"body":"x","version":null}`, `{"body":"x","expect":1}`} {
		h.refused(body, h.ask("POST", entries, "ann", body), 428, fault.BadInput)
	}
	h.refused("moderate", h.ask("POST", "/v1/rooms/design/moderate", "dan", `{"op":"end"}`), 428, fault.BadInput)
	h.Stands("design", 1, "ann")
}

// TestEveryRefusalHasItsStatus goes through the statuses that a write can meet.
func TestEveryRefusalHasItsStatus(t *testing.T) {
	h := serve(t, func(c *gateway.Config) { c.Rooms.MaxBody = 1000 })
	long := strings.Repeat("x", 1001)
	moderate := "/v1/rooms/design/moderate"
	named := func(op, name string) record.Moderation {
		return act(op, 0, func(m *record.Moderation) { m.Name = name })
	}
	opening := func(thread, moderator string, order ...string) map[string]any {
		return map[string]any{"thread": thread, "topic": "t", "moderator": moderator, "turn_order": order}
	}
	for _, c := range []struct {
		what, path, who string
		body            any
		status          int
		code            fault.Code
	}{
		{"not his turn", entries, "ann", posting("x", 0), 423, fault.NotYourTurn},
		{"too long", entries, "dan", posting(long, 0), 413, fault.TooLarge},
		{"much too long", entries, "dan", posting(strings.Repeat(long, 20), 0), 413, fault.TooLarge},
		{"empty", entries, "dan", posting(" \n", 0), 400, fault.BadInput},
		{"NUL", entries, "dan", posting("a\x00b", 0), 400, fault.BadInput},
		{"to nobody", entries, "dan", record.Posting{Body: "x", To: "zoe", Version: new(int)}, 403, fault.NotInThread},
		{"no JSON", entries, "dan", "hello", 400, fault.BadInput},
		{"no object", entries, "dan", "[]", 400, fault.BadInput},
		{"nothing", entries, "dan", "", 400, fault.BadInput},
		{"two", entries, "dan", `{"body":"x","version":0}{"body":"y","version":0}`, 400, fault.BadInput},
		{"another type", entries, "dan", `{"body":7,"version":0}`, 400, fault.BadInput},
		{"half a number", entries, "dan", `{"body":"x","version":0.5}`, 400, fault.BadInput},
		{"a large number", entries, "dan", `{"body":"x","version":1e99}`, 400, fault.BadInput},
		{"deep", entries, "dan", strings.Repeat("[", 9000), 400, fault.BadInput},
		{"no room", "/v1/rooms/none/entries", "dan", posting("x", 0), 404, fault.UnknownThread},
		{"no such act", moderate, "dan", act("burn", 0), 400, fault.BadInput},
		{"next of nobody", moderate, "dan", named("next", "zoe"), 403, fault.NotInThread},
		{"invite with a bad name", moderate, "dan", named("invite", "../x"), 400, fault.InvalidName},
		{"resume what goes on", moderate, "dan", act("resume", 0), 409, fault.NotEnded},
		{"moderate what is too large", moderate, "dan", act("topic", 0, func(m *record.Moderation) { m.Topic = strings.Repeat("x", 1<<20) }), 413, fault.TooLarge},
		{"a topic of two lines", moderate, "dan", act("topic", 0, func(m *record.Moderation) { m.Topic = "a\nb" }), 400, fault.BadInput},
		{"a room that is there", "/v1/rooms", "dan", opening("design", "dan"), 409, fault.Exists},
		{"a room with a bad name", "/v1/rooms", "dan", opening("../../x", "dan"), 400, fault.InvalidName},
		{"a room of strangers", "/v1/rooms", "dan", opening("new", "dan", "nobody"), 404, fault.UnknownParticipant},
		{"another kind", "/v1/participants", "dan", `{"participants":[{"name":"ann","kind":"human"}]}`, 409, fault.Exists},
		{"no kind", "/v1/participants", "dan", `{"participants":[{"name":"eve","kind":"robot"}]}`, 400, fault.BadInput},
		{"a bad name", "/v1/participants", "dan", `{"participants":[{"name":"Eve","kind":"human"}]}`, 400, fault.InvalidName},
	} {
		h.refused(c.what, h.ask("POST", c.path, c.who, c.body), c.status, c.code)
	}
	for _, kind := range []string{"", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonp"} {
		h.refused(kind, h.ask("POST", entries, "dan", posting("x", 0), "Content-Type", kind), 415, fault.BadInput)
	}
	h.refused("a bad id", h.ask("POST", entries, "dan", posting("x", 0), "Idempotency-Key", strings.Repeat("x", 129)), 400, fault.BadInput)
	h.Stands("design", 0, "dan")
	if _, err := h.Beside.Moderate(t.Context(), h.At("design"), "dan", room.End); err != nil {
		t.Fatal(err)
	}
	h.refused("ended", h.ask("POST", entries, "dan", posting("x", 0)), 410, fault.Ended)
	h.refused("moderate what ended", h.ask("POST", moderate, "dan", named("next", "ann")), 410, fault.Ended)
	if err := h.Beside.Known(t.Context(), h.Root, "eve"); !fault.Is(err, fault.UnknownParticipant) {
		t.Errorf("registered: %v", err)
	}
	if strings.Contains(h.odd.String(), "x") {
		t.Errorf("the host was told of refusals: %s", h.odd)
	}
}

// TestAnEndlessBodyIsNotKept streams more than is taken.
func TestAnEndlessBodyIsNotKept(t *testing.T) {
	h := serve(t, func(c *gateway.Config) { c.Rooms.MaxBody = 1000 })
	for what, chunked := range map[string]bool{"announced": false, "streamed": true} {
		endless := &endless{}
		endless.left.Store(64 << 20)
		r := h.request("POST", entries, "dan", "")
		r.Body, r.ContentLength = io.NopCloser(endless), 64<<20
		if chunked {
			r.ContentLength = -1
		}
		res, err := gatewaytest.Client.Do(r)
		if err != nil {
			continue // closed before it was sent
		}
		res.Body.Close()
		if left := endless.left.Load(); res.StatusCode != 413 || left == 0 {
			t.Errorf("%s: %d, %d bytes left", what, res.StatusCode, left)
		}
	}
	h.Stands("design", 0, "dan")
}

type endless struct{ left atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	n := int(min(e.left.Load(), int64(len(b))))
	if n == 0 {
		return 0, io.EOF
	}
	e.left.Add(-int64(n))
	return copy(b, strings.Repeat(" ", n)), nil
}

func TestTheSameKeyWritesOnce(t *testing.T) {
	h := serve(t)
	first := h.ask("POST", entries, "dan", posting("one", 0), "Idempotency-Key", "k")
	h.Posted("design", "ann", "two")
	for what, body := range map[string]record.Posting{"the same": posting("one", 0), "another text": posting("three", 0), "another version": posting("one", 2)} {
		again := h.ask("POST", entries, "dan", body, "Idempotency-Key", "k")
		if again.status != 200 || again.body != strings.Replace(first.body, `"duplicate":false`, `"duplicate":true`, 1) {
			t.Errorf("%s: %d %s, first %s", what, again.status, again.body, first.body)
		}
	}
	h.Stands("design", 2, "bob")
	if a := h.ask("POST", entries, "bob", posting("mine", 2), "Idempotency-Key", "k"); a.status != 201 {
		t.Errorf("another's key of the same name: %d %s", a.status, a.body)
	}
}

func TestTheSameKeyModeratesOnce(t *testing.T) {
	h := serve(t)
	const path = "/v1/rooms/design/moderate"
	next := act("next", 0, func(m *record.Moderation) { m.Name = "bob" })
	first := h.ask("POST", path, "dan", next, "Idempotency-Key", "k")
	h.Posted("design", "bob", "x")
	if again := h.ask("POST", path, "dan", next, "Idempotency-Key", "k"); again.status != 200 || again.body != first.body {
		t.Errorf("again: %d %s, first %s", again.status, again.body, first.body)
	}
	h.Stands("design", 1, "dan")
	h.refused("another act", h.ask("POST", path, "dan", act("end", 1), "Idempotency-Key", "k"), 400, fault.BadInput)
	stale := h.ask("POST", path, "dan", next, "Idempotency-Key", "late")
	h.refused("late", stale, 409, fault.Stale)
	if again := h.ask("POST", path, "dan", next, "Idempotency-Key", "late"); again.body != stale.body {
		t.Errorf("a refusal asked for again: %s", again.body)
	}
	h.refused("not printable", h.ask("POST", path, "dan", next, "Idempotency-Key", strings.Repeat("k", 129)), 400, fault.BadInput)
	h.Stands("design", 1, "dan")
}

// together runs ask n times at once and returns the statuses, sorted.
func together(n int, ask func(i int) int) []int {
	statuses := make([]int, n)
	var wait sync.WaitGroup
	for i := range n {
		wait.Go(func() { statuses[i] = ask(i) })
	}
	wait.Wait()
	slices.Sort(statuses)
	return statuses
}

func TestEightAtOnceWithOneKeyWriteOnce(t *testing.T) {
	h := serve(t)
	got := together(8, func(int) int {
		a, err := h.try("POST", entries, "dan", posting("x", 0), "Idempotency-Key", "k")
		if err != nil {
			t.Error(err)
		}
		return a.status
	})
	if !slices.Equal(got, []int{200, 200, 200, 200, 200, 200, 200, 201}) {
		t.Errorf("got %v", got)
	}
	h.Stands("design", 1, "ann")
	ask := act("invite", 1, func(m *record.Moderation) { m.Name = "zoe" })
	got = together(8, func(int) int {
		a, err := h.try("POST", "/v1/rooms/design/moderate", "dan", ask, "Idempotency-Key", "m")
		if err != nil {
			t.Error(err)
		}
		return a.status
	})
	if slices.Max(got) != 200 {
		t.Errorf("got %v", got)
	}
	found, err := h.Beside.Head(t.Context(), h.At("design"))
	if err != nil || !slices.Equal(found.TurnOrder, []string{"dan", "ann", "bob", "zoe"}) {
		t.Errorf("order %v, %v", found.TurnOrder, err)
	}
}

// The floor passes over the other seat and comes back, so only the version tells the
// eight apart: it is looked at inside the lock.
func TestEightAtOnceWithOneVersionWriteOnce(t *testing.T) {
	h := serve(t)
	h.Opened("alone", "dan", "ann")
	if _, err := h.Beside.Moderate(t.Context(), h.At("alone"), "dan", room.Quiet("ann", 20)); err != nil {
		t.Fatal(err)
	}
	got := together(8, func(i int) int {
		a, err := h.try("POST", "/v1/rooms/alone/entries", "dan", posting(fmt.Sprint(i), 0), "Idempotency-Key", fmt.Sprint(i))
		if err != nil {
			t.Error(err)
		}
		return a.status
	})
	if !slices.Equal(got, []int{201, 409, 409, 409, 409, 409, 409, 409}) {
		t.Errorf("got %v", got)
	}
	h.Stands("alone", 1, "dan")
}

func TestModeration(t *testing.T) {
	h := serve(t)
	version := 0
	for _, c := range []struct {
		act  record.Moderation
		want string
	}{
		{record.Moderation{Op: "next", Name: "bob"}, `"current":"bob"`},
		{record.Moderation{Op: "quiet", Name: "ann", Turns: 2}, `"quieted":{"ann":2}`},
		{record.Moderation{Op: "invite", Name: "zoe"}, `"turn_order":["dan","ann","bob","zoe"]`},
		{record.Moderation{Op: "invite", Name: "newcomer"}, `"zoe","newcomer"]`},
		{record.Moderation{Op: "order", Order: []string{"bob", "dan"}}, `"turn_order":["dan","bob"]`},
		{record.Moderation{Op: "topic", Topic: "<b>another</b>"}, `"topic":"<b>another</b>"`},
		{record.Moderation{Op: "end"}, `"status":"ended"`},
		{record.Moderation{Op: "resume"}, `"status":"active"`},
	} {
		c.act.Version = &version
		a := h.ask("POST", "/v1/rooms/design/moderate", "dan", c.act)
		if a.status != http.StatusOK || !strings.Contains(a.body, c.want) {
			t.Errorf("%s: %d %s", c.act.Op, a.status, a.body)
		}
	}
	h.refused("ann is out", h.ask("GET", "/v1/rooms/design", "ann", nil), 404, fault.UnknownThread)
	if a := h.ask("POST", "/v1/rooms", "ann", `{"thread":"x/y","topic":"t","moderator":"ann","turn_order":["bob"]}`); a.status != 200 {
		t.Errorf("opened: %d %s", a.status, a.body)
	}
	if a := h.ask("POST", "/v1/participants", "ann", `{"participants":[{"name":"eve","kind":"agent"}]}`); a.status != 200 || !strings.Contains(a.body, `"eve"`) {
		t.Errorf("registered: %d %s", a.status, a.body)
	}
}
