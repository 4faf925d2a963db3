package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/substrate-tools/substrate/lib/floor"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/gateway/gatewaytest"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// Clients that are slow are met here on a clock of the test's own: connections are
// pipes in memory, and the store is one without files, which never waits.

// still is a store with one room of one large entry, in which nothing happens.
type still struct{ store.Store }

func (still) Head(context.Context, store.Key) (store.Head, error) {
	return store.Head{Exists: true, State: floor.State{Topic: "t", Moderator: "dan", Order: []string{"dan", "ann"}}}, nil
}

func (still) Read(ctx context.Context, key store.Key, _ store.Part) (store.View, error) {
	head, err := still{}.Head(ctx, key)
	return store.View{Head: head, Entries: func(yield func(transcript.Entry, error) bool) {
		yield(transcript.Entry{Name: "20260706T131502084Z__dan.md", Author: "dan", Body: strings.Repeat("x", 1<<20)}, nil)
	}}, err
}

func (still) Watch(ctx context.Context, key store.Key) iter.Seq2[store.Key, error] {
	return func(yield func(store.Key, error) bool) {
		yield(store.Key{Space: key.Space}, nil)
		<-ctx.Done()
	}
}

func (still) List(context.Context, string) iter.Seq2[store.Key, error] {
	return func(func(store.Key, error) bool) {}
}

// pipes is a listener whose connections are made in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan bool
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	close(p.closed)
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// slowly runs a test against a server of so many connections. key is dan's.
func slowly(t *testing.T, connections int, test func(t *testing.T, p *pipes, key string)) {
	ring := keyring.Open(filepath.Join(t.TempDir(), "keys"))
	key := ""
	if err := ring.Make(t.Context(), "dan", gatewaytest.Start, func(k string) error { key = k; return nil }); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		g := gateway.New(gateway.Config{Rooms: room.Rooms{Store: still{}}, Space: "/space", Keys: ring, Local: true})
		g.Handle("GET /nothing", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		p := &pipes{make(chan net.Conn), make(chan bool)}
		web := gateway.Server(g)
		web.RegisterOnShutdown(g.Close)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- (&gateway.Listener{Listener: p}).Serve(ctx, web, connections, time.Second) }()
		test(t, p, key)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// closes asserts that a connection is closed from the other end after so long, and
// returns what came before.
func closes(t *testing.T, what string, c net.Conn, after time.Duration) string {
	t.Helper()
	began := time.Now()
	said, err := io.ReadAll(c)
	took := time.Since(began)
	if err != nil || took < after || took > after+time.Second {
		t.Errorf("%s: closed after %v, want %v; %v", what, took, after, err)
	}
	return string(said)
}

func TestHalfARequestIsNotWaitedForLong(t *testing.T) {
	slowly(t, 100, func(t *testing.T, p *pipes, key string) {
		for what, c := range map[string]struct {
			sent  string
			after time.Duration
		}{
			"nothing":       {"", 10 * time.Second},
			"half a line":   {"GET /v1", 10 * time.Second},
			"half a header": {"GET /v1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bear", 10 * time.Second},
			"no body":       {"POST /v1/rooms HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", 30 * time.Second},
			"half a body":   {"POST /v1/rooms HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{", 30 * time.Second},
			"half a chunk":  {"POST /v1/rooms HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{", 30 * time.Second},
			"a body in vain": {
				"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", 30 * time.Second,
			},
			"half a body, let in": {
				"POST /v1/rooms HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer " + key +
					"\r\nContent-Length: 1000\r\n\r\n{", 30 * time.Second,
			},
			"idle": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 2 * time.Minute},
		} {
			conn := p.dial()
			io.WriteString(conn, c.sent)
			if said := closes(t, what, conn, c.after); what == "idle" && !strings.HasPrefix(said, "HTTP/1.1 200 ") {
				t.Errorf("%s: %s", what, said)
			}
		}
	})
}

