//go:build elsewhere && linux

package cmd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestElsewhere has a room on one host, and participants who come from another.
func TestElsewhere(t *testing.T) {
	p := newPair(t)
	p.open()
	for _, step := range []struct {
		name string
		do   func()
	}{
		{"unauthorised is refused", p.unauthorised},
		{"off the floor is refused", p.offFloor},
		{"a missing version is refused", p.missingVersion},
		{"a stale version is refused", p.staleVersion},
		{"a right write is accepted", p.rightWrite},
		{"an answer dropped by a cut link and the retry not doubled", p.answerDropped},
		{"reconnecting from the cursor gets only the delta", p.delta},
		{"rotation rejects the old key", p.rotation},
		{"the proxy stopped and the room still readable on its host", p.stopped},
		{"started again and on it goes", p.again},
		{"a revoked key is dead at once", p.revoked},
		{"the log is free of keys", p.log},
	} {
		if !t.Run(step.name, func(t *testing.T) {
			p.T = t
			step.do()
		}) {
			t.Fatal("the steps after this one stand on it")
		}
	}
}

// open makes a space with a room of 90 entries, serves it and lets ann, bob and eve in. eve is in no room.
func (p *pair) open() {
	k := p.keeper
	k.do("init", ".", "--as", "dan")
	k.do("join", "ann", "bob", "eve", "--kind", "agent")
	k.do("open", "design", "--topic", "which parser?", "--moderator", "dan", "--turns", "ann,bob")
	var drafts strings.Builder
	for i := range 90 {
		who := []string{"dan", "ann", "bob"}[i%3]
		body := fmt.Sprint(i, strings.Repeat(" long", 200))
		fmt.Fprintf(&drafts, `{"type":"draft","thread":"design","as":%q,"body":%q}`+"\n", who, body)
	}
	if r := k.fed(drafts.String(), "post", "-"); r.status != 0 {
		p.Fatal(r)
	}
	p.serve()
	for _, who := range []string{"ann", "bob", "eve"} {
		if file := p.packet("make", who); who != "eve" {
			p.visitor.do("join", "--packet", file)
		}
	}
}

func (p *pair) unauthorised() {
	const invented = "subkey_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
	const where, turn90 = "/v1/rooms/design", `{"body":"x","version":90}`
	p.unchanged(func() {
		for _, key := range []string{"", invented} {
			for path, body := range map[string]string{where: "", where + "/entries": turn90, "/v1/rooms": ""} {
				a := p.curl(key, path, body)
				p.is(a, 401, "denied")
				if !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
					p.Errorf("no WWW-Authenticate: %v", a.Header)
				}
			}
		}
		if a := p.curl("", "/t/design/write?key="+invented+"&nonce=1&turn=90&text=x", ""); a.StatusCode != 401 {
			p.Errorf("courier: %s %s", a.Status, a.body)
		}
		// A right key opens the rooms of its owner, and no other can be told from none.
		missing := p.curl(p.key["eve"], "/v1/rooms/nothing", "")
		p.is(missing, 404, "unknown_thread")
		closed := p.curl(p.key["eve"], where, "")
		p.is(closed, 404, "unknown_thread")
		if strings.ReplaceAll(missing.body, "nothing", "design") != closed.body {
			p.Errorf("a room that is there: %s; one that is not: %s", closed.body, missing.body)
		}
		p.is(p.curl(p.key["eve"], where+"/entries", turn90), 404, "unknown_thread")
		p.is(p.curl(p.key["ann"], where+"/entries", `{"body":"x","version":90,"as":"dan"}`), 403, "denied")
	})
	p.strangers(invented)
}

