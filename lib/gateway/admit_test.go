package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/gateway/gatewaytest"
)

// T26: no key and a wrong one are 401 and say what is missing; a room that the
// owner of the key is not in is as if it were not there.
func TestT26WhoIsLetIn(t *testing.T) {
	h := serve(t)
	session, _, err := h.Keys.Redeem(t.Context(), h.Link("dan"), gatewaytest.Start)
	if err != nil {
		t.Fatal(err)
	}
	for what, authorization := range map[string]string{
		"none": "", "empty": "Bearer ", "wrong": "Bearer wrong", "cut": "Bearer " + h.Key["dan"][:len(h.Key["dan"])-1],
		"longer": "Bearer " + h.Key["dan"] + "x", "another scheme": "Basic " + h.Key["dan"], "no scheme": h.Key["dan"],
		"of a browser": "Bearer " + session, "of a link": "Bearer " + h.Link("dan"), "two": "Bearer " + h.Key["dan"] + " " + h.Key["ann"],
	} {
		h.Now.Move(time.Minute) // or it is too many
		for _, path := range []string{"/v1", "/v1/rooms/design", "/v1/rooms/none", "/v1/events", "/metrics", "/v1/nothing"} {
			a := h.ask("GET", path, "", nil, "Authorization", authorization)
			e := h.refused(what+" "+path, a, 401, fault.Denied)
			if a.header.Get("WWW-Authenticate") != `Bearer realm="substrate"` || !strings.Contains(e.Hint, "Authorization: Bearer") {
				t.Errorf("%s: does not say what is missing: %v %s", what, a.header, e.Hint)
			}
		}
	}
	h.Now.Move(time.Minute)
	if a := h.ask("GET", "/v1?key="+h.Key["dan"], "", nil); a.status != 401 {
		t.Errorf("a key in the address of the API: %d", a.status)
	}
	if a := h.ask("GET", "/v1", "", nil, "Authorization", "bearer  "+h.Key["dan"]); a.status != 200 {
		t.Errorf("a scheme has no case: %d", a.status)
	}
	for _, path := range []string{"", "/entries", "/transcript", "/manifest", "/posted?id=x"} {
		there := h.ask("GET", "/v1/rooms/design"+path, "zoe", nil)
		absent := h.ask("GET", "/v1/rooms/parser"+path, "zoe", nil)
		h.refused(path, there, 404, fault.UnknownThread)
		if there.status != absent.status || strings.ReplaceAll(there.body, "design", "parser") != absent.body {
			t.Errorf("%s: a room he is not in tells itself apart:\n%s%s", path, there.body, absent.body)
		}
	}
	for path, body := range map[string]any{"/entries": posting("x", 0), "/moderate": act("end", 0)} {
		h.refused(path, h.ask("POST", "/v1/rooms/design"+path, "zoe", body), 404, fault.UnknownThread)
	}
	h.refused("events", h.ask("GET", "/v1/events?room=design", "zoe", nil), 404, fault.UnknownThread)
	if a := h.ask("GET", "/v1/rooms", "zoe", nil); a.status != 200 || a.body != "" {
		t.Errorf("zoe's rooms: %d %s", a.status, a.body)
	}
	h.Stands("design", 0, "dan")
}

// T12: nobody writes as another, whatever he says.
func TestT12NobodyActsAsAnother(t *testing.T) {
	h := serve(t)
	ask := posting("x", 0)
	ask.As = "dan"
	h.refused("post", h.ask("POST", "/v1/rooms/design/entries", "ann", ask), 403, fault.Denied)
	for _, op := range []string{"end", "topic", "next", "quiet", "invite", "order"} {
		m := act(op, 0)
		m.Name, m.Topic, m.Order, m.Turns = "bob", "mine", []string{"ann"}, 1
		h.refused(op, h.ask("POST", "/v1/rooms/design/moderate", "ann", m), 403, fault.NotModerator)
	}
	h.refused("open", h.ask("POST", "/v1/rooms", "ann", map[string]any{
		"thread": "new", "topic": "t", "moderator": "dan", "turn_order": []string{"ann"},
	}), 403, fault.Denied)
	h.Stands("design", 0, "dan")
	if _, err := h.Beside.Head(t.Context(), h.At("new")); !fault.Is(err, fault.UnknownThread) {
		t.Errorf("opened: %v", err)
	}
	ask.As = "dan"
	if a := h.ask("POST", "/v1/rooms/design/entries", "dan", ask); a.status != 201 {
		t.Errorf("as himself: %d %s", a.status, a.body)
	}
}

