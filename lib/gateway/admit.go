package gateway

import (
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/keyring"
)

// Wrong keys are cheap to try and cheap to refuse. Some a second are answered for
// each address, and the others are not looked into. A right key always gets in:
// behind a tunnel everybody has the same address.
const (
	wrongRate  = 2
	wrongBurst = 20
	addresses  = 4096 // remembered at most
)

// limits are how often everybody has asked.
type limits struct {
	mu    sync.Mutex
	wrong map[string]*rate.Limiter // by address
	whose map[string]*rate.Limiter // by participant
}

func (l *limits) wrongKey(address string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.wrong == nil || len(l.wrong) >= addresses {
		l.wrong = map[string]*rate.Limiter{}
	}
	if l.wrong[address] == nil {
		l.wrong[address] = rate.NewLimiter(wrongRate, wrongBurst)
	}
	return l.wrong[address].AllowN(now, 1)
}

func (l *limits) asks(who string, perSecond float64, now time.Time) bool {
	if perSecond <= 0 {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.whose == nil {
		l.whose = map[string]*rate.Limiter{}
	}
	if l.whose[who] == nil {
		l.whose[who] = rate.NewLimiter(rate.Limit(perSecond), max(1, int(4*perSecond)))
	}
	return l.whose[who].AllowN(now, 1)
}

// Admit returns whose key it is, or refuses. The refusal says nothing about keys.
func (g *Gateway) Admit(w http.ResponseWriter, r *http.Request, key string, kind keyring.Kind) (who string, refused error) {
	who = g.whose(key, kind)
	if who == "" {
		g.counts.wrong.Add(1)
		if !g.limits.wrongKey(address(r), g.Now()) {
			g.counts.limited.Add(1)
			return "", tooMany
		}
		return "", fault.New(fault.Denied, "no valid key")
	}
	if a, ok := w.(*answer); ok {
		a.who = who
	}
	if !g.limits.asks(who, g.Rate, g.Now()) {
		g.counts.limited.Add(1)
		return "", tooMany
	}
	return who, nil
}

// whose returns the owner of a key who is served here, "" when there is none.
func (g *Gateway) whose(key string, kind keyring.Kind) string {
	who := g.Keys.Owner(key, kind, g.Now())
	if len(g.Only) > 0 && !slices.Contains(g.Only, who) {
		return ""
	}
	return who
}

// bearer returns the key in a request's Authorization.
func bearer(r *http.Request) string {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(key)
}

// member is a handler for somebody who was let in.
type member func(w http.ResponseWriter, r *http.Request, who string) error

// keyed lets in who has a standing key in his Authorization.
func (g *Gateway) keyed(h member) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who, err := g.Admit(w, r, bearer(r), keyring.Standing)
		if fault.Is(err, fault.Denied) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="substrate"`)
			Refuse(w, http.StatusUnauthorized, fault.New(fault.Denied, "no valid key").
				WithHint("send the header Authorization: Bearer KEY"))
			return
		}
		if err == nil {
			err = h(w, r, who)
		}
		if err != nil {
			g.Fail(w, err)
		}
	}
}

// guard keeps web pages of others out: a browser says where a request comes from,
// and asks for the name it was given, which a page may have pointed here.
func (g *Gateway) guard(r *http.Request) error {
	host := bare(r.Host)
	if !g.Local && !g.named(host) && !Loopback(host) && net.ParseIP(host) == nil {
		return fault.New(fault.Denied, "this server has another name")
	}
	if from, err := url.Parse(r.Header.Get("Origin")); err == nil && g.named(bare(from.Host)) {
		return nil // behind a tunnel the page's name is not the server's
	}
	return Guard(r, g.Local && !g.named(host))
}

// named reports whether a host is one of the names that were given.
func (g *Gateway) named(host string) bool {
	return host != "" && slices.ContainsFunc(g.Hosts, func(name string) bool { return strings.EqualFold(name, host) })
}

// Guard refuses a request that a page of another origin sends and, with local, one
// for a name that is not a loopback one; of those, each passes for the others.
func Guard(r *http.Request, local bool) error {
	if local && !Loopback(bare(r.Host)) {
		return fault.New(fault.Denied, "this server is asked for by a loopback name only")
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return nil
	}
	from, err := url.Parse(origin)
	if err != nil || from.Host != r.Host && !(local && Loopback(bare(from.Host))) {
		return fault.New(fault.Denied, "a page of another origin asked")
	}
	return nil
}

// bare returns a host without its port.
func bare(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.Trim(host, "[]")
}

// Loopback reports whether a host, without a port, is this machine's own.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// address returns where a request comes from.
func address(r *http.Request) string { return bare(r.RemoteAddr) }