// strangers have no packet, or one whose key is invented, or do not know the proxy's certificate.
func (p *pair) strangers(invented string) {
	bare := &host{p: p, ns: p.visitor.ns, dir: p.visitor.dir, home: p.TempDir(), covered: p.visitor.covered}
	bare.refuses("not_a_space", 100, "read", "design", "--space", proxyURL)
	data, err := os.ReadFile(filepath.Join(p.visitor.home, "ann-make.packet"))
	forged := filepath.Join(bare.home, "forged.packet")
	if err == nil {
		err = os.WriteFile(forged, bytes.ReplaceAll(data, []byte(p.key["ann"]), []byte(invented)), 0o600)
	}
	if err != nil {
		p.Fatal(err)
	}
	bare.refuses("denied", 1, "join", "--packet", forged)
	if left, _ := filepath.Glob(filepath.Join(bare.home, ".substrate", "remotes", "*")); len(left) > 0 {
		p.Errorf("a packet was kept that did not get in: %q", left)
	}
	p.unchanged(func() {
		p.visitor.refuses("denied", 1, "post", "design", "--as", "dan", "-m", "x", "--space", proxyURL)
	})
	if r := p.visitor.try("curl", "-sS", "--max-time", "10", proxyURL+"/healthz"); r.status != 60 {
		p.Errorf("curl without the certificate: %d %s%s", r.status, r.out, r.errs)
	}
}

func (p *pair) offFloor() {
	p.unchanged(func() {
		p.visitor.refuses("not_your_turn", 1, "post", "design", "--as", "bob", "-m", "x", "--space", proxyURL)
		a := p.curl(p.key["bob"], "/v1/rooms/design/entries", `{"body":"x","version":90}`)
		p.is(a, 423, "not_your_turn")
		if a.Current != "dan" || a.told.Version == nil || *a.told.Version != 90 {
			p.Errorf("it does not say whose turn it is: %s", a.body)
		}
	})
	p.hand("ann")
}

func (p *pair) missingVersion() {
	p.unchanged(func() {
		p.is(p.curl(p.key["ann"], "/v1/rooms/design/entries", `{"body":"x"}`), 428, "bad_input")
		a := p.curl("", "/t/design/write?key="+p.key["ann"]+"&nonce=2&text=x", "")
		if a.StatusCode != 200 || !strings.HasPrefix(a.body, "result: refused (bad_input): Turn is missing.") {
			p.Errorf("courier: %s %.200s", a.Status, a.body)
		}
	})
}

func (p *pair) staleVersion() {
	p.unchanged(func() {
		a := p.curl(p.key["ann"], "/v1/rooms/design/entries", `{"body":"x","version":89}`)
		p.is(a, 409, "stale")
		if a.told.Version == nil || *a.told.Version != 90 {
			p.Errorf("it does not say the version: %s", a.body)
		}
		p.visitor.refuses("stale", 1, "post", "design", "--as", "ann", "--expect", "89", "-m", "x", "--space", proxyURL)
		b := p.curl("", "/t/design/write?key="+p.key["ann"]+"&nonce=3&turn=89&text=x", "")
		if !strings.HasPrefix(b.body, "result: refused (stale)") || !strings.Contains(b.body, "\nversion: 90\n") {
			p.Errorf("courier: %s %.200s", b.Status, b.body)
		}
	})
}

func (p *pair) rightWrite() {
	const body = "Grüße aus der Ferne\n\n---\n計画 🎉\n"
	r := p.visitor.fed(body, "post", "design", "--as", "ann", "--expect", "90", "--space", proxyURL)
	var posted told
	err := json.Unmarshal([]byte(r.out), &posted)
	if err != nil || r.status != 0 || posted.Next != "bob" || *posted.Version != 91 {
		p.Fatalf("%v %+v", err, r)
	}
	all := p.entries()
	want := entry{posted.Entry, "ann", strings.TrimSuffix(body, "\n")}
	if last := all[len(all)-1]; len(all) != 91 || last != want {
		p.Errorf("%d entries, the last %+v", len(all), last)
	}
	here, there := p.keeper.do("read", "design", "--text"), p.visitor.do("read", "design", "--text", "--space", proxyURL)
	if here != there {
		p.Errorf("the room reads differently from elsewhere:\n%.300s\n%.300s", here, there)
	}
}

