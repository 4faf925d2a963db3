package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// Tool is one that a program brings along besides those of rooms. What it does is the
// program's business; what it gives is records, as everywhere.
type Tool struct {
	Name, Says string
	Takes      json.RawMessage // a schema with an object at its root
	// What clients are told, as of the tools of rooms.
	Reads, Replaces, Again bool
	// Call does it. What was done before an error is in the records all the same.
	Call func(ctx context.Context, arguments json.RawMessage) (records []json.RawMessage, err error)
}

// extraOutput is the schema of what such a tool gives, when it is not an error record.
var extraOutput = append(object("records", func(string) string { return fmt.Sprintf(objects, "") }), '}')

func (s *Server) addExtra() {
	no := false
	for _, t := range s.Tools {
		described := &mcp.Tool{
			Name: t.Name, Description: t.Says, InputSchema: t.Takes, OutputSchema: extraOutput,
			Annotations: &mcp.ToolAnnotations{
				ReadOnlyHint: t.Reads, DestructiveHint: &t.Replaces, IdempotentHint: t.Again, OpenWorldHint: &no,
			},
		}
		s.mcp.AddTool(described, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			began := time.Now()
			records, err := t.Call(ctx, req.Params.Arguments)
			s.Log("%s: %v, %d ms", t.Name, outcome(err), time.Since(began).Milliseconds())
			return recordsResult(records, err)
		})
	}
}

// recordsResult puts the records into the text and the structured content. An error
// that came after some of them is the last one: they are what was done before it.
func recordsResult(records []json.RawMessage, why error) (*mcp.CallToolResult, error) {
	if why != nil && len(records) == 0 {
		return refused(record.ErrorOf(fault.From(why))), nil
	}
	if why != nil {
		line, err := record.Encode(record.ErrorOf(fault.From(why)))
		if err != nil {
			return nil, err
		}
		records = append(records, line)
	}
	if records == nil {
		records = []json.RawMessage{} // none is a list too
	}
	all, err := record.Encode(map[string][]json.RawMessage{"records": records})
	if err != nil {
		return nil, err
	}
	all = bytes.TrimSpace(all)
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: string(all)}},
		StructuredContent: json.RawMessage(all), IsError: why != nil,
	}, nil
}
