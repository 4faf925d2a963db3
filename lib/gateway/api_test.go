package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/record"
)

// kinds returns the types of the records of an answer.
func kinds(t *testing.T, a answer) (all []string) {
	t.Helper()
	in := record.NewReader(strings.NewReader(a.body))
	for {
		line, err := in.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, line.Type)
	}
}

func TestReading(t *testing.T) {
	h := serve(t)
	first, second := h.Posted("design", "dan", "first\nof two lines"), h.Posted("design", "ann", "second")
	h.Posted("design", "bob", "pass")
	fourth := h.Posted("design", "dan", "fourth")
	for query, want := range map[string]string{
		"":                              "snapshot entry entry entry window",
		"passes=1":                      "snapshot entry entry entry entry window",
		"last=1":                        "snapshot entry window",
		"last=0":                        "snapshot entry entry entry window",
		"after=" + second:               "snapshot entry window",
		"after=" + fourth:               "snapshot window",
		"from_line=4":                   "snapshot entry entry entry window",
		"from_line=5":                   "snapshot entry entry window",
		"from_line=99":                  "snapshot window",
		"last_lines=1":                  "snapshot entry window",
		"from_entry=" + second:          "snapshot entry entry window",
		"through_entry=" + second:       "snapshot entry entry window",
		"max_bytes=120&bodies=0":        "snapshot entry entry window",
		"max_bytes=60":                  "snapshot entry window",
		"max_bytes=5":                   "snapshot error",
		"max_bytes=5&after=" + fourth:   "snapshot window",
		"files=1&from_entry=" + first:   "snapshot entry entry entry window",
		"after=99991231T235959999Z__zz": "snapshot window",
	} {
		a := h.ask("GET", "/v1/rooms/design/entries?"+query, "dan", nil)
		if got := strings.Join(kinds(t, a), " "); a.status != 200 || got != want || strings.Contains(query, "bodies=0") && strings.Contains(a.body, "first") {
			t.Errorf("%s: %d %s, want %s", query, a.status, got, want)
		}
	}
	a := h.ask("GET", "/v1/rooms/design/entries?max_bytes=60", "dan", nil)
	if !strings.Contains(a.body, `"next_entry":"`+second+`"`) {
		t.Errorf("does not say where to go on: %s", a.body)
	}
	for _, query := range []string{"last=-1", "last=x", "last=99999999999999999999", "bodies=maybe", "max_bytes=1e3", "from_line=%00"} {
		h.refused(query, h.ask("GET", "/v1/rooms/design/entries?"+query, "dan", nil), 400, fault.BadInput)
		h.refused(query, h.ask("GET", "/v1/rooms/design/transcript?"+query, "dan", nil), 400, fault.BadInput)
	}
	h.refused("reversed", h.ask("GET", "/v1/rooms/design/entries?from_entry="+second+"&through_entry="+first, "dan", nil), 400, fault.BadInput)
	h.refused("no such entry", h.ask("GET", "/v1/rooms/design/entries?from_entry=nonsense", "dan", nil), 404, fault.UnknownEntry)
	h.refused("windows that do not mix", h.ask("GET", "/v1/rooms/design/transcript?last=1&from_line=2", "dan", nil), 400, fault.Usage)
	text := h.ask("GET", "/v1/rooms/design/transcript?last=1", "dan", nil)
	if !strings.HasPrefix(text.body, "[dan @ 2026-") || !strings.HasSuffix(text.body, "]\nfourth\n\n") {
		t.Errorf("got %q", text.body)
	}
	manifest := h.ask("GET", "/v1/rooms/design/manifest", "ann", nil)
	if !strings.Contains(manifest.body, `"thread_version":4,"total_lines":10,"visible_entries":3,"no_op_entries":1`) {
		t.Errorf("got %s", manifest.body)
	}
}