func (p *pair) answerDropped() {
	p.retriedByItself()
	p.retriedLater()
}

// retriedByItself has the program still there when the link is up again.
func (p *pair) retriedByItself() {
	first := "first " + strings.Repeat("x", 9000)
	before := p.version()
	p.nft(cutAnswers)
	poster := p.visitor.start("post", "design", "--as", "bob", "-m", first, "--space", proxyURL)
	p.eventually("the entry has landed", func() bool { return p.count(first) == 1 })
	select {
	case r := <-poster.lines:
		p.Fatalf("the answer came through the cut link: %v", r)
	case <-time.After(300 * time.Millisecond): // that nothing happens takes a while to see
	}
	p.nft("flush chain inet cable measure")
	p.die()
	r := poster.next()
	if status, _ := poster.end(); status != 0 || r["type"] != "posted" || r["version"] != float64(before+1) {
		p.Errorf("status %d, %v, %s", status, r, poster.stderr())
	}
	if n, at := p.count(first), p.version(); n != 1 || at != before+1 {
		p.Errorf("the entry is there %d times, at version %d", n, at)
	}
	if p.dropped() == 0 {
		p.Error("the link dropped nothing")
	}
	p.nft("delete table inet cable")
}

// retriedLater has the link stay cut: the program gives up, and whoever runs it again with its id gets the receipt.
func (p *pair) retriedLater() {
	second := "second " + strings.Repeat("y", 9000)
	before := p.version()
	p.hand("ann")
	p.nft(cutAnswers)
	args := []string{"design", "--as", "ann", "--id", "one-turn", "-m", second, "--space", proxyURL}
	poster := p.visitor.start("post", args...)
	for ended := false; !ended; {
		select {
		case <-poster.ended:
			ended = true
		case <-time.After(400 * time.Millisecond):
			p.die()
		}
	}
	status, lines := poster.end()
	if status != 111 || len(lines) != 0 || !strings.Contains(poster.stderr(), "whether it was done is not known") {
		p.Errorf("status %d, %v, %s", status, lines, poster.stderr())
	}
	if n := p.count(second); n != 1 {
		p.Fatalf("the entry is there %d times after the answers were lost", n)
	}
	p.nft("delete table inet cable")
	var posted told
	err := json.Unmarshal([]byte(p.visitor.do("post", args...)), &posted)
	if err != nil || !posted.Duplicate || *posted.Version != before+1 {
		p.Errorf("the retry: %v %+v", err, posted)
	}
	if n, at := p.count(second), p.version(); n != 1 || at != before+1 {
		p.Errorf("the entry is there %d times, at version %d", n, at)
	}
}

// streamed follows the events by curl for a while, after one of them.
func (p *pair) streamed(key, last string, enough func(string) bool) string {
	p.Helper()
	c := p.visitor.cmd("curl", "-sSN", "--max-time", "20", "--cacert", p.visitorCert(), "-K", "-",
		proxyURL+"/v1/events?room=design")
	config := "header = \"Authorization: Bearer " + key + "\"\n"
	if last != "" {
		config += "header = \"Last-Event-ID: " + last + "\"\n"
	}
	c.Stdin = strings.NewReader(config)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		p.Fatal(err)
	}
	var text strings.Builder
	for in := bufio.NewReader(out); !enough(text.String()); {
		line, err := in.ReadString('\n')
		text.WriteString(line)
		if err != nil {
			break
		}
	}
	c.Process.Kill()
	c.Wait()
	if !enough(text.String()) {
		p.Fatalf("the stream ended with %q", text.String())
	}
	return text.String()
}

func lastID(events string) string {
	id := ""
	for line := range strings.Lines(events) {
		if found, ok := strings.CutPrefix(line, "id: "); ok {
			id = strings.TrimSpace(found)
		}
	}
	return id
}

