package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxLine is the longest message that is read: the longest body, every byte of it
// escaped, and something for the rest.
const maxLine = 52 << 20

// conn is the server's end of two streams.
//
// The SDK's own gives up at the first line it cannot read, and throws away what is
// under way when the input ends. This one answers a bad line itself and goes on,
// and it holds the end of the input back until what came before it is answered: a
// script may pipe its calls in.
type conn struct {
	server *Server
	lines  chan line
	out    io.Writer
	left   chan struct{} // closed when the input has ended and was drained
	closed chan struct{}
	close  sync.Once

	mu   sync.Mutex // guards out and open
	open map[jsonrpc.ID]bool
	idle chan struct{} // has room for one; see answered
}

type line struct {
	data []byte
	err  error
}

func newConn(s *Server, in io.Reader, out io.Writer) *conn {
	c := &conn{
		server: s, out: out, lines: make(chan line), left: make(chan struct{}), closed: make(chan struct{}),
		open: map[jsonrpc.ID]bool{}, idle: make(chan struct{}, 1),
	}
	go c.scan(bufio.NewReaderSize(in, 64<<10))
	return c
}

// Connect returns c: it is its own transport.
func (c *conn) Connect(context.Context) (mcp.Connection, error) { return c, nil }

// SessionID returns "": there is one session.
func (c *conn) SessionID() string { return "" }

var errLong = fmt.Errorf("message is longer than %d bytes", maxLine)

// scan reads lines. One that is too long is skipped and reported.
func (c *conn) scan(in *bufio.Reader) {
	for {
		var l line
		for more := true; more && l.err == nil; {
			var part []byte
			part, more, l.err = in.ReadLine()
			if len(l.data) <= maxLine {
				l.data = append(l.data, part...)
			}
		}
		end := l.err != nil
		if end && len(l.data) > 0 { // the last line lacks its end
			l.err = nil
		}
		if len(l.data) > maxLine {
			l = line{err: errLong}
		}
		for {
			select {
			case c.lines <- l:
			case <-c.closed:
				return
			}
			if !end {
				break
			}
			l = line{err: io.EOF}
		}
	}
}

// Read returns the next message.
func (c *conn) Read(ctx context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.closed:
			return nil, io.EOF
		case l := <-c.lines:
			if errors.Is(l.err, errLong) {
				c.refuse(nil, jsonrpc.CodeInvalidRequest, l.err)
				continue
			}
			if l.err != nil {
				c.drain(ctx)
				return nil, io.EOF
			}
			if msg := c.parse(bytes.TrimSpace(l.data)); msg != nil {
				return msg, nil
			}
		}
	}
}

// parse returns the message of a line, or nil after it answered what is none.
func (c *conn) parse(data []byte) jsonrpc.Message {
	if len(data) == 0 {
		return nil
	}
	c.frame("<-", data)
	switch {
	case !utf8.Valid(data):
		c.refuse(nil, jsonrpc.CodeParseError, errors.New("message is not valid UTF-8"))
		return nil
	case !json.Valid(data):
		c.refuse(nil, jsonrpc.CodeParseError, errors.New("message is not JSON"))
		return nil
	case data[0] == '[':
		c.refuse(nil, jsonrpc.CodeInvalidRequest, errors.New("batches are not served: send one message a line"))
		return nil
	}
	msg, err := jsonrpc.DecodeMessage(data)
	if err != nil {
		c.refuse(data, jsonrpc.CodeInvalidRequest, err)
		return nil
	}
	// subscriptions/listen is answered when it ends, which is when we do.
	if r, ok := msg.(*jsonrpc.Request); ok && r.IsCall() && r.Method != "subscriptions/listen" {
		c.mu.Lock()
		c.open[r.ID] = true
		c.mu.Unlock()
	}
	return msg
}

// refuse answers a line that is no message, under its id where it has one.
func (c *conn) refuse(data []byte, code int, why error) {
	c.server.Log("bad message: %v", why)
	var head struct {
		ID     any
		Result json.RawMessage
	}
	json.Unmarshal(data, &head) // what cannot be read stays null
	switch head.ID.(type) {
	case string, float64:
	default:
		head.ID = nil
	}
	if head.Result != nil {
		return // a bad answer; answering it could go on for ever
	}
	reply, _ := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": head.ID, "error": map[string]any{"code": code, "message": why.Error()},
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.write(reply)
}

// Write writes a message.
func (c *conn) Write(_ context.Context, msg jsonrpc.Message) error {
	data, err := jsonrpc.EncodeMessage(msg)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	err = c.write(data)
	if r, ok := msg.(*jsonrpc.Response); ok {
		delete(c.open, r.ID)
		select {
		case c.idle <- struct{}{}:
		default:
		}
	}
	return err
}

func (c *conn) write(data []byte) error {
	c.frame("->", data)
	_, err := c.out.Write(append(data, '\n'))
	return err
}

// drain lets the calls that are under way be answered, waits at once.
func (c *conn) drain(ctx context.Context) {
	c.server.Log("end of input")
	defer close(c.left)
	c.server.end()
	late := time.After(farewell)
	for {
		c.mu.Lock()
		n := len(c.open)
		c.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-c.idle:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Close ends a Read that waits.
func (c *conn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return nil
}

// frame logs the beginning of a message, if that is wanted.
func (c *conn) frame(way string, data []byte) {
	if c.server.Frames {
		c.server.Log("%s %d bytes: %.200q", way, len(data), data[:min(len(data), 200)])
	}
}
