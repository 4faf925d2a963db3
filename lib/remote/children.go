package remote

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// HTTP and TLS are linked into one program, substrate-carry, and not into every
// one that works on rooms: that alone would double what it takes to start them.
// The protocol with it, over its standard input and output, in turns:
//
//	in:  one line, Hello, once
//	in:  one line, Request, with the length of its body; then the body
//	out: one line, Answer
//	out: unless that says an error, the body in pieces: four bytes of length, the
//	     highest first, and so many bytes; Done ends it, Broken says that it broke
//
// It serves one request at a time, and ends with its input.

// Hello says where requests go.
type Hello struct {
	URL string `json:"url"`
	CA  string `json:"ca"` // PEM of the certificate to trust; "": those of the system
}

// Answer begins the answer to a request.
type Answer struct {
	Status int               `json:"status"`
	Header map[string]string `json:"header"` // keys in lower case
	Error  string            `json:"error"`  // why there is none
}

// The lengths that are none, and the longest piece.
const (
	Done     = 0
	Broken   = 1<<32 - 1
	MaxPiece = 64 << 10
)

// Program is what carries requests.
const Program = "substrate-carry"

// Children carries requests by running Program, once for each that is under way;
// a child that is done is used again.
type Children struct {
	Hello
	mu   sync.Mutex
	idle []*child
}

type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// Do carries a request. When ctx ends, so does its child.
func (c *Children) Do(ctx context.Context, r Request) (*Response, error) {
	k, err := c.take()
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, k.kill)
	a, err := k.ask(r)
	if err != nil {
		stop()
		k.kill()
		return nil, err
	}
	body := &pieces{k: k, stop: stop, free: func() { c.put(k) }}
	return &Response{Status: a.Status, Header: a.Header, Body: body}, nil
}

// sized is a request as it stands in the pipe.
type sized struct {
	Request
	Length int `json:"length"` // of the body that follows, in bytes
}

// longest is the longest body of a request, in bytes: a text of 8 MiB, each of
// whose bytes JSON may write as six.
const longest = 64 << 20

// Write writes a request into the pipe.
func (r Request) Write(w io.Writer) error {
	line, err := record.Encode(sized{r, len(r.Body)})
	if err == nil {
		_, err = w.Write(line)
	}
	if err == nil && len(r.Body) > 0 {
		_, err = w.Write(r.Body)
	}
	return err
}

// maxLine is the longest line of the pipe, in bytes.
const maxLine = 1 << 20

// ReadLine reads a line of the pipe into v. At the end the error is io.EOF.
func ReadLine(pipe *bufio.Reader, v any) error {
	var line []byte
	for {
		part, err := pipe.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return fault.New(fault.TooLarge, "line is longer than %d bytes", maxLine)
		}
		if err == nil || len(line) > 0 && errors.Is(err, io.EOF) {
			return record.Line{Number: 1, Raw: line}.Decode(v)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// ReadRequest reads a request from the pipe.
func ReadRequest(pipe *bufio.Reader) (Request, error) {
	var s sized
	if err := ReadLine(pipe, &s); err != nil {
		return Request{}, err
	}
	if s.Length < 0 || s.Length > longest {
		return Request{}, fault.New(fault.TooLarge, "body of %d bytes", s.Length)
	}
	s.Body = make([]byte, s.Length)
	_, err := io.ReadFull(pipe, s.Body)
	return s.Request, err
}

func (k *child) ask(r Request) (a Answer, err error) {
	if err := r.Write(k.in); err != nil {
		return a, err
	}
	line, err := k.out.ReadBytes('\n')
	if err != nil {
		return a, fmt.Errorf("%s ended: %w", Program, err)
	}
	if err = json.Unmarshal(line, &a); err == nil && a.Error != "" {
		err = errors.New(a.Error)
	}
	return a, err
}

func (c *Children) take() (*child, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.idle); n > 0 {
		k := c.idle[n-1]
		c.idle = c.idle[:n-1]
		return k, nil
	}
	return c.start()
}

func (c *Children) put(k *child) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, k)
}

func (c *Children) start() (*child, error) {
	cmd := exec.Command(program())
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("cannot run %s: %w", Program, err)
	}
	hello, err := record.Encode(c.Hello)
	if err == nil {
		_, err = in.Write(hello)
	}
	return &child{cmd, in, bufio.NewReaderSize(out, MaxPiece)}, err
}

// program returns the one beside this program, else the one that is found.
func program() string {
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), Program+filepath.Ext(self))
		if _, err := os.Stat(beside); err == nil {
			return beside
		}
	}
	return Program
}

// kill ends a child, without waiting for it.
func (k *child) kill() {
	k.in.Close()
	k.cmd.Process.Kill()
	go k.cmd.Wait()
}

// pieces is the body of an answer.
type pieces struct {
	k    *child
	stop func() bool
	free func()
	left uint32 // of this piece
	err  error  // how it ended
}

// Read reads on; the child is free once the end was read.
func (p *pieces) Read(b []byte) (int, error) {
	if p.err == nil && p.left == 0 {
		p.next()
	}
	if p.err != nil {
		return 0, p.err
	}
	n, err := p.k.out.Read(b[:min(len(b), int(p.left))])
	if p.left -= uint32(n); err != nil {
		p.lose(err)
		err = p.err
	}
	return n, err
}

func (p *pieces) next() {
	var length [4]byte
	if _, err := io.ReadFull(p.k.out, length[:]); err != nil {
		p.lose(err)
		return
	}
	switch n := binary.BigEndian.Uint32(length[:]); {
	case n == Done:
		p.err = io.EOF
		if p.stop() { // else it is being ended
			p.free()
		}
	case n > MaxPiece:
		p.lose(errors.New("the connection broke"))
	default:
		p.left = n
	}
}

func (p *pieces) lose(err error) {
	p.err = fmt.Errorf("the answer was lost: %w", err)
	p.stop()
	p.k.kill()
}

// Close lets go of an answer; what is left of it is not read.
func (p *pieces) Close() error {
	if p.err == nil {
		p.lose(errors.New("closed"))
	}
	return nil
}
