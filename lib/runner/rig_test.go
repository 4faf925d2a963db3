package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/control"
	"github.com/substrate-tools/substrate/lib/notice"
	"github.com/substrate-tools/substrate/lib/preset"
)

// A rig is an agent whose clock and mind are the test's. Nothing happens but by its
// calls: there is no thread but the mind's.
type rig struct {
	*testing.T
	b    body.Body
	r    *Runner
	mind *fakeMind

	mu      sync.Mutex
	wall    time.Time
	elapsed time.Duration
	said    []string
	handed  int // hand-overs
}

// fakeMind says which turn it was given and ends it when it is told to.
type fakeMind struct {
	turns chan Turn
	ends  chan error
	deaf  bool // does not end when its turn is cut off
	sign  atomic.Int64
}

func (m *fakeMind) Take(ctx context.Context, t Turn) error {
	m.turns <- t
	if m.deaf {
		return <-m.ends
	}
	select {
	case err := <-m.ends:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *fakeMind) Sign() int64 { return m.sign.Load() }

const initText = `{
  // kept as it is
  "manifest": {"llm": {"provider": "p", "model": "m"}, "agent_name": "ann", "admin": {"karma": true}, "language": "en"},
  "covenant": "be good", "pad": "",
}
`

func newRig(t *testing.T) *rig {
	t.Helper()
	b := bodytest.At(t, filepath.Join(t.TempDir(), "ann"), map[string]string{body.InitFile: initText})
	g := &rig{T: t, b: b, mind: &fakeMind{turns: make(chan Turn, 1), ends: make(chan error)}}
	g.wall = time.Date(2026, 7, 6, 13, 15, 2, 84e6, time.UTC)
	t.Cleanup(func() {
		if g.r != nil {
			g.crash()
		}
	})
	return g
}

var check = bodytest.Do

func (g *rig) options() Options {
	h := preset.Here()
	h.Now = func() time.Time { g.mu.Lock(); defer g.mu.Unlock(); return g.wall }
	h.Look = func(string) (string, bool) { return "", false }
	self, err := os.Executable()
	check(g.T, err)
	return Options{
		Mind: g.mind, Host: h, Launch: control.Launch{Program: self, Mind: "think"},
		Elapsed:  func() time.Duration { g.mu.Lock(); defer g.mu.Unlock(); return g.elapsed },
		Say:      func(err error) { g.mu.Lock(); defer g.mu.Unlock(); g.said = append(g.said, err.Error()) },
		HandOver: func() error { g.handed++; return nil },
		Patience: 50 * time.Millisecond,
	}
}

// start boots the agent.
func (g *rig) start() *rig {
	g.Helper()
	var err error
	g.r, err = Start(g.Context(), g.b, g.options())
	check(g.T, err)
	return g
}

// crash ends the agent the way kill -9 does: nothing is written.
func (g *rig) crash() {
	if g.r.turn != nil {
		g.r.turn.cut(nil)
		<-g.r.results
		select {
		case <-g.mind.turns:
		default:
		}
	}
	g.r.lease.Release()
	g.r = nil
}

// restart is a crash and a start.
func (g *rig) restart() {
	g.Helper()
	g.crash()
	g.start()
}

func (g *rig) tick(n int) {
	for range n {
		g.pass(time.Second)
		g.r.Tick(g.Context())
	}
}

// pass lets time pass, step moves the wall clock alone.
func (g *rig) pass(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wall, g.elapsed = g.wall.Add(d), g.elapsed+d
}

func (g *rig) step(d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wall = g.wall.Add(d)
}

// turn returns the turn that the mind was given; there must be one.
func (g *rig) turn() Turn {
	g.Helper()
	if g.r.turn == nil {
		g.Fatalf("no turn; the agent is %s\n%s", g.r.state, g.log())
	}
	select {
	case t := <-g.mind.turns:
		return t
	case <-time.After(time.Minute):
		g.Fatal("the mind was not given its turn")
		return Turn{}
	}
}

// none asks that the mind has no turn.
func (g *rig) none(what string) {
	g.Helper()
	if g.r.turn != nil {
		g.Fatalf("%s: a turn: %+v", what, <-g.mind.turns)
	}
}

// end ends the mind's turn.
func (g *rig) end(err error) {
	g.Helper()
	g.mind.ends <- err
	g.settle()
}

// settle hears of the end of a turn that ended by itself or was cut off.
func (g *rig) settle() {
	g.Helper()
	select {
	case err := <-g.r.results:
		g.r.Settle(g.Context(), err)
	case <-time.After(time.Minute):
		g.Fatal("the turn does not end")
	}
}

func (g *rig) state(want string) {
	g.Helper()
	if g.r.state != want {
		g.Fatalf("state %s, want %s\n%s", g.r.state, want, g.log())
	}
	if on := g.b.Manifest().State(); on != want {
		g.Errorf("state on disk %s, want %s", on, want)
	}
}

func (g *rig) publish(text string) notice.Event {
	g.Helper()
	e, _, err := notice.Open(g.b).Publish(g.Context(), notice.Event{Source: "test", Body: text}, g.wall)
	check(g.T, err)
	return e
}

func (g *rig) put(s body.Signal, text string) {
	g.Helper()
	check(g.T, g.b.Put(s, text))
}

func (g *rig) write(rel, text string) {
	g.Helper()
	bodytest.Write(g.T, g.b.Path(rel), text)
}

func (g *rig) read(rel string) string {
	g.Helper()
	data, err := os.ReadFile(g.b.Path(rel))
	if os.IsNotExist(err) {
		return ""
	}
	check(g.T, err)
	return string(data)
}

func (g *rig) log() string { return g.read(body.EventsFile) }

// logged returns the events of a type, as their lines.
func (g *rig) logged(kind string) []map[string]any {
	g.Helper()
	var all []map[string]any
	for line := range strings.Lines(g.log()) {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			g.Fatalf("%v: %q", err, line)
		}
		if e["type"] == kind {
			all = append(all, e)
		}
	}
	return all
}

// lives returns the changes of state that were logged.
func (g *rig) lives() string {
	var all []string
	for _, e := range g.logged("agent_state") {
		all = append(all, fmt.Sprintf("%s-%s", e["old"], e["new"]))
	}
	return strings.Join(all, " ")
}

func channels(t Turn) string {
	var all []string
	for _, c := range t.Channels {
		name := c.Channel
		if !c.Delivered {
			name += "!"
		}
		all = append(all, name)
	}
	return strings.Join(all, " ")
}