func (p *pair) delta() {
	all := p.entries()
	cursor, known := all[len(all)-1].Entry, len(all)
	id := lastID(p.streamed(p.key["ann"], "", began("ready")))
	tail := p.visitor.start("watch", "design", "--entries", "--since", cursor, "--scan", "10m", "--space", proxyURL)
	p.streams(1)

	p.nft(cutAll)
	news := []string{"news 1", "news 2", "news 3"}
	for _, body := range news {
		p.keeper.do("post", "design", "--as", p.turn(), "-m", body)
	}
	p.visitor.refuses("unreachable", 111, "read", "design", "--space", proxyURL)
	// The watch, which has nothing to send, notices by its keep-alive, after 15 s at most.
	at, before := time.Now(), p.rejected()
	p.eventually("the stream breaks", func() bool { return p.rejected() > before+1 })
	p.Logf("the watch noticed the cut after %v", time.Since(at).Round(time.Second))
	p.nft("delete table inet cable")

	for _, body := range news {
		if r := tail.next(); r["body"] != body {
			p.Errorf("after the cut: %v, want %q", r, body)
		}
	}
	p.keeper.do("post", "design", "--as", p.turn(), "-m", "after")
	if r := tail.next(); r["body"] != "after" { // and nothing in between
		p.Errorf("then: %v", r)
	}
	tail.cmd.Process.Signal(syscall.SIGTERM)
	if _, rest := tail.end(); len(rest) > 0 {
		p.Errorf("more than was new: %v", rest)
	}
	p.deltaByHand(cursor, append(news, "after"))
	events := p.streamed(p.key["ann"], id, began("floor"))
	if strings.Contains(events, "reset") || strings.Count(events, "event: floor\n") != 1 ||
		!strings.Contains(events, fmt.Sprintf(`"version":%d,`, known+4)) {
		p.Errorf("events after %s: %s", id, events)
	}
	p.small(at)
}

// began returns whether a stream has a whole event of a kind.
func began(kind string) func(string) bool {
	return func(s string) bool { return strings.Contains(s, "event: "+kind+"\n") && strings.HasSuffix(s, "\n\n") }
}

// deltaByHand asks for what came after an entry.
func (p *pair) deltaByHand(cursor string, want []string) {
	p.Helper()
	a := p.curl(p.key["ann"], "/v1/rooms/design/entries?after="+cursor, "")
	var bodies []string
	for line := range strings.Lines(a.body) {
		var e struct{ Type, Body string }
		if json.Unmarshal([]byte(line), &e); e.Type == "entry" {
			bodies = append(bodies, e.Body)
		}
	}
	if !slices.Equal(bodies, want) {
		p.Errorf("after %s: %q, want %q", cursor, bodies, want)
	}
}

// small looks into the log for what programs fetched of the room since a time: small parts of it.
func (p *pair) small(since time.Time) {
	p.Helper()
	whole := int64(len(p.visitor.do("read", "design", "--space", proxyURL)))
	fetched := p.fetched(since)
	if last := fetched[len(fetched)-1]; last < whole {
		p.Errorf("the whole room has %d bytes, and its answer had %d", whole, last)
	}
	if most := slices.Max(fetched[:len(fetched)-1]); most > whole/10 {
		p.Errorf("one answer had %d bytes, and the room has %d", most, whole)
	}
}

// turn is whose turn it is.
func (p *pair) turn() string {
	p.Helper()
	var r told
	if err := json.Unmarshal([]byte(p.keeper.do("next", "design")), &r); err != nil {
		p.Fatal(err)
	}
	return r.Current
}

// streams waits until so many streams of events are open.
func (p *pair) streams(n int) {
	p.Helper()
	p.eventually(fmt.Sprintf("%d streams", n), func() bool {
		return strings.Contains(p.curl(p.key["bob"], "/metrics", "").body, fmt.Sprintf("event_streams_open %d\n", n))
	})
}

