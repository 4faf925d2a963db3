package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/substrate-tools/substrate/lib/mcpserver"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// wire talks to a server in bare lines.
type wire struct {
	testing.TB
	in  io.WriteCloser
	out chan []byte // read ahead: who only writes would stop the server
	n   int
}

func newWire(t testing.TB, out io.Reader, in io.WriteCloser) *wire {
	w := &wire{t, in, make(chan []byte, 10_000), 100}
	go func() {
		defer close(w.out)
		lines := bufio.NewReaderSize(out, 64<<10)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			w.out <- line
		}
	}()
	return w
}

func (w *wire) line() []byte {
	w.Helper()
	select {
	case line, ok := <-w.out:
		if ok {
			return line
		}
		w.Fatal("the server is gone")
	case <-time.After(time.Minute):
		w.Fatal("no answer")
	}
	return nil
}

func (w *wire) send(line string) {
	if _, err := io.WriteString(w.in, line+"\n"); err != nil {
		w.Fatal(err)
	}
}

// message is a reply or a notification.
type message struct {
	JSONRPC string
	ID      any
	Method  string
	Params  map[string]any
	Result  map[string]any
	Error   struct {
		Code    int
		Message string
	}
}

func (w *wire) next() (m message) {
	w.Helper()
	line := w.line()
	if err := json.Unmarshal(line, &m); err != nil || m.JSONRPC != "2.0" {
		w.Fatalf("not JSON-RPC: %v: %s", err, line)
	}
	return m
}

// reply returns the reply to an id, and drops what comes before it.
func (w *wire) reply(id any) message {
	w.Helper()
	for {
		if m := w.next(); m.ID == id && m.Method == "" {
			return m
		}
	}
}

const hello = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`

func (w *wire) hello() {
	w.Helper()
	w.send(fmt.Sprintf(hello, "2025-06-18"))
	w.reply("init")
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// alive fails the test unless the session still answers.
func (w *wire) alive() {
	w.Helper()
	w.n++
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"check_turn","arguments":{"thread":"design"}}}`, w.n))
	if m := w.reply(float64(w.n)); m.Result["isError"] == true || m.Result["structuredContent"] == nil {
		w.Fatalf("got %+v", m)
	}
}

// T21: schemas that every client accepts.
func TestToolsListIsPlain(t *testing.T) {
	root, _ := space(t)
	out, in := served(t, mcpserver.Config{Spaces: []string{root}})
	w := newWire(t, out, in)
	w.hello()
	var lists [2]string
	for i := range lists {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i))
		_, lists[i], _ = strings.Cut(string(w.line()), `"result":`)
	}
	if lists[0] != lists[1] || len(lists[0]) >= 12<<10 {
		t.Errorf("order changes, or %d bytes", len(lists[0]))
	}
	t.Logf("tools/list has %d bytes", len(lists[0]))
	var got struct{ Tools []map[string]any }
	json.NewDecoder(strings.NewReader(lists[0])).Decode(&got)
	want := strings.Fields("about check_turn end_thread invite list_threads new_thread offer quiet read_thread reorder_turns " +
		"resume_thread set_next set_topic transcript_manifest wait_for_turn write_entry")
	if len(got.Tools) != len(want) {
		t.Fatalf("%d tools", len(got.Tools))
	}
	for i, tool := range got.Tools {
		if tool["name"] != want[i] || tool["description"] == "" {
			t.Errorf("got %v, want %s", tool["name"], want[i])
		}
		hints, _ := tool["annotations"].(map[string]any)
		for _, hint := range []string{"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"} {
			if _, ok := hints[hint].(bool); !ok {
				t.Errorf("%s: %s is %v", want[i], hint, hints[hint])
			}
		}
		for _, which := range []string{"inputSchema", "outputSchema"} {
			schema, _ := tool[which].(map[string]any)
			if schema["type"] != "object" || schema["properties"] == nil {
				t.Errorf("%s: %s is %v", want[i], which, schema)
			}
			plain(t, want[i]+" "+which, schema)
		}
	}
}

