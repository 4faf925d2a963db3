//go:build bench && unix

package cmd_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

const (
	checkRow   = "MCP check_turn"
	tailMCPRow = "MCP read_thread of 40 lines"
	turnRow    = "post begun to MCP wait_for_turn returning"
)

// A client speaks MCP to the server program over its standard streams.
type client struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	last int
}

// mcp times the tools of the MCP server, where there is one.
func (m *bench) mcp() {
	if _, err := os.Stat(filepath.Join(m.prog, "substrate-mcp")); err != nil {
		m.lines = append(m.lines, &line{Work: checkRow, Size: -1, Note: "not measured: no substrate-mcp"})
		return
	}
	for _, n := range sizes {
		m.progress("MCP, room of %d entries", n)
		key := m.key(n)
		c := m.serve("--space", key.Space, "--name", "dan")
		room := map[string]any{"thread": key.Room}
		m.measure(checkRow, n, 200, floor{}, func() { m.must(c.tool("check_turn", room)) })
		tail := map[string]any{"thread": key.Room, "last_n": 40}
		m.measure(tailMCPRow, n, 200, floor{}, func() { m.must(c.tool("read_thread", tail)) })
		m.turns(c, m.talk(key))
		c.in.Close()
		c.cmd.Wait()
	}
}

// turns times how long after the post that makes it somebody's turn he has been told.
func (m *bench) turns(c *client, t *talk) {
	var took []time.Duration
	for range samples(50) {
		for t.next != crew[len(crew)-1] { // whose post gives the floor to crew[0]
			t.post()
		}
		told := make(chan error, 1)
		go func() {
			wait := map[string]any{"thread": t.key.Room, "participant_name": crew[0], "timeout_secs": 20}
			told <- c.tool("wait_for_turn", wait)
		}()
		time.Sleep(20 * time.Millisecond) // it waits by then
		begun := time.Now()
		t.post()
		m.must(<-told)
		took = append(took, time.Since(begun))
	}
	var n int
	fmt.Sscanf(t.key.Room, "room-%d", &n)
	m.add(turnRow, n, took, "", nil)
}

func (m *bench) serve(args ...string) *client {
	c := &client{cmd: m.command("mcp", args...)}
	c.cmd.Stdin, c.cmd.Stdout = nil, nil
	var err error
	c.in, err = c.cmd.StdinPipe()
	m.must(err)
	out, err := c.cmd.StdoutPipe()
	m.must(err)
	c.out = json.NewDecoder(out)
	m.must(c.cmd.Start())
	m.must(c.call("initialize", map[string]any{
		"protocolVersion": "2025-06-18", "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": "bench", "version": "1"},
	}))
	m.must(c.send(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"}))
	return c
}

func (c *client) send(message any) error {
	b, err := json.Marshal(message)
	if err == nil {
		_, err = c.in.Write(append(b, '\n'))
	}
	return err
}

// call sends a request and waits for its answer; whatever else the server says meanwhile is skipped.
func (c *client) call(method string, params any) error {
	c.last++
	err := c.send(map[string]any{"jsonrpc": "2.0", "id": c.last, "method": method, "params": params})
	for err == nil {
		var answer struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Error  json.RawMessage `json:"error"`
			Result struct {
				IsError bool            `json:"isError"`
				Content json.RawMessage `json:"content"`
			} `json:"result"`
		}
		if err = c.out.Decode(&answer); err != nil {
			break
		}
		switch {
		case answer.Method != "" || string(answer.ID) != fmt.Sprint(c.last):
			continue
		case answer.Error != nil:
			return fmt.Errorf("%s: %s", method, answer.Error)
		case answer.Result.IsError:
			return fmt.Errorf("%s: %s", method, answer.Result.Content)
		}
		return nil
	}
	return err
}

func (c *client) tool(name string, args map[string]any) error {
	return c.call("tools/call", map[string]any{"name": name, "arguments": args})
}
