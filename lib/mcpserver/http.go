package mcpserver

import (
	"context"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/keyring"
)

// stateless is the first version of the protocol without sessions. Its clients and
// older ones need a handler each: with sessions the SDK does not speak it, and
// without them older clients hear of no updates.
const stateless = "2026-07-28"

// Handler serves both eras of the protocol over HTTP. With keys (nil: none), a
// client must have one and acts as its owner. local says that only this machine is to be served, and
// then no other name of it is answered to.
func (s *Server) Handler(keys *keyring.Ring, local bool) http.Handler {
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
	if keys != nil {
		verify := func(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
			who := keys.Owner(token, keyring.Standing, time.Now())
			if who == "" {
				return nil, auth.ErrInvalidToken
			}
			return &auth.TokenInfo{UserID: who}, nil
		}
		h = auth.RequireBearerToken(verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
	}
	return guard(h, local)
}

// guard keeps web pages out.
func guard(h http.Handler, local bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := gateway.Guard(r, local); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// TrustBoundary is what whoever opens a server to others is told.
const TrustBoundary = "served beyond this machine: whoever has a key reads every room of the served spaces " +
	"and writes as its owner; traffic is not encrypted, so put TLS in front"

// Listen opens a socket. An address that others reach is refused unless anywhere is
// said, and then keys are needed.
func Listen(address string, anywhere, keyed bool) (*gateway.Listener, gateway.Listening, error) {
	if anywhere && !keyed {
		return nil, gateway.Listening{}, fault.New(fault.Usage, "nobody is served beyond this machine without a key").
			WithHint("give --keys FILE")
	}
	l, err := gateway.Listen(gateway.Place{Address: address, Anywhere: anywhere, Encrypted: true})
	if err != nil {
		return nil, gateway.Listening{}, err
	}
	return l, gateway.Listening{Type: "listening", URL: l.URL() + "/mcp"}, nil
}

// connections is how many a server has at a time.
const connections = 1024

// ServeHTTP serves a listener until ctx ends.
func (s *Server) ServeHTTP(ctx context.Context, l *gateway.Listener, h http.Handler) error {
	return l.Serve(ctx, gateway.Server(h), connections, 0)
}