func plain(t *testing.T, where string, schema map[string]any) {
	if _, ok := schema["type"].(string); !ok {
		t.Errorf("%s: type is %v", where, schema["type"])
	}
	if required, ok := schema["required"]; ok {
		if _, ok := required.([]any); !ok {
			t.Errorf("%s: required is %v", where, required)
		}
	}
	for key := range schema {
		if !strings.Contains(" type properties required items description additionalProperties ", " "+key+" ") {
			t.Errorf("%s: %s", where, key)
		}
	}
	for name, p := range schema["properties"].(map[string]any) {
		p := p.(map[string]any)
		if p["properties"] == nil {
			p["properties"] = map[string]any{}
		}
		plain(t, where+" "+name, p)
	}
}

// T22, T23.
func TestHandshakes(t *testing.T) {
	root, _ := space(t)
	for version, want := range map[string]string{"2099-01-01": "2025-11-25", "2024-11-05": "2024-11-05", "": "2025-11-25"} {
		out, in := served(t, mcpserver.Config{Spaces: []string{root}})
		w := newWire(t, out, in)
		w.send(fmt.Sprintf(hello, version))
		if m := w.reply("init"); m.Result["protocolVersion"] != want {
			t.Errorf("%s: %+v", version, m)
		}
	}
	out, in := served(t, mcpserver.Config{Spaces: []string{root}})
	w := newWire(t, out, in)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/clientCapabilities":{}}}}`)
	if m := w.reply(1.0); m.Result == nil || !strings.Contains(fmt.Sprint(m.Result), "2026-07-28") {
		t.Errorf("got %+v", m)
	}
}

func TestTheSessionSurvives(t *testing.T) {
	root, _ := space(t)
	out, in := served(t, mcpserver.Config{Spaces: []string{root}})
	w := newWire(t, out, in)
	w.hello()
	tool := func(id int, name, arguments string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, arguments)
	}
	for i, c := range []struct {
		line string
		id   any
		code int
	}{
		{`not json`, nil, -32700},
		{`{"jsonrpc":"2.0","id":5,"method":`, nil, -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"\xff\"}", nil, -32700},
		{`[]`, nil, -32600},
		{`[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, nil, -32600},
		{`5`, nil, -32600},
		{`null`, nil, -32600},
		{`{"id":5,"method":"ping"}`, 5.0, -32600},
		{`{"jsonrpc":"1.0","id":"x","method":"ping"}`, "x", -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, nil, -32600},
		{`{"jsonrpc":"2.0","id":6,"method":"no/such"}`, 6.0, -32601},
		{tool(7, "no_such", "{}"), 7.0, -32602},
		{`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":[]}`, 8.0, -32602},
		{strings.Repeat("[", 100_000), nil, -32700},
		{tool(9, "check_turn", `{"thread":`+strings.Repeat("[", 5000)+strings.Repeat("]", 5000)+`}`), 9.0, -32600},
		{`{"jsonrpc":"2.0","id":10,"method":"ping","params":{"x":"` + strings.Repeat("x", 53<<20) + `"}}`, nil, -32600},
	} {
		w.send(c.line)
		if m := w.reply(c.id); m.Error.Code != c.code {
			t.Errorf("%d: %.80s: %+v", i, c.line, m)
		}
		w.alive()
	}
	w.send(`{"jsonrpc":"2.0","method":"notifications/no_such"}`)
	w.send(`{"jsonrpc":"2.0","id":11,"result":"of nothing"}`)
	w.send("")
	w.alive()
	w.send(tool(12, "write_entry", `{"thread":"design","participant_name":"ann","content":"`+strings.Repeat("x", 10<<20)+`"}`))
	if m := w.reply(12.0); m.Result["isError"] != true {
		t.Errorf("10 MB: %+v", m)
	}
	w.alive()
}

// T25.
func TestACancelledWaitIsGone(t *testing.T) {
	root, _ := space(t)
	out, in := served(t, mcpserver.Config{Spaces: []string{root}})
	w := newWire(t, out, in)
	w.hello()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_for_turn","arguments":{"thread":"design","participant_name":"ben"}}}`)
	w.alive()
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	w.reply(1.0) // of no interest to the client, but it says that the wait has ended
	w.alive()
}

func descriptors() int {
	all, _ := os.ReadDir("/proc/self/fd")
	return len(all)
}

