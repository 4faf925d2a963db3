package page_test

import (
	"bufio"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/gateway/gatewaytest"
	"github.com/substrate-tools/substrate/lib/room"
)

func TestRoomsAreTheReadersOwn(t *testing.T) {
	h := serve(t)
	h.enter("dan", "ann", "bob")
	h.Opened("third", "dan", "ann")
	h.Posted("design", "dan", "x")
	a := h.get("/", "ann")
	a.has(t, "ann's", 200, `<a href="/r/design">design</a>`, `<a href="/r/a%2Fb">a/b</a>`, "your turn", "dan's turn", "which parser?")
	order := regexp.MustCompile(`<a href="/r/([^"]+)">`).FindAllStringSubmatch(a.body, -1)
	if len(order) != 3 || order[2][1] != "third" {
		t.Errorf("those that wait come first: %v", order)
	}
	if bob := h.get("/", "bob"); strings.Contains(bob.body, "design") || !strings.Contains(bob.body, "a/b") {
		t.Errorf("bob's: %s", bob.body)
	}
	for _, path := range []string{"/r/design", "/r/design/live", "/events?room=design"} {
		there, absent := h.get(path, "bob"), h.get(strings.Replace(path, "design", "parser", 1), "bob")
		there.has(t, path, 404, "No such room")
		if strings.ReplaceAll(there.body, "design", "parser") != absent.body {
			t.Errorf("a room he is not in tells itself apart: %s %s", there.body, absent.body)
		}
	}
	for _, room := range []string{"..", "%2e%2e", "%2e%2e%2fdesign", "design%00", "DESIGN", "design%2F", "%ff", strings.Repeat("a", 65)} {
		if a := h.get("/r/"+room, "dan"); a.status == 200 {
			t.Errorf("%s: %s", room, a.body)
		}
	}
	h.get("/r/a%2Fb", "bob").has(t, "a name with a slash", 200, "<h1>a/b</h1>", `action="/r/a%2Fb/write"`)
}

func TestWritingAndPassing(t *testing.T) {
	h := serve(t)
	h.enter("dan", "ann")
	h.get("/r/design", "dan").has(t, "dan's turn", 200, "Your turn", `<button class="main" type="submit" >Send</button>`)
	h.get("/r/design", "ann").has(t, "not ann's", 200, "<strong>dan</strong> has the floor", `type="submit" disabled>Send</button>`)
	form := h.form("/r/design", "dan", "# Hello\r\n\r\n*all*")
	a := h.post("/r/design/write", "dan", form)
	if a.status != 303 || a.header.Get("Location") != "/r/design?sent="+form.Get("id")+"#end" {
		t.Errorf("%d %v", a.status, a.header)
	}
	h.get("/r/design", "ann").has(t, "ann reads", 200, "<h4>Hello</h4>", "<em>all</em>", "6 Jul 2026, 13:15 UTC")
	if a := h.post("/r/design/write", "dan", form); a.status != 303 { // twice, by a slip
		t.Errorf("again: %d %s", a.status, a.body)
	}
	h.Stands("design", 1, "ann")
	pass := h.form("/r/design", "ann", "a draft that is kept")
	pass.Set("pass", "1")
	if a := h.post("/r/design/write", "ann", pass); a.status != 303 || a.header.Get("Location") != "/r/design#end" {
		t.Errorf("pass: %d %v", a.status, a.header)
	}
	h.Stands("design", 2, "dan")
}

// TestADraftComesBackInThePage: whatever is refused, nothing of it is lost.
func TestADraftComesBackInThePage(t *testing.T) {
	h := serve(t)
	h.enter("dan", "ann")
	const draft = "my <draft> & \"more\"</textarea><script>alert(1)</script>\n\u00e4 \u2713"
	const kept = `>my &lt;draft&gt; &amp; &#34;more&#34;&lt;/textarea&gt;&lt;script&gt;alert(1)&lt;/script&gt;` + "\n\u00e4 \u2713</textarea>"
	stale := h.form("/r/design", "dan", draft)
	h.Posted("design", "dan", "written elsewhere meanwhile")
	h.Posted("design", "ann", "and answered")
	a := h.post("/r/design/write", "dan", stale)
	a.has(t, "stale", 409, kept, "Stale version: expected 0, found 2", "The room has moved on", "Your draft is kept", "and answered", `name="version" value="2"`)
	h.Stands("design", 2, "dan")
	h.post("/r/design/write", "ann", h.form("/r/design", "ann", draft)).has(t, "not her turn", 423, kept, "Your draft is kept")
	if _, err := h.Beside.Moderate(t.Context(), h.At("design"), "dan", room.End); err != nil {
		t.Fatal(err)
	}
	ended := h.form("/r/design", "dan", draft)
	h.post("/r/design/write", "dan", ended).has(t, "ended", 410, kept)
	h.Stands("design", 2, "dan")
	for what, form := range map[string]url.Values{
		"no version": {"id": {"x"}, "body": {"x"}}, "no id": {"version": {"2"}, "body": {"x"}}, "not a number": {"version": {"x"}, "id": {"x"}, "body": {"x"}},
	} {
		h.post("/r/design/write", "dan", form).has(t, what, 400, "This form is not whole.")
	}
	h.post("/r/design/write", "dan", url.Values{"version": {"2"}, "id": {"x\r\nX-Injected: 1"}, "body": {"x"}}).has(t, "an odd id", 400)
}