func TestForServesTheseOnly(t *testing.T) {
	h := serve(t, func(c *gateway.Config) { c.Only = []string{"ann"} })
	h.refused("dan", h.ask("GET", "/v1", "dan", nil), 401, fault.Denied)
	if a := h.ask("GET", "/v1", "ann", nil); a.status != 200 {
		t.Errorf("ann: %d", a.status)
	}
}

// T27: a web page of another site is kept out, key or no key, and so is a name that
// was made to point here.
func TestT27WebPagesOfOthersAreKeptOut(t *testing.T) {
	local := serve(t)
	port := local.URL[strings.LastIndex(local.URL, ":"):]
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"", "", 200}, {"localhost" + port, "", 200}, {"[::1]" + port, "", 200}, {"", "http://localhost" + port, 200}, {"", "http://127.0.0.1:99", 200},
		{"", "https://evil.example", 403}, {"", "null", 403}, {"", "http://127.0.0.1.evil.example", 403}, {"", "http://evil.example:80@127.0.0.1.x", 403},
		{"", "http://", 403}, {"", "%", 403},
		{"evil.example", "", 403}, {"evil.example" + port, "http://evil.example" + port, 403}, {"127.0.0.1.evil.example", "", 403}, {"10.0.0.7", "", 403},
	} {
		a := local.ask("GET", "/v1", "dan", nil, headers(c.host, c.origin)...)
		if a.status != c.status {
			t.Errorf("local, host %q, origin %q: %d, want %d", c.host, c.origin, a.status, c.status)
		}
		if c.status == 403 {
			w := local.ask("POST", "/v1/rooms/design/entries", "dan", posting("x", 0), headers(c.host, c.origin)...)
			local.refused("write", w, 403, fault.Denied)
		}
	}
	local.Stands("design", 0, "dan")

	open := serve(t, func(c *gateway.Config) { c.Local, c.Hosts = false, []string{"rooms.example"} })
	for _, c := range []struct {
		host, origin string
		status       int
	}{
		{"", "", 200}, {"10.0.0.7", "", 200}, {"10.0.0.7:8443", "https://10.0.0.7:8443", 200}, {"Rooms.example", "", 200},
		{"10.0.0.7", "https://rooms.example", 200}, {"rooms.example:8443", "https://rooms.example", 200},
		{"evil.example", "", 403}, {"rooms.example.evil.example", "", 403}, {"10.0.0.7", "https://evil.example", 403},
		{"10.0.0.7", "http://localhost", 403}, {"rooms.example", "null", 403}, {"10.0.0.7", "https://rooms.example.evil.example", 403},
	} {
		if a := open.ask("GET", "/v1", "dan", nil, headers(c.host, c.origin)...); a.status != c.status {
			t.Errorf("open, host %q, origin %q: %d, want %d", c.host, c.origin, a.status, c.status)
		}
	}
}

func headers(host, origin string) (all []string) {
	if host != "" {
		all = append(all, "Host", host)
	}
	if origin != "" {
		all = append(all, "Origin", origin)
	}
	return all
}

func TestWrongKeysAreLimitedAndARightOneGetsIn(t *testing.T) {
	h := serve(t)
	statuses := map[int]int{}
	for range 3000 {
		a := h.ask("GET", "/v1", "", nil, "Authorization", "Bearer wrong")
		if statuses[a.status]++; a.status == 429 && a.header.Get("Retry-After") != "1" {
			t.Fatal("does not say when to ask again")
		}
	}
	if statuses[401] != 20 || statuses[429] != 2980 {
		t.Errorf("got %v", statuses)
	}
	if a := h.ask("GET", "/v1", "dan", nil); a.status != 200 {
		t.Errorf("a right key from the same address: %d", a.status)
	}
	h.Now.Move(time.Second)
	if a := h.ask("GET", "/v1", "", nil); a.status != 401 {
		t.Errorf("a second later: %d", a.status)
	}
	for _, count := range []string{"substrate_wrong_keys_total 3001", "substrate_limited_total 2980"} {
		if a := h.ask("GET", "/metrics", "dan", nil); !strings.Contains(a.body, count+"\n") {
			t.Errorf("no %q in %s", count, a.body)
		}
	}
}

