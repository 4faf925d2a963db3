// Package courier serves rooms to participants who can only fetch a URL. A page is
// plain text: who you are, where the room stands, the transcript, and the exact
// URLs to go on with. Four things are kept apart: key says who asks, nonce defeats
// caches, turn is the version that was seen, from is the line to read from.
package courier

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
)

// maxNonce is the longest nonce, in bytes: with a prefix it becomes an entry's id.
const maxNonce = 100

// courier is the handler of everything below /t/.
type courier struct {
	g       *gateway.Gateway
	once    gateway.Once // outcomes of writes
	refused refusals     // those of them that are to outlive us
}

// Serve adds the routes to a gateway.
func Serve(g *gateway.Gateway) {
	c := &courier{g: g, refused: refusals{path: g.Keys.Path() + ".refused"}}
	g.Handle("/t/", c.serve)
}

// ask is one request for a page.
type ask struct {
	*http.Request
	url.Values
	who   string
	key   store.Key
	nonce string
}

// spot reads the path: a room, whose name may have slashes, and whether it is
// written to. A room whose name ends in /write is named with %2F.
func spot(r *http.Request) (room string, write bool, ok bool) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/t/"), "/")
	if n := len(parts); n > 1 && parts[n-1] == "write" {
		parts, write = parts[:n-1], true
	}
	room, err := url.PathUnescape(strings.Join(parts, "/"))
	return room, write, err == nil && name.Check("room", room) == nil
}

func (c *courier) serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Robots-Tag", "noindex, nofollow")
	room, write, ok := spot(r)
	if r.Method != http.MethodGet && (write || r.Method != http.MethodHead) {
		w.Header().Set("Allow", "GET")
		refuse(w, http.StatusMethodNotAllowed, "Nothing was recorded: this address answers to GET and to nothing else.")
		return
	}
	if !ok {
		refuse(w, http.StatusNotFound, "No such room.")
		return
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		refuse(w, http.StatusBadRequest, "The query of this address is broken. "+needs)
		return
	}
	if write && unasked(r) {
		refuse(w, http.StatusForbidden, "Nothing was recorded: this looks like a preview or a prefetch, not like somebody who writes.")
		return
	}
	a := ask{Request: r, Values: q, nonce: q.Get("nonce")}
	if a.who, err = c.g.Admit(w, r, q.Get("key"), keyring.Standing); err != nil {
		c.unknown(w, err)
		return
	}
	if !write && !printable(a.nonce) {
		refuse(w, http.StatusBadRequest, noNonce+" "+needs)
		return
	}
	if a.key, _, err = c.g.In(r.Context(), a.who, room); err != nil {
		f := c.g.Public(err)
		refuse(w, gateway.Status(f), sentence(f))
		return
	}
	if q.Get("manifest") == "1" && !write {
		w.Header().Set("Content-Type", "application/json")
		if err := c.g.Rooms.WriteManifest(r.Context(), w, a.key); err != nil {
			c.g.Fail(w, err)
		}
		return
	}
	result := ""
	if write {
		result = c.write(a)
	}
	c.page(w, a, result)
}

const (
	noNonce = "A nonce is missing, or is not 1 to 100 printable ASCII characters."
	needs   = "An address needs key, which is yours, and nonce, which is new each time."
)

func (c *courier) unknown(w http.ResponseWriter, err error) {
	if f := c.g.Public(err); gateway.Status(f) == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "Too many requests. Wait a little.")
		return
	}
	w.Header().Set("WWW-Authenticate", `Bearer realm="substrate"`)
	refuse(w, http.StatusUnauthorized, "The key in this address is missing or not valid. Ask whoever gave you the address.")
}

func refuse(w http.ResponseWriter, status int, says string) {
	w.WriteHeader(status)
	fmt.Fprintln(w, says)
}

func sentence(f *fault.Error) string {
	s := strings.ToUpper(f.Message[:1]) + f.Message[1:] + "."
	if f.Hint != "" {
		s += " What to do: " + f.Hint + "."
	}
	return record.OneLine(s)
}

func printable(s string) bool {
	return s != "" && len(s) <= maxNonce && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

// number reads a parameter that is a number above 0, 0 when it is not there.
func (a ask) number(name string) (int, error) {
	value := a.Get(name)
	if value == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 {
		return 0, fault.New(fault.BadInput, "not a number: %s %q", name, record.Clip(value, 64))
	}
	return n, nil
}
