package mcpserver

import (
	"context"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/store"
)

// tool is one tool. takes and gives name arguments and results; see object.
type tool struct {
	name, says   string
	takes, gives string
	words        map[string]string // arguments that mean something else here
	// What clients are told so that they ask people no more than needed: it only
	// reads; it replaces what was there; twice is as good as once.
	reads, replaces, again bool
	run                    func(*call, context.Context) (answer, error)
}

const (
	here     = " space"
	acting   = " space participant_name"
	aRoom    = "thread status current"
	anOrder  = aRoom + " turn_order"
	moderate = " Moderator only."
)

// tools are all there are, in the order of their names, which is the SDK's too.
var tools = []tool{
	{
		name: "about", says: "Rules, spaces, participants. Call it first.", takes: here, gives: "rules you spaces",
		reads: true, again: true, run: (*call).about,
	},
	{
		name: "check_turn", says: "Whose turn it is in a room, and its version.",
		takes: "thread!" + acting, gives: anOrder + " your_turn",
		reads: true, again: true, run: (*call).check,
	},
	{
		name: "end_thread", says: "Close a room to entries." + moderate, takes: "thread!" + acting, gives: aRoom,
		replaces: true, again: true, run: (*call).end,
	},
	{
		name: "invite", says: "Append a participant to the turn order." + moderate,
		takes: "thread! name!" + acting, gives: anOrder,
		again: true, run: (*call).invite,
	},
	{
		name: "list_threads", says: "Rooms and who holds each floor; 100 at a time.",
		takes: "after" + here, gives: "rooms after",
		reads: true, again: true, run: (*call).list,
	},
	{
		name: "new_thread", says: "Open a room.",
		takes: "name! topic! moderator turn_order" + acting, gives: anOrder,
		words: map[string]string{"name": "of the room: a-z 0-9 -"}, again: true, run: (*call).open,
	},
	{
		name: "offer", says: "A bounded excerpt for a participant: the newest whole entries that fit.",
		takes: "thread! policy from_entry through_entry max_bytes" + acting, gives: "thread topic text next_entry",
		reads: true, again: true, run: (*call).offer,
	},
	{
		name: "quiet", says: "Skip a participant for some turns." + moderate,
		takes: "thread! name! turns!" + acting, gives: aRoom,
		again: true, run: (*call).quiet,
	},
	{
		name: "read_thread", says: "Transcript text. When next_entry is not empty, call again with it as from_entry.",
		takes: "thread! last_n from_line from_entry through_entry max_bytes" + here, gives: "thread current status text next_entry",
		reads: true, again: true, run: (*call).read,
	},
	{
		name: "reorder_turns", says: "Replace the turn order." + moderate,
		takes: "thread! order!" + acting, gives: anOrder,
		replaces: true, again: true, run: (*call).order,
	},
	{
		name: "resume_thread", says: "Open an ended room again." + moderate,
		takes: "thread!" + acting, gives: aRoom,
		again: true, run: (*call).resume,
	},
	{
		name: "set_next", says: "Give the floor to a participant." + moderate,
		takes: "thread! name!" + acting, gives: aRoom,
		again: true, run: (*call).next,
	},
	{
		name: "set_topic", says: "Replace the topic." + moderate, takes: "thread! topic!" + acting, gives: aRoom,
		replaces: true, again: true, run: (*call).topic,
	},
	{
		name: "transcript_manifest", says: "Names, authors, lines, sizes and hashes of entries; 200 at a time.",
		takes: "thread! from_entry" + here, gives: "thread entries next_entry", reads: true, again: true, run: (*call).manifest,
	},
	{
		name: "wait_for_turn", says: "Block until it is your turn. With timed_out, call again.",
		takes: "thread! timeout_secs" + acting, gives: aRoom + " your_turn timed_out", reads: true, again: true, run: (*call).wait,
	},
	{
		name: "write_entry", says: "Append an entry on your turn; the floor moves on.",
		takes: "thread! content! expect_version id next" + acting, gives: "thread entry next", run: (*call).write,
	},
}

func (s *Server) addTools() {
	for _, t := range tools {
		s.mcp.AddTool(t.described(), func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.call(ctx, t, req)
		})
	}
}

// call is one call of a tool.
type call struct {
	values
	server *Server
	req    *mcp.CallToolRequest
	door   *door.Door // nil in about, which is about all of them
}

func (s *Server) call(ctx context.Context, t tool, req *mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
	began := time.Now()
	c := &call{server: s, req: req}
	var a answer
	if c.values, err = t.read(req.Params.Arguments); err == nil && t.name != "about" {
		c.door, err = s.door(c.Space)
	}
	if err == nil {
		a, err = t.run(c, ctx)
	}
	if err == nil {
		res, err = a.result()
	}
	s.Log("%s as %q in %q: %v, %d ms", t.name, c.Participant, c.Thread, outcome(err), time.Since(began).Milliseconds())
	if err != nil {
		return refusal(c.locate(ctx, fault.From(err))), nil
	}
	return res, nil
}

func outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return fmt.Sprintf("%s: %v", fault.From(err).Code, err)
}

// key is the room a call is about.
func (c *call) key() store.Key { return c.door.Key(c.Thread) }

// actor is who acts: the owner of the key the client came with, else whom the call
// names, else the server's default. It is never inferred from anything.
func (c *call) actor() (string, error) {
	owner := ""
	if c.req.Extra != nil && c.req.Extra.TokenInfo != nil {
		owner = c.req.Extra.TokenInfo.UserID
	}
	switch {
	case owner != "" && c.Participant != "" && c.Participant != owner:
		return "", fault.New(fault.Denied, "this key belongs to %q, not to %q", owner, c.Participant).
			WithHint("leave participant_name out")
	case owner != "":
		c.Participant = owner
	case c.Participant == "":
		c.Participant = c.server.Name
	}
	if c.Participant == "" {
		return "", fault.New(fault.Usage, "who acts? this server has no default name").
			WithHint("give participant_name; about lists who is registered")
	}
	return c.Participant, nil
}