// fetched returns the lengths of the answers with entries since a time, as the log has them.
func (p *pair) fetched(since time.Time) (all []int64) {
	p.Helper()
	for line := range strings.Lines(p.logged()) {
		var r struct {
			Time  time.Time
			Path  string
			Bytes int64
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			p.Fatalf("the log: %v: %q", err, line)
		}
		if strings.HasSuffix(r.Path, "/entries") && r.Time.After(since) {
			all = append(all, r.Bytes)
		}
	}
	if len(all) < 2 {
		p.Fatalf("the log has %d answers", len(all))
	}
	return all
}

func (p *pair) logged() string {
	p.Helper()
	data, err := os.ReadFile(filepath.Join(p.keeper.home, ".substrate", "logs", "substrate-proxy.jsonl"))
	if err != nil {
		p.Fatal(err)
	}
	return string(data)
}

// posting is what would be a right write.
func (p *pair) posting() string {
	p.Helper()
	return fmt.Sprintf(`{"body":"x","version":%d}`, p.version())
}

func (p *pair) rotation() {
	p.hand("ann")
	old := p.key["ann"]
	p.is(p.curl(old, "/v1", ""), 200, "")
	file := p.packet("rotate", "ann")
	p.unchanged(func() {
		p.is(p.curl(old, "/v1/rooms/design", ""), 401, "denied")
		p.is(p.curl(old, "/v1/rooms/design/entries", p.posting()), 401, "denied")
		p.visitor.refuses("denied", 1, "post", "design", "--as", "ann", "-m", "x", "--space", proxyURL)
	})
	p.is(p.curl(p.key["ann"], "/v1", ""), 200, "")
	p.visitor.do("join", "--packet", file)
	p.visitor.do("post", "design", "--as", "ann", "-m", "with the new key", "--space", proxyURL)
	if p.count("with the new key") != 1 {
		p.Error("the new key wrote nothing")
	}
}

func (p *pair) stopped() {
	p.hand("dan")
	p.watch = p.visitor.start("watch", "design", "--for", "ann", "--scan", "10m", "--space", proxyURL)
	p.streams(1)
	p.stop()
	p.keeper.do("post", "design", "--as", "dan", "-m", "while the proxy is down")
	p.hand("bob")
	text := p.keeper.do("read", "design", "--text")
	if !strings.Contains(text, "while the proxy is down") || !strings.Contains(text, "with the new key") {
		p.Error("the room is not whole on its host")
	}
	p.unchanged(func() {
		p.visitor.refuses("unreachable", 111, "read", "design", "--space", proxyURL)
		p.visitor.refuses("unreachable", 111, "post", "design", "--as", "bob", "-m", "x", "--space", proxyURL)
	})
}

// again has a program that was there before the proxy went down notice what happens now.
func (p *pair) again() {
	p.serve()
	p.visitor.do("post", "design", "--as", "bob", "-m", "back again", "--space", proxyURL)
	all := p.entries()
	if end := all[len(all)-2:]; end[0].Body != "while the proxy is down" || end[1].Body != "back again" {
		p.Errorf("the room ends with %+v", end)
	}
	p.hand("ann")
	p.watch.t = p.T
	if r := p.watch.next(); r["current"] != "ann" || r["version"] != float64(p.version()) {
		p.Errorf("the watch: %v", r)
	}
	p.visitor.do("post", "design", "--as", "ann", "-m", "and on it goes", "--space", proxyURL)
}

