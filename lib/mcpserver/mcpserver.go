// Package mcpserver holds the MCP tools, resources and prompts over the rooms, and
// the two ways they are served: lines of JSON on two streams, and HTTP.
//
// A tool is the operation of the same name in lib/room. What a room refuses is a
// result with the error record in it, so that an agent sees who holds the floor and
// what to do next; protocol errors are left to failures of the protocol.
package mcpserver

import (
	"context"
	"io"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/substrate-tools/substrate/lib/wake"
)

// Config is what a server is told when it starts.
type Config struct {
	Version string   // of the program
	Name    string   // who acts when a call names nobody; "": a call must
	Spaces  []string // roots; none: this machine's registry, read anew at every call
	Wait    time.Duration
	Log     func(format string, args ...any) // nil: nothing is logged
	Frames  bool                             // log every message too
	Tools   []Tool                           // besides those of rooms
}

// Server serves rooms to MCP clients, to any number of them.
type Server struct {
	Config
	hub  *wake.Hub // wakes every wait and every subscription
	mcp  *mcp.Server
	subs subscriptions
	gone context.Context // ends when the waits are to end
	end  context.CancelFunc
}

// guide is what a client may put before its model once.
const guide = "Rooms are turn-taking conversations kept as files. Only who holds the floor may write. " +
	"Loop: wait_for_turn, read_thread, write_entry with expect_version. Call about first for the rules and the spaces."

// New returns a server.
func New(c Config) *Server {
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	s := &Server{Config: c, hub: wake.NewHub(0)}
	s.gone, s.end = context.WithCancel(context.Background())
	s.subs.server = s
	s.mcp = mcp.NewServer(
		&mcp.Implementation{Name: "substrate", Title: "Substrate rooms", Version: c.Version},
		&mcp.ServerOptions{
			Instructions:       guide,
			Capabilities:       &mcp.ServerCapabilities{},
			CompletionHandler:  s.complete,
			SubscribeHandler:   s.subs.add,
			UnsubscribeHandler: s.subs.remove,
			// What one client is shown is nothing to keep for another.
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) { c.CacheScope = "private" },
		})
	s.addTools()
	s.addExtra()
	s.addResources()
	s.addPrompts()
	return s
}

// Close ends every wait.
func (s *Server) Close() {
	s.end()
	s.hub.Close()
}

// farewell is how long answers may take that are under way when the input ends.
const farewell = 1500 * time.Millisecond

// Serve serves one client over two streams, a JSON-RPC message a line, until the
// input ends. What is under way then is answered, waits at once.
func (s *Server) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	c := newConn(s, in, out)
	done := make(chan error, 1)
	go func() { done <- s.mcp.Run(ctx, c) }()
	select {
	case err := <-done:
		return err
	case <-c.left:
	}
	select {
	case <-done:
	case <-time.After(farewell / 5): // something holds on that cannot be interrupted
	}
	return nil
}
