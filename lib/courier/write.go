package courier

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
)

// write records what an address carries and says what became of it. The nonce is
// the entry's id, so that whoever fetches the address again, a preview or a retry,
// writes nothing; refusals are remembered as well, over a restart too.
func (c *courier) write(a ask) string {
	if !printable(a.nonce) {
		return "refused (bad_input): " + noNonce + " Nothing was recorded."
	}
	id := a.who + " " + a.key.Room + " " + a.nonce
	said, repeated := c.once.Do(id, func() (any, bool) {
		if said, ok := c.refused.of(id); ok {
			return said, true
		}
		posted, err := c.post(a)
		if err != nil {
			f := c.g.Public(err)
			said := "refused (" + string(f.Code) + "): " + sentence(f) + " Nothing was recorded."
			// What is wrong with the host is over when somebody has mended it.
			final := f.Code != fault.IO && f.Code != fault.Busy && f.Code != fault.Corrupt
			if final {
				c.refused.add(id, said)
			}
			return said, final
		}
		return recorded(posted), true
	})
	result := said.(string)
	if repeated && strings.HasPrefix(result, "recorded") {
		return "already " + result
	}
	return result
}

func recorded(p record.Posted) string {
	said := "recorded as " + p.Entry + ", version " + itoa(p.Version)
	if p.Duplicate {
		return "already " + said
	}
	return said
}

func (c *courier) post(a ask) (record.Posted, error) {
	version, err := a.number("turn")
	if err != nil {
		return record.Posted{}, err
	}
	if a.Get("turn") == "" {
		return record.Posted{}, fault.New(fault.BadInput, "turn is missing").
			WithHint("send turn, the version of the room that you have seen")
	}
	body, err := text(a)
	if err != nil {
		return record.Posted{}, err
	}
	return c.g.Post(a.Request, a.key, room.Draft{As: a.who, Body: body, Expect: &version, ID: "url-" + a.nonce})
}

// text returns the body that an address carries.
func text(a ask) (string, error) {
	const send = "send one of b64, URL-safe base64 without padding, and text; pass gives the turn up"
	coded, plain := a.Get("b64"), a.Get("text")
	switch {
	case a.Has("b64") && a.Has("text"):
		return "", fault.New(fault.BadInput, "both b64 and text").WithHint(send)
	case strings.TrimSpace(coded+plain) == "":
		return "", fault.New(fault.BadInput, "nothing to write").WithHint(send)
	case a.Has("text"):
		return plain, whole(a)
	}
	// A form turns + into a blank, and some wrap what is long: neither may shorten
	// a text in silence, so what stays strange is refused.
	coded = strings.NewReplacer(" ", "-", "+", "-", "/", "_", "\n", "", "\r", "").Replace(coded)
	body, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimRight(coded, "="))
	if err != nil {
		return "", fault.New(fault.BadInput, "b64 is not base64").WithHint(send)
	}
	return string(body), nil
}

// whole refuses a text that was cut at an & of its own, by what then stands behind
// it as if it were a parameter.
func whole(a ask) error {
	for name, values := range a.Values {
		if !slices.Contains([]string{"key", "turn", "nonce", "from", "text"}, name) || len(values) > 1 {
			return fault.New(fault.BadInput, "the text ends at an &, or %q is not to be here", record.Clip(name, 64)).
				WithHint("write an & of the text as %%26, or send b64")
		}
	}
	return nil
}

// previews are agents that fetch a link because somebody was sent it.
var previews = []string{
	"slackbot", "slack-imgproxy", "twitterbot", "facebookexternalhit", "facebot", "discordbot", "telegrambot", "whatsapp",
	"linkedinbot", "skypeuripreview", "googlebot", "bingbot", "bingpreview", "applebot", "redditbot", "mattermost",
	"vkshare", "embedly", "iframely", "pinterest", "google-pagerenderer", "mastodon", "bluesky", "matrix-preview",
}

// unasked reports whether a request comes without anybody wanting to write: a
// prefetch, a preview, or a part of some other page.
func unasked(r *http.Request) bool {
	for _, header := range []string{"Purpose", "X-Purpose", "Sec-Purpose", "X-Moz"} {
		says := strings.ToLower(r.Header.Get(header))
		if strings.Contains(says, "prefetch") || strings.Contains(says, "preview") || strings.Contains(says, "prerender") {
			return true
		}
	}
	agent := strings.ToLower(r.Header.Get("User-Agent"))
	if slices.ContainsFunc(previews, func(p string) bool { return strings.Contains(agent, p) }) {
		return true
	}
	dest, site := r.Header.Get("Sec-Fetch-Dest"), r.Header.Get("Sec-Fetch-Site")
	if dest != "" && dest != "document" && dest != "empty" {
		return true
	}
	return site == "cross-site" && r.Header.Get("Sec-Fetch-User") != "?1"
}
