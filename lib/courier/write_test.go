package courier_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/room"
)

// TestOnlyGETWrites asks for a good address with everything else.
func TestOnlyGETWrites(t *testing.T) {
	h := serve(t)
	address := h.with("dan", "design/write", "&turn=0&text=hello")
	for _, method := range []string{"HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND", "get"} {
		status, body, header := h.get(method, address)
		if status != 405 || header.Get("Allow") != "GET" || method != "HEAD" && !strings.HasPrefix(body, "Nothing was recorded") {
			t.Errorf("%s: %d %v %s", method, status, header, body)
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE"} {
		if status, _, _ := h.get(method, h.with("dan", "design", "")); status != 405 {
			t.Errorf("%s of a page: %d", method, status)
		}
	}
	if status, body, _ := h.get("HEAD", h.with("dan", "design", "")); status != 200 || body != "" {
		t.Errorf("HEAD of a page: %d %s", status, body)
	}
	h.Stands("design", 0, "dan")
	if page := h.page(address); !strings.HasPrefix(page, "result: recorded") { // the address is as good as new
		t.Errorf("got %s", page)
	}
}

// TestPreviewsAndPrefetchesWriteNothing asks as those who fetch links that somebody
// was sent, and as a page of another site that has the address as a picture.
func TestPreviewsAndPrefetchesWriteNothing(t *testing.T) {
	h := serve(t)
	address := h.with("dan", "design/write", "&turn=0&text=hello")
	for _, header := range [][]string{
		{"Purpose", "prefetch"}, {"X-Purpose", "preview"}, {"X-Moz", "prefetch"}, {"Sec-Purpose", "prefetch;prerender"}, {"Sec-Purpose", "Prefetch"},
		{"User-Agent", "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)"}, {"User-Agent", "facebookexternalhit/1.1"}, {"User-Agent", "TelegramBot (like TwitterBot)"},
		{"User-Agent", "WhatsApp/2.19.81 A"}, {"User-Agent", "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)"},
		{"Sec-Fetch-Dest", "image", "Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Dest", "image"}, {"Sec-Fetch-Dest", "script"}, {"Sec-Fetch-Dest", "iframe"},
		{"Sec-Fetch-Dest", "empty", "Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "cross-site"},
	} {
		if status, body, _ := h.get("GET", address, header...); status != 403 || !strings.HasPrefix(body, "Nothing was recorded") {
			t.Errorf("%v: %d %s", header, status, body)
		}
	}
	if status, _, _ := h.get("GET", address, "Origin", "https://evil.example"); status != 403 {
		t.Errorf("a script of another site: %d", status)
	}
	h.Stands("design", 0, "dan")
	// Somebody who clicks on the link he was sent means it.
	status, body, _ := h.get("GET", address, "Sec-Fetch-Dest", "document", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-User", "?1", "User-Agent", "Mozilla/5.0 Firefox/140.0")
	if status != 200 || !strings.HasPrefix(body, "result: recorded") {
		t.Errorf("a click: %d %s", status, body)
	}
}

func TestTheSameAddressWritesOnce(t *testing.T) {
	h := serve(t)
	address := h.with("dan", "design/write", "&turn=0&text=hello")
	if page := h.page(address); !strings.HasPrefix(page, "result: recorded as ") {
		t.Fatalf("got %s", page)
	}
	again := func(why, address string) {
		t.Helper()
		if page := h.page(address); !strings.HasPrefix(page, "result: already recorded as ") || !strings.Contains(page, "version 1\n") {
			t.Errorf("%s: %s", why, page)
		}
	}
	again("again", address)
	if _, err := h.Beside.Post(t.Context(), h.At("design"), room.Draft{As: "ann", Body: "x"}); err != nil {
		t.Fatal(err)
	}
	again("when it is his turn again", address)
	again("with another text", strings.Replace(address, "hello", "other", 1))
	again("with the version of now", strings.Replace(address, "turn=0", "turn=2", 1))
	h.Restart() // what is in memory is gone
	again("after a restart", h.URL+address[strings.Index(address, "/t/"):])
	h.Stands("design", 2, "dan")
	if h.last("design") != "x" {
		t.Errorf("last is %q", h.last("design"))
	}

	refused := h.with("dan", "design/write", "&turn=1&text=stale")
	first := h.page(refused)
	if !strings.HasPrefix(first, "result: refused (stale): ") || !strings.Contains(first, "Nothing was recorded.") {
		t.Errorf("got %s", first)
	}
	if again := h.page(refused); fact(again, "result") != fact(first, "result") {
		t.Errorf("a refusal fetched again: %s", again)
	}
	h.Stands("design", 2, "dan")
}

// TestTroubleOfTheHostIsOverOnceMended: who was asked to try again later may.
func TestTroubleOfTheHostIsOverOnceMended(t *testing.T) {
	h := serve(t)
	address := h.with("dan", "design/write", "&turn=0&text=hello")
	dir := filepath.Join(h.At("design").Space, ".substrate", "threads", "design", "transactions")
	if err := errors.Join(os.RemoveAll(dir), os.WriteFile(dir, nil, 0o666)); err != nil {
		t.Fatal(err)
	}
	if said := fact(h.page(address), "result"); !strings.HasPrefix(said, "refused (corrupt): ") {
		t.Errorf("got %s", said)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if said := fact(h.page(address), "result"); !strings.HasPrefix(said, "recorded as ") {
		t.Errorf("got %s", said)
	}
}

// TestARefusedAddressStaysRefused hands the floor to somebody who was refused for want of it.
func TestARefusedAddressStaysRefused(t *testing.T) {
	h := serve(t)
	address := h.with("ann", "design/write", "&turn=0&text=early")
	first := fact(h.page(address), "result")
	if !strings.HasPrefix(first, "refused (not_your_turn): ") {
		t.Fatalf("got %s", first)
	}
	if _, err := h.Beside.Moderate(t.Context(), h.At("design"), "dan", room.Hand("ann")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if now := fact(h.page(h.URL+address[strings.Index(address, "/t/"):]), "result"); now != first {
			t.Errorf("now: %s", now)
		}
		h.Restart()
	}
	h.Stands("design", 0, "ann")
	if page := h.page(h.with("ann", "design/write", "&turn=0&text=now")); !strings.HasPrefix(page, "result: recorded as ") {
		t.Errorf("another nonce: %s", page)
	}
}

func TestEightAtOnceWriteOnce(t *testing.T) {
	h := serve(t)
	one := h.with("dan", "design/write", "&turn=0&text=hello")
	var recorded atomic.Int32
	count := func(address string) {
		res, err := http.Get(address)
		if err != nil {
			t.Error(err)
			return
		}
		defer res.Body.Close()
		if body, err := io.ReadAll(res.Body); err != nil || res.StatusCode != 200 {
			t.Errorf("%d %v", res.StatusCode, err)
		} else if strings.HasPrefix(string(body), "result: recorded") {
			recorded.Add(1)
		}
	}
	together(8, func(int) { count(one) })
	if recorded.Load() != 1 {
		t.Errorf("one address: recorded %d times", recorded.Load())
	}
	h.Stands("design", 1, "ann")

	// The floor comes back to the same seat, so only the version tells them apart.
	key := h.At("a/write")
	if _, err := h.Beside.Moderate(t.Context(), key, "ann", room.Quiet("bob", 20)); err != nil {
		t.Fatal(err)
	}
	var addresses [8]string
	for i := range addresses {
		addresses[i] = h.with("ann", "a%2Fwrite/write", fmt.Sprint("&turn=0&text=", i))
	}
	recorded.Store(0)
	together(8, func(i int) { count(addresses[i]) })
	if recorded.Load() != 1 {
		t.Errorf("one version: recorded %d times", recorded.Load())
	}
	h.Stands("a/write", 1, "ann")
}

// TestWhatIsRefusedSaysWhatToSend: every refusal of a write comes with the page.
func TestWhatIsRefusedSaysWhatToSend(t *testing.T) {
	h := serve(t, func(c *gateway.Config) { c.Rooms.MaxBody = 1000 })
	for query, want := range map[string]string{
		"&turn=0":                        "refused (bad_input): Nothing to write. What to do: send one of b64",
		"&turn=0&text=":                  "refused (bad_input): Nothing to write.",
		"&turn=0&text=%20%0A":            "refused (bad_input): Nothing to write.",
		"&turn=0&b64=":                   "refused (bad_input): Nothing to write.",
		"&turn=0&b64=aGk&text=hi":        "refused (bad_input): Both b64 and text. What to do: send one",
		"&turn=0&b64=aGk&text=":          "refused (bad_input): Both b64 and text.",
		"&turn=0&b64=!!!":                "refused (bad_input): B64 is not base64.",
		"&turn=0&b64=aGkx1":              "refused (bad_input): B64 is not base64.",
		"&turn=0&b64=aGl":                "refused (bad_input): B64 is not base64.", // bits left over: it was cut
		"&turn=0&b64=YQ==YQ==":           "refused (bad_input): B64 is not base64.",
		"&turn=0&b64=_w":                 "refused (bad_input): Body is not valid UTF-8 at byte 0.",
		"&turn=0&b64=AA":                 "refused (bad_input): Body has a NUL at byte 0.",
		"&text=hi":                       "refused (bad_input): Turn is missing. What to do: send turn,",
		"&turn=&text=hi":                 "refused (bad_input): Turn is missing.",
		"&turn=x&text=hi":                "refused (bad_input): Not a number: turn \"x\".",
		"&turn=-1&text=hi":               "refused (bad_input): Not a number: turn \"-1\".",
		"&turn=1&text=hi":                "refused (stale): Stale version: expected 1, found 0 in \"design\".",
		"&turn=0&text=salt&pepper":       "refused (bad_input): The text ends at an &, or \"pepper\" is not to be here. What to do: write an & of the text as %26",
		"&turn=0&text=a&text=b":          "refused (bad_input): The text ends at an &",
		"&turn=0&text=" + long(1001):     "refused (too_large): Body is larger than 1000 bytes.",
		"&turn=0&b64=" + b64(long(1001)): "refused (too_large): Body is larger than 1000 bytes.",
	} {
		page := h.page(h.with("dan", "design/write", query))
		if !strings.HasPrefix(page, "result: "+want) || !strings.Contains(page, " Nothing was recorded.\n\n") || fact(page, "version") != "0" || fact(page, "next write") == "" {
			t.Errorf("%.60s: %.300s", query, page)
		}
	}
	for _, nonce := range []string{"", "nonce=", "nonce=%00", "nonce=a%0Ab", "nonce=%C3%A4", "nonce=" + long(101)} {
		page := h.page(h.URL + "/t/design/write?key=" + h.Key["dan"] + "&turn=0&text=hi&" + nonce)
		if !strings.HasPrefix(page, "result: refused (bad_input): A nonce is missing, or is not") || fact(page, "version") != "0" {
			t.Errorf("%.40s: %.200s", nonce, page)
		}
		if status, body, _ := h.get("GET", h.URL+"/t/design?key="+h.Key["dan"]+"&"+nonce); status != 400 || !strings.HasPrefix(body, "A nonce is missing") {
			t.Errorf("%.40s, reading: %d %s", nonce, status, body)
		}
	}
	if page := h.page(h.with("ann", "design/write", "&turn=0&text=hi")); !strings.HasPrefix(page, "result: refused (not_your_turn): ") {
		t.Errorf("got %s", page)
	}
	h.Stands("design", 0, "dan")
	// What no address holds is refused before anything of it is looked at.
	tooLong(t, h.with("dan", "design/write", "&turn=0&text="+long(800_000)))
	h.Stands("design", 0, "dan")
}

func long(n int) string { return strings.Repeat("x", n) }

// tooLong fetches an address that is not read to its end: the connection is closed
// while it is being sent, so that the answer is lost now and then.
func tooLong(t *testing.T, address string) {
	t.Helper()
	for range 50 {
		if res, err := http.Get(address); err == nil {
			if res.Body.Close(); res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
				t.Errorf("%d bytes: %d", len(address), res.StatusCode)
			}
			return
		}
	}
	t.Error("no answer in 50 times")
}

// TestBase64IsWholeOrRefused: a form turns + into a blank and some pad or wrap.
func TestBase64IsWholeOrRefused(t *testing.T) {
	h := serve(t)
	who, version := []string{"dan", "ann"}, 0
	text := "?>~ \u00e4\u00f6\u00fc \u2713 >>>???" // has both - and _ in it
	std, safe := base64.StdEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text))
	if !strings.ContainsAny(safe, "-") || !strings.ContainsAny(safe, "_") {
		t.Fatal(safe)
	}
	for what, coded := range map[string]string{
		"URL-safe": safe, "padded": url.QueryEscape(base64.URLEncoding.EncodeToString([]byte(text))), "standard": url.QueryEscape(std),
		"+ as it is": strings.ReplaceAll(std, "/", "%2F"), "a blank": strings.NewReplacer("+", "%20", "/", "%2F", "=", "%3D").Replace(std),
		"wrapped": safe[:8] + "%0A" + safe[8:16] + "%0D%0A" + safe[16:], "mixed": strings.ReplaceAll(safe, "-", "+"), "= as it is": safe + "=",
	} {
		page := h.page(h.with(who[version%2], "design/write", fmt.Sprintf("&turn=%d&b64=%s", version, coded)))
		if version++; !strings.HasPrefix(page, "result: recorded") || h.last("design") != text {
			t.Fatalf("%s: %q, %s", what, h.last("design"), page)
		}
	}
	page := h.page(h.with(who[version%2], "design/write", fmt.Sprintf("&turn=%d&b64=%s", version, b64(" PASS\n"))))
	if !strings.HasPrefix(page, "result: recorded") || h.last("design") != text {
		t.Errorf("a pass: %s", page)
	}
	h.Stands("design", version+1, who[(version+1)%2])
}
