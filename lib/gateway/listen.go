package gateway

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

// Listening says where a server is reached.
type Listening struct {
	Type string `json:"type"` // "listening"
	URL  string `json:"url"`
}

// Text says so to people.
func (l Listening) Text() string { return "listening on " + l.URL }

// Listener is where a server listens.
type Listener struct {
	net.Listener
	tls *tls.Config // nil: plain HTTP
}

// Place is where a server is to listen and how its traffic is kept private.
type Place struct {
	Address   string // host:port
	Anywhere  bool   // it may be reached from elsewhere
	Encrypted bool   // by a tunnel or a private network, when it has no certificate
	Cert, Key string // files of a certificate; "" for plain HTTP
}

// Listen opens a socket. An address that others reach is refused unless that is
// said, and then without encryption unless that is said as well.
func Listen(p Place) (*Listener, error) {
	host, port, err := net.SplitHostPort(p.Address)
	if err == nil {
		_, err = net.LookupPort("tcp", port)
	}
	switch {
	case err != nil:
		return nil, fault.New(fault.Usage, "not an address: %q", p.Address).WithHint("for example 127.0.0.1:0")
	case !Loopback(host) && !p.Anywhere:
		return nil, fault.New(fault.Usage, "not a loopback address: %q", p.Address).
			WithHint("--listen-anywhere serves it all the same")
	case (p.Cert == "") != (p.Key == ""):
		return nil, fault.New(fault.Usage, "a certificate and its key go together").WithHint("give --cert and --key")
	case p.Anywhere && p.Cert == "" && !p.Encrypted:
		return nil, fault.New(fault.Usage, "traffic beyond this machine would not be encrypted").
			WithHint("give --cert and --key, or --encrypted-elsewhere when a tunnel or private network does it")
	}
	l := &Listener{}
	if p.Cert != "" {
		c := &certificate{cert: p.Cert, key: p.Key}
		if _, err := c.get(nil); err != nil {
			return nil, fault.New(fault.BadInput, "certificate: %w", err)
		}
		l.tls = &tls.Config{GetCertificate: c.get, MinVersion: tls.VersionTLS12}
	}
	if l.Listener, err = net.Listen("tcp", p.Address); err != nil {
		return nil, err
	}
	return l, nil
}

// certificate is a pair of files, which are renewed while the server runs.
type certificate struct {
	cert, key string
	mu        sync.Mutex
	print     disk.Print
	pair      *tls.Certificate
}

// get returns the certificate as it is now; one that is just being renewed, as it
// was.
func (c *certificate) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := disk.PrintAt(c.cert)
	if c.pair != nil && now == c.print {
		return c.pair, nil
	}
	pair, err := tls.LoadX509KeyPair(c.cert, c.key)
	if err != nil && c.pair != nil {
		return c.pair, nil
	}
	if err == nil {
		c.pair, c.print = &pair, now
	}
	return c.pair, err
}

// URL returns how the server is reached on this machine.
func (l *Listener) URL() string {
	if l.tls != nil {
		return "https://" + l.Addr().String()
	}
	return "http://" + l.Addr().String()
}

// Server returns a server with limits on how long a client may take and how much
// it may send before it is let in.
func Server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 32 << 10,
	}
}

// Serve serves a listener until ctx ends, so many connections at a time at most:
// further ones wait. Then requests under way have grace to end in.
func (l *Listener) Serve(ctx context.Context, web *http.Server, connections int, grace time.Duration) error {
	listener := net.Listener(&bounded{Listener: l.Listener, free: make(chan struct{}, connections)})
	ended := make(chan error, 1)
	go func() {
		if l.tls != nil {
			web.TLSConfig = l.tls
			ended <- web.ServeTLS(listener, "", "")
			return
		}
		ended <- web.Serve(listener)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if web.Shutdown(late) != nil {
		web.Close()
	}
	<-ended
	return nil
}

// bounded lets so many connections be open at a time.
type bounded struct {
	net.Listener
	free chan struct{}
}

func (b *bounded) Accept() (net.Conn, error) {
	b.free <- struct{}{}
	conn, err := b.Listener.Accept()
	if err != nil {
		<-b.free
		return nil, err
	}
	return &counted{Conn: conn, close: sync.OnceFunc(func() { <-b.free })}, nil
}

type counted struct {
	net.Conn
	close func()
}

func (c *counted) Close() error {
	defer c.close()
	return c.Conn.Close()
}

// TrustBoundary is what whoever opens a server to others is told.
const TrustBoundary = "served beyond this machine: whoever has a key reads the rooms its owner is in and writes as him; " +
	"the host, and whoever can change its files, is trusted by all of them"

// HostOf returns the name of the host in a URL, "" when it has none.
func HostOf(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	return u.Hostname()
}
