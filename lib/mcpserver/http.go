package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
)

// stateless is the first version of the protocol without sessions. Its clients and
// older ones need a handler each: with sessions the SDK does not speak it, and
// without them older clients hear of no updates.
const stateless = "2026-07-28"

// Key is a participant's, of which only the hash is kept.
type Key struct {
	Name string
	Hash [sha256.Size]byte
}

// ReadKeys reads a file of keys: lines of a participant's name and the SHA-256 of
// his key in hex.
func ReadKeys(path string) (keys []Key, err error) {
	data, err := disk.ReadFile(path, 1<<20)
	if err != nil {
		return nil, fault.New(fault.BadInput, "%w", err)
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		k := Key{Name: fields[0]}
		if err := name.Check("participant", k.Name); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, n, err)
		}
		sum, err := hex.DecodeString(fields[len(fields)-1])
		if len(fields) != 2 || err != nil || len(sum) != len(k.Hash) {
			return nil, fault.New(fault.BadInput, "%s:%d: not a name and the SHA-256 of a key in hex", path, n).
				WithHint("printf %%s \"$KEY\" | sha256sum")
		}
		copy(k.Hash[:], sum)
		keys = append(keys, k)
	}
	if len(keys) == 0 && lines.Err() == nil {
		return nil, fault.New(fault.BadInput, "no key in %q", path)
	}
	return keys, lines.Err()
}

// owner returns whose key it is. Every hash is looked at, whichever fits.
func owner(keys []Key, key string) (who string) {
	sum := sha256.Sum256([]byte(key))
	for _, k := range keys {
		if subtle.ConstantTimeCompare(sum[:], k.Hash[:]) == 1 {
			who = k.Name
		}
	}
	return who
}

// Handler serves both eras of the protocol over HTTP. With keys, a client must have
// one and acts as its owner. local says that only this machine is to be served, and
// then no other name of it is answered to.
func (s *Server) Handler(keys []Key, local bool) http.Handler {
	get := func(*http.Request) *mcp.Server { return s.mcp }
	options := mcp.StreamableHTTPOptions{MaxRequestBodyBytes: maxLine, SessionTimeout: 10 * time.Minute}
	old := mcp.NewStreamableHTTPHandler(get, &options)
	options.Stateless, options.PropagateRequestCancellation = true, true
	now := mcp.NewStreamableHTTPHandler(get, &options)
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= stateless {
			now.ServeHTTP(w, r)
			return
		}
		old.ServeHTTP(w, r)
	})
	if len(keys) > 0 {
		verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
			who := owner(keys, token)
			if who == "" {
				return nil, auth.ErrInvalidToken
			}
			return &auth.TokenInfo{UserID: who}, nil
		}
		h = auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
	}
	return guard(h, local)
}

// guard keeps web pages out: a browser says where a request comes from, and asks
// for the name it was given, which a page may have pointed here.
func guard(h http.Handler, local bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if local && !loopback(r.Host) {
			http.Error(w, "this server is asked for by a loopback name only", http.StatusForbidden)
			return
		}
		if origin := r.Header.Get("Origin"); origin != "" {
			from, err := url.Parse(origin)
			if err != nil || from.Host != r.Host && !(local && loopback(from.Host)) {
				http.Error(w, "another origin", http.StatusForbidden)
				return
			}
		}
		h.ServeHTTP(w, r)
	})
}

func loopback(host string) bool {
	if bare, _, err := net.SplitHostPort(host); err == nil {
		host = bare
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Listening says where a server is reached.
type Listening struct {
	Type string `json:"type"` // "listening"
	URL  string `json:"url"`
}

// Text says so to people.
func (l Listening) Text() string { return "listening on " + l.URL }

// TrustBoundary is what whoever opens a server to others is told.
const TrustBoundary = "served beyond this machine: whoever has a key reads every room of the served spaces " +
	"and writes as its owner; traffic is not encrypted, so put TLS in front"

// Listen opens a socket. An address that others reach is refused unless anywhere is
// said, and then keys are needed.
func Listen(address string, anywhere, keyed bool) (net.Listener, Listening, error) {
	host, _, err := net.SplitHostPort(address)
	switch {
	case err != nil:
		return nil, Listening{}, fault.New(fault.Usage, "not an address: %q", address).WithHint("for example 127.0.0.1:0")
	case !loopback(host) && !anywhere:
		return nil, Listening{}, fault.New(fault.Usage, "not a loopback address: %q", address).
			WithHint("--listen-anywhere serves it all the same, with --keys")
	case anywhere && !keyed:
		return nil, Listening{}, fault.New(fault.Usage, "nobody is served beyond this machine without a key").
			WithHint("give --keys FILE")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, Listening{}, err
	}
	return l, Listening{"listening", "http://" + l.Addr().String() + "/mcp"}, nil
}

// ServeHTTP serves a listener until ctx ends.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener, h http.Handler) error {
	web := &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
	}
	stop := context.AfterFunc(ctx, func() { web.Close() })
	defer stop()
	if err := web.Serve(l); err != http.ErrServerClosed {
		return err
	}
	return nil
}