func TestEachParticipantHasARate(t *testing.T) {
	h := serve(t, func(c *gateway.Config) { c.Rate = 2 })
	count := func(who string) (let, limited int) {
		for range 12 {
			switch a := h.ask("GET", "/v1/rooms/design", who, nil); a.status {
			case http.StatusOK:
				let++
			case http.StatusTooManyRequests:
				limited++
				h.refused(who, a, 429, fault.Busy)
			}
		}
		return let, limited
	}
	for _, who := range []string{"dan", "ann"} { // one does not take the other's
		if let, limited := count(who); let != 8 || limited != 4 {
			t.Errorf("%s: %d let in, %d not", who, let, limited)
		}
	}
	h.Now.Move(time.Second)
	if let, _ := count("dan"); let != 2 {
		t.Errorf("a second later: %d", let)
	}
}

func TestARevokedKeyIsDeadAtOnceAndARotatedOneTakesItsPlace(t *testing.T) {
	h := serve(t)
	old := h.Key["ann"]
	err := h.Keys.Rotate(t.Context(), "ann", gatewaytest.Start, func(key string) error {
		h.Key["ann"] = key
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	h.refused("the old key", h.ask("GET", "/v1", "", nil, "Authorization", "Bearer "+old), 401, fault.Denied)
	if a := h.ask("GET", "/v1", "ann", nil); a.status != 200 {
		t.Errorf("the new key: %d", a.status)
	}
	if err := h.Keys.Revoke(t.Context(), "ann", gatewaytest.Start); err != nil {
		t.Fatal(err)
	}
	h.refused("revoked", h.ask("GET", "/v1", "ann", nil), 401, fault.Denied)
	h.refused("revoked, writing", h.ask("POST", "/v1/rooms/design/entries", "ann", posting("x", 0)), 401, fault.Denied)
}

func TestTheLogHasNoSecretInIt(t *testing.T) {
	h := serve(t)
	h.ask("GET", "/v1/rooms/design?key="+h.Key["dan"], "dan", nil)
	h.ask("GET", "/v1?token=secret", "", nil, "Authorization", "Bearer "+h.Key["ann"]+"x")
	h.ask("POST", "/v1/rooms/design/entries", "dan", posting("a private text", 0), "Idempotency-Key", "private")
	h.ask("GET", "/v1/rooms/"+strings.Repeat("x", 2000), "dan", nil)
	want := []string{
		`"from":"127.0.0.1","for":"dan","method":"GET","path":"/v1/rooms/design","status":200,"bytes":`,
		`"from":"127.0.0.1","for":"","method":"GET","path":"/v1","status":401,"bytes":`,
		`"from":"127.0.0.1","for":"dan","method":"POST","path":"/v1/rooms/design/entries","status":201,"bytes":`,
		`"method":"GET","path":"/v1/rooms/xxx`,
	}
	said := within(t, func() string { return h.log.String() }, func(s string) bool { return strings.Count(s, "\n") == len(want) })
	n := 0
	for line := range strings.Lines(said) {
		if !strings.HasPrefix(line, `{"type":"request","time":"2026-07-06T13:15:02.084Z",`) || !strings.Contains(line, want[n]) || len(line) > 600 {
			t.Errorf("line %d: %s", n, line)
		}
		n++
	}
	for _, secret := range []string{"subkey_", "secret", "private", "token", "?"} {
		if strings.Contains(said, secret) {
			t.Errorf("%q in the log: %s", secret, said)
		}
	}
}

// within asks until the answer is a good one.
func within(t *testing.T, ask func() string, good func(string) bool) string {
	t.Helper()
	said := ""
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if said = ask(); good(said) {
			return said
		}
	}
	t.Fatal(fmt.Errorf("%w: %s", errBroken, said))
	return ""
}