func (p *pair) revoked() {
	p.streams(1)
	p.hand("ann")
	if r := p.watch.next(); r["current"] != "ann" {
		p.Errorf("the watch: %v", r)
	}
	p.keeper.do("key", "revoke", "ann")
	began := time.Now()
	p.unchanged(func() {
		p.is(p.curl(p.key["ann"], "/v1/rooms/design", ""), 401, "denied")
		p.is(p.curl(p.key["ann"], "/v1/rooms/design/entries", p.posting()), 401, "denied")
		p.visitor.refuses("denied", 1, "post", "design", "--as", "ann", "-m", "x", "--space", proxyURL)
	})
	p.watch.t = p.T
	status, rest := p.watch.end()
	p.Logf("the stream of the revoked key ended within %v", time.Since(began).Round(time.Millisecond))
	if status != 1 || len(rest) > 0 || !strings.Contains(p.watch.stderr(), "no valid key") {
		p.Errorf("the watch of the revoked key ends with %d, %v, %s", status, rest, p.watch.stderr())
	}
	p.is(p.curl(p.key["bob"], "/v1/rooms/design", ""), 200, "")
}

func (p *pair) log() {
	p.session()
	for _, h := range []*host{p.keeper, p.visitor} {
		h.try("doctor", "-A")
		h.try("doctor", "-A", "--text")
		h.try("spaces", "list")
	}
	p.keeper.do("key", "list")
	p.stop()
	if len(p.secrets) != 6 {
		p.Errorf("%d keys were made", len(p.secrets))
	}
	for where, text := range p.traces() {
		for _, key := range p.secrets {
			if strings.Contains(text, strings.TrimPrefix(key, "subkey_")) {
				p.Errorf("a key is in %s", where)
			}
		}
	}
	requests := p.logged()
	if strings.Contains(requests, "?") || strings.Contains(requests, "nonce") {
		p.Error("the log has queries")
	}
	for _, line := range []string{
		`"path":"/t/design/write"`, `"path":"/enter"`,
		`"for":"bob","method":"POST","path":"/v1/rooms/design/entries","status":201`,
	} {
		if !strings.Contains(requests, line) {
			p.Errorf("the log has no %s", line)
		}
	}
}

// traces is everything that was said and written, but for the files that keys are kept in.
func (p *pair) traces() map[string]string {
	p.Helper()
	left := map[string]string{"what was said on the host": p.keeper.said, "what was said elsewhere": p.visitor.said}
	for i, pl := range p.players {
		left[fmt.Sprintf("what program %d said", i)] = pl.stderr()
	}
	for _, dir := range []string{p.keeper.home, p.keeper.dir, p.visitor.home, p.visitor.dir} {
		err := filepath.WalkDir(dir, func(file string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			if strings.HasSuffix(file, ".packet") || filepath.Base(filepath.Dir(file)) == "remotes" {
				if st, err := d.Info(); err != nil || st.Mode().Perm()&0o077 != 0 {
					p.Errorf("others can read %s: %v", file, err)
				}
				return nil
			}
			data, err := os.ReadFile(file)
			left[file] = string(data)
			return err
		})
		if err != nil {
			p.Fatal(err)
		}
	}
	if len(left) < 100 { // the entries at least
		p.Errorf("only %d places were looked at", len(left))
	}
	return left
}

// session has bob enter by a link, as a browser would.
func (p *pair) session() {
	out, err := p.keeper.cmd("key", "link", "bob", "--url", proxyURL).Output()
	_, link, ok := strings.Cut(strings.TrimSpace(string(out)), "/enter?link=")
	if err != nil || !ok {
		p.Fatalf("link: %v", err)
	}
	p.secrets = append(p.secrets, link)
	if a := p.curl("", "/enter?link="+link, ""); a.StatusCode != 200 || !strings.Contains(a.body, "Enter as bob") {
		p.Errorf("%s %s", a.Status, a.body)
	}
	a := p.curl("", "/enter", "", "-d", "link="+link)
	cookies := a.Cookies()
	if a.StatusCode != 303 || len(cookies) != 1 || a.Header.Get("Location") != "/" {
		p.Fatalf("%s %v", a.Status, a.Header)
	}
	p.secrets = append(p.secrets, cookies[0].Value)
	a = p.curl("", "/", "", "-b", cookies[0].Name+"="+cookies[0].Value)
	if a.StatusCode != 200 || !strings.Contains(a.body, "design") {
		p.Errorf("%s %s", a.Status, a.body)
	}
}