func TestWhatThereIs(t *testing.T) {
	h := serve(t, func(c *gateway.Config) { c.Rooms.Label = func(string) string { return "atlas" } })
	for who, want := range map[string]string{"dan": "a/b design", "bob": "design", "zoe": ""} {
		var rooms []string
		a := h.ask("GET", "/v1/rooms", who, nil)
		for line := range strings.Lines(a.body) {
			var r record.Room
			answer{body: line}.record(t, &r)
			if rooms = append(rooms, r.Thread); r.Label != "atlas" {
				t.Errorf("label %q", r.Label)
			}
		}
		if strings.Join(rooms, " ") != want {
			t.Errorf("%s is in %q", who, rooms)
		}
	}
	var s record.Space
	h.ask("GET", "/v1", "bob", nil).record(t, &s)
	if s.Rooms != 1 || len(s.Participants) != 4 || s.Label != "atlas" {
		t.Errorf("got %+v", s)
	}
	if a := h.ask("GET", "/v1/rooms/a%2Fb", "ann", nil); a.status != 200 || !strings.Contains(a.body, `"thread":"a/b"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := h.ask("GET", "/healthz", "", nil); a.status != 200 || a.body != "ok\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := h.ask("GET", "/v1/participants", "zoe", nil); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestOtherMethodsChangeNothing asks with every method for everything.
func TestOtherMethodsChangeNothing(t *testing.T) {
	h := serve(t)
	for _, pattern := range h.Patterns() {
		_, path, _ := strings.Cut(pattern, " ")
		path = strings.ReplaceAll(path, "{room}", "design")
		for _, method := range []string{"HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PROPFIND", strings.Repeat("X", 999)} {
			if path == "" || method == "CONNECT" {
				continue // of the catch-all; a client makes another thing of it
			}
			a, err := h.try(method, path, "dan", nil, "Idempotency-Key", "k")
			if err != nil {
				t.Fatal(method, path, err)
			}
			h.discreet(a)
			good := a.status == 404 || a.status == 405
			if method == "HEAD" {
				good = a.body == "" && (a.status == 200 || a.status >= 400)
			}
			if !good {
				t.Errorf("%s %s: %d %q", method, path, a.status, a.body)
			}
		}
	}
	h.Stands("design", 0, "dan")
}

// raw sends a request line as it is, which no client does, and returns the status
// and the answer.
func raw(t *testing.T, h *host, line string) (int, string) {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", line, h.Key["dan"])
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(line, err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(line, err)
	}
	h.discreet(answer{res.StatusCode, res.Header, string(body)})
	return res.StatusCode, string(body)
}

// A wrong method is told which there are; a wrong path is not there by any.
func TestMethods(t *testing.T) {
	h := serve(t)
	for _, c := range []struct {
		method, path, allow string
		status              int
	}{
		{"POST", "/v1", "GET", 405},
		{"DELETE", "/v1/rooms", "GET, POST", 405},
		{"PUT", "/v1/rooms/design/entries", "GET, POST", 405},
		{"GET", "/v1/rooms/design/moderate", "POST", 405},
		{"POST", "/v1/rooms/design", "GET", 405},
		{"GET", "/v1/nothing", "", 404},
		{"POST", "/v1/rooms/design/nothing", "", 404},
	} {
		a := h.ask(c.method, c.path, "dan", nil)
		h.refused(c.method+" "+c.path, a, c.status, fault.Usage)
		if got := a.header.Get("Allow"); got != c.allow {
			t.Errorf("%s %s: Allow %q, want %q", c.method, c.path, got, c.allow)
		}
	}
}

// TestNoPathLeadsOut tries to get at files by every spelling of a path.
func TestNoPathLeadsOut(t *testing.T) {
	h := serve(t)
	h.Posted("design", "dan", "hello")
	up := []string{
		"..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "..%2f..", "..%2F..%2Fetc%2Fpasswd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%5c..", `..\..`,
		"%2Fetc%2Fpasswd", "%2f", "design%00", "design%00.md", "design%2f..%2fdesign", "design%2F", "design%2Fconfig.yaml", "config.yaml", "design%20",
		"%c0%ae%c0%ae", "%c0%af", "%e0%80%ae", "%ff", "..;", "...", ".", "DESIGN", "design::$DATA", "con", "%u002e%u002e", strings.Repeat("a", 65),
		strings.Repeat("%2e%2e%2f", 500), strings.Repeat("a", 20000), "design%0d%0aX-Injected:%201", "%7e", "~", "%3f",
	}
	for _, s := range up {
		for _, line := range []string{"GET /v1/rooms/" + s, "GET /v1/rooms/" + s + "/entries", "GET /v1/rooms/" + s + "/transcript", "GET /v1/" + s, "GET /" + s, "GET //" + s} {
			status, body := raw(t, h, line)
			if !slices.Contains([]int{301, 307, 308, 400, 404}, status) && status != 200 || strings.Contains(body, "root:") || strings.Contains(body, "turn_order") {
				t.Errorf("%.80s: %d %.200s", line, status, body)
			}
			if status == 200 && !strings.Contains("GET /v1/. GET /v1/.. GET /v1/", line) {
				t.Errorf("%.80s: %d %.200s", line, status, body)
			}
		}
	}
	for _, line := range []string{"GET http://evil.example/v1", "GET *", "GET v1", "GET /v1 /x", "\x00"} {
		if status, body := raw(t, h, line); status < 400 {
			t.Errorf("%q: %d %.200s", line, status, body)
		}
	}
	h.Stands("design", 1, "ann")
}