// TestADripIsNotTakenForProgress sends a byte now and then.
func TestADripIsNotTakenForProgress(t *testing.T) {
	slowly(t, 100, func(t *testing.T, p *pipes, _ string) {
		for what, first := range map[string]string{
			"header": "GET /v1 HTTP/1.1\r\nX-A: ", "body": "POST /v1/rooms HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
		} {
			conn := p.dial()
			io.WriteString(conn, first)
			began, err := time.Now(), error(nil)
			go io.Copy(io.Discard, conn)
			for err == nil && time.Since(began) < time.Hour {
				time.Sleep(time.Second) // of the test's clock
				_, err = io.WriteString(conn, "x")
			}
			if took := time.Since(began); took > 32*time.Second {
				t.Errorf("%s: given up after %v", what, took)
			}
			conn.Close()
		}
	})
}

func TestAReaderWhoDoesNotReadIsGivenUp(t *testing.T) {
	slowly(t, 100, func(t *testing.T, p *pipes, key string) {
		asking := "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + key + "\r\n\r\n"
		for what, c := range map[string]struct{ path, first string }{
			"a large answer": {"/v1/rooms/design/entries", "HTTP/1.1 200 OK\r\n"},
			"a small answer": {"/healthz", ""},
			"a stream":       {"/v1/events", "HTTP/1.1 200 OK\r\n"},
			"no body":        {"/nothing", ""},
		} {
			conn := p.dial()
			fmt.Fprintf(conn, asking, c.path)
			in := bufio.NewReader(conn)
			if c.first != "" {
				if line, err := in.ReadString('\n'); err != nil || line != c.first {
					t.Fatalf("%s: %q, %v", what, line, err)
				}
			}
			time.Sleep(time.Minute) // of the test's clock
			synctest.Wait()
			if _, err := conn.Write([]byte("x")); err != io.ErrClosedPipe {
				t.Errorf("%s: not given up: %v", what, err)
			}
			conn.Close()
		}
	})
}

// TestASlowReaderGetsAll: who takes a piece now and then is waited for.
func TestASlowReaderGetsAll(t *testing.T) {
	slowly(t, 100, func(t *testing.T, p *pipes, key string) {
		conn := p.dial()
		defer conn.Close()
		go fmt.Fprintf(conn, "GET /v1/rooms/design/entries HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n", key)
		res, err := http.ReadResponse(bufio.NewReaderSize(conn, 4096), nil)
		if err != nil {
			t.Fatal(err)
		}
		began, n, piece := time.Now(), 0, make([]byte, 64<<10)
		for err == nil {
			time.Sleep(20 * time.Second)
			read := 0
			read, err = io.ReadFull(res.Body, piece)
			n += read
		}
		if n < 1<<20 || err != io.ErrUnexpectedEOF || time.Since(began) < 5*time.Minute {
			t.Errorf("%d bytes in %v, %v", n, time.Since(began), err)
		}
	})
}

// TestAConnectionIsUsedAgain: what a request was given time for is over at the next.
func TestAConnectionIsUsedAgain(t *testing.T) {
	slowly(t, 100, func(t *testing.T, p *pipes, _ string) {
		conn := p.dial()
		defer conn.Close()
		in := bufio.NewReader(conn)
		for _, path := range []string{"/healthz", "/nothing", "/nothing", "/healthz"} {
			go fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path)
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(path, err)
			}
			if _, err := io.ReadAll(res.Body); err != nil || res.StatusCode >= 300 {
				t.Errorf("%s: %d, %v", path, res.StatusCode, err)
			}
			time.Sleep(time.Minute) // of the test's clock
		}
	})
}

func TestMoreConnectionsWait(t *testing.T) {
	slowly(t, 2, func(t *testing.T, p *pipes, _ string) {
		ask := func(c net.Conn) {
			t.Helper()
			go io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if res, err := http.ReadResponse(bufio.NewReader(c), nil); err != nil || res.StatusCode != 200 {
				t.Errorf("%v, %v", res, err)
			}
		}
		first, second := p.dial(), p.dial()
		ask(first)
		ask(second)
		third := make(chan net.Conn)
		go func() { third <- p.dial() }()
		synctest.Wait()
		select {
		case <-third:
			t.Fatal("a third was taken")
		default:
		}
		first.Close()
		c := <-third
		ask(c)
		c.Close()
		second.Close()
	})
}