func TestModerating(t *testing.T) {
	h := serve(t)
	h.enter("dan", "ann")
	if page := h.get("/r/design", "ann"); strings.Contains(page.body, "Moderate") {
		t.Errorf("ann has the moderator's forms: %s", page.body)
	}
	h.get("/r/design", "dan").has(t, "the forms", 200, "Give the floor to", "Invite", "Pass over", "Order, parted by commas", "Topic", "End the room")
	do := func(what string, form url.Values, current string) {
		t.Helper()
		form.Set("version", "0")
		if a := h.post("/r/design/moderate", "ann", form); a.status < 400 {
			t.Errorf("%s by ann: %d", what, a.status)
		}
		if a := h.post("/r/design/moderate", "dan", form); a.status != 303 || a.header.Get("Location") != "/r/design#state" {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
		h.Stands("design", 0, current)
	}
	do("next", url.Values{"op": {"next"}, "name": {"ann"}}, "ann")
	do("invite", url.Values{"op": {"invite"}, "name": {" bob "}}, "ann")
	do("quiet", url.Values{"op": {"quiet"}, "name": {"bob"}, "turns": {"3"}}, "ann")
	do("order", url.Values{"op": {"order"}, "order": {"bob, dan,ann,"}}, "ann")
	do("topic", url.Values{"op": {"topic"}, "topic": {`<script>alert("t")</script>`}}, "ann")
	h.get("/r/design", "dan").has(t, "after all that", 200, "bob for 3 turns", "&lt;script&gt;alert(&#34;t&#34;)&lt;/script&gt;")
	h.get("/", "dan").has(t, "in the list", 200, "&lt;script&gt;")
	do("end", url.Values{"op": {"end"}}, "ann")
	h.get("/r/design", "dan").has(t, "ended", 200, "Resume the room")
	do("resume", url.Values{"op": {"resume"}}, "dan")
	for what, form := range map[string]url.Values{
		"no such act": {"op": {"burn"}}, "a bad name": {"op": {"invite"}, "name": {"<b>"}}, "not a number": {"op": {"quiet"}, "name": {"bob"}, "turns": {"many"}},
	} {
		form.Set("version", "0")
		form.Set("body", "a draft")
		h.post("/r/design/moderate", "dan", form).has(t, what, 400, ">a draft</textarea>", `role="alert"`)
	}
	h.Posted("design", "dan", "x")
	h.post("/r/design/moderate", "dan", url.Values{"op": {"end"}, "version": {"0"}}).has(t, "stale", 409, "Stale version")
	h.post("/r/design/moderate", "dan", url.Values{"op": {"end"}}).has(t, "no version", 400)
	h.Stands("design", 1, "ann")
}

func TestALongRoomComesInPages(t *testing.T) {
	h := serve(t)
	h.enter("dan")
	var names []string
	for i, body := range numbered(100) {
		names = append(names, h.Posted("design", []string{"dan", "ann"}[i%2], body))
	}
	numbers := func(a answer) (all []string) {
		for _, m := range regexp.MustCompile(`entry number (\d+)\.`).FindAllStringSubmatch(a.body, -1) {
			all = append(all, m[1])
		}
		return all
	}
	older := regexp.MustCompile(`<a href="(/r/design\?before=[^"]+)">Older`)
	seen, path := []string{}, "/r/design"
	for pages := 0; pages < 5; pages++ {
		a := h.get(path, "dan")
		here := numbers(a)
		seen = append(here, seen...)
		if composer := strings.Contains(a.body, "<textarea"); composer != (pages == 0) {
			t.Errorf("page %d has a composer: %v", pages, composer)
		}
		m := older.FindStringSubmatch(a.body)
		if m == nil {
			break
		}
		if path = m[1]; len(here) != 40 {
			t.Errorf("a page of %d", len(here))
		}
	}
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(i))
	}
	if !slices.Equal(seen, want) {
		t.Errorf("seen %v", seen)
	}
	live := h.get("/r/design/live?after="+names[97], "dan")
	if got := numbers(live); !slices.Equal(got, []string{"98", "99"}) || strings.Contains(live.body, "<html") || !strings.Contains(live.body, `data-last="`+names[99]+`"`) {
		t.Errorf("got %v: %s", got, live.body)
	}
	if live = h.get("/r/design/live?after="+names[99], "dan"); len(numbers(live)) != 0 || !strings.Contains(live.body, `data-version="100"`) || !strings.Contains(live.body, `data-last="`+names[99]+`"`) {
		t.Errorf("nothing new: %s", live.body)
	}
	h.get("/r/design?before=nonsense", "dan").has(t, "no such entry", 404)
	h.get("/r/design?before=..%2f..%2fetc%2fpasswd", "dan").has(t, "no such entry", 404)
}

// TestEventsAreOfTheSession follows the stream that the script listens to.
func TestEventsAreOfTheSession(t *testing.T) {
	h := serve(t)
	h.enter("dan")
	r, err := http.NewRequestWithContext(t.Context(), "GET", h.URL+"/events?room=design", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Cookie", h.cookie["dan"])
	res, err := gatewaytest.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stop := time.AfterFunc(time.Minute, func() { res.Body.Close() })
	defer stop.Stop()
	lines := bufio.NewScanner(res.Body)
	until := func(want string) {
		t.Helper()
		for lines.Scan() {
			if lines.Text() == want {
				return
			}
		}
		t.Fatalf("no %q, %v", want, lines.Err())
	}
	until("event: ready")
	h.Posted("design", "dan", "x")
	until("event: floor")
	h.post("/leave", "dan", nil)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "event:") {
			t.Errorf("after signing out: %s", lines.Text())
		}
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream does not end: %v", err)
	}
}