func watches() (n int) {
	all, _ := os.ReadDir("/proc/self/fdinfo")
	for _, fd := range all {
		info, _ := os.ReadFile("/proc/self/fdinfo/" + fd.Name())
		n += strings.Count(string(info), "inotify wd:")
	}
	return n
}

func TestTwoHundredDroppedWaitsLeaveNothing(t *testing.T) {
	root, _ := space(t)
	out, in := served(t, mcpserver.Config{Spaces: []string{root}})
	w := newWire(t, out, in)
	w.hello()
	w.alive()
	measure := func() [3]int { return [3]int{runtime.NumGoroutine(), descriptors(), watches()} }
	before := measure()
	for i := range 200 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"w%d","method":"tools/call","params":{"_meta":{"progressToken":%d},`+
			`"name":"wait_for_turn","arguments":{"thread":"design","participant_name":"ben"}}}`, i, i))
	}
	w.alive()
	during := measure()
	for i := range 200 {
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w%d"}}`, i))
	}
	for range 200 {
		for m := w.next(); m.Method != ""; m = w.next() {
		}
	}
	var after [3]int
	for range 3000 {
		if after = measure(); after[0] <= before[0] && after[1] <= before[1] && after[2] <= before[2] {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Logf("goroutines, descriptors, watches: %v before, %v with 200 waits, %v after", before, during, after)
	if after[0] > before[0] || after[1] > before[1] || after[2] > before[2] {
		t.Errorf("%v became %v", before, after)
	}
	w.alive()
}

func TestTheEndOfInputEndsTheChild(t *testing.T) {
	root, _ := space(t)
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "MCPSERVER_CHILD="+root)
	in, _ := child.StdinPipe()
	out, _ := child.StdoutPipe()
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	w := newWire(t, out, in)
	w.hello()
	w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait_for_turn","arguments":{"thread":"design","participant_name":"ben"}}}`)
	w.alive()
	// What was asked before the end is answered after it.
	w.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"about"}}`)
	began := time.Now()
	in.Close()
	answered := map[any]bool{}
	for range 2 {
		answered[w.next().ID] = true
	}
	if err := child.Wait(); err != nil || !answered[1.0] || !answered[2.0] {
		t.Error(err, answered)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("after %v", took)
	}
}

func TestAWaitEndsWithTheTurnAndReportsProgress(t *testing.T) {
	root, rooms := space(t)
	cs := session(t, mcpserver.Config{Spaces: []string{root}}, nil)
	got := make(chan result)
	go func() { got <- call(t, cs, "wait_for_turn", args{"thread": "design", "participant_name": "ben"}) }()
	time.Sleep(50 * time.Millisecond)
	began := time.Now()
	if _, err := rooms.Post(t.Context(), store.Key{Space: root, Room: "design"}, room.Draft{As: "ann", Body: "over to you"}); err != nil {
		t.Fatal(err)
	}
	if r := must(t, <-got); r.facts["your_turn"] != true || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %v", r.facts, time.Since(began))
	}
}

func TestProgress(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 12 s")
	}

	root, _ := space(t)
	heard := make(chan float64, 9)
	cs := session(t, mcpserver.Config{Spaces: []string{root}}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) { heard <- r.Params.Progress },
	})
	p := &mcp.CallToolParams{Name: "wait_for_turn", Arguments: args{"thread": "design", "participant_name": "ben", "timeout_secs": 11}}
	p.SetProgressToken("t")
	if _, err := cs.CallTool(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if len(heard) != 1 || <-heard != 10 {
		t.Errorf("heard %d times", len(heard))
	}
}

// FuzzFrame sends any line; the session answers the next call all the same.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		"", "{", "[]", "null", `"x"`, "\xff", `{"jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"about","arguments":null}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		`{"jsonrpc":"2.0","id":null,"method":"tools/call","params":{"name":"check_turn","arguments":{"thread":"\ud800"}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":1e99,"method":"resources/read","params":{"uri":"substrate://room/%/x/transcript"}}`,
	} {
		f.Add([]byte(seed))
	}
	root, _ := space(f)
	out, in := served(f, mcpserver.Config{Spaces: []string{root}})
	w := newWire(f, out, in)
	w.hello()
	f.Fuzz(func(t *testing.T, frame []byte) {
		w.TB = t
		in.Write(append(frame, '\n'))
		w.alive()
	})
}
