package notice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"time"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// The inbox of files: a producer, an MCP server or any program, puts an event in
// .mcp_inbox/<server>/<id>.json by renaming a complete file, and goes away. The agent
// takes it from there; see Intake.

const (
	maxDropped = 1 << 20 // the largest event, in bytes
	maxSubject = 200     // characters
)

// Dropped is an event in an inbox of files, version 1 of its form.
type Dropped struct {
	ID         string // its file's name without .json; "" makes one
	From       string
	Subject    string // at most 200 characters
	Body       string
	Metadata   any    // nil leaves it out
	Quiet      bool   // does not wake an agent that sleeps
	ReceivedAt string // "" is when it is taken
}

// dropped is how an event is written. A pointer tells what is missing from what is
// empty.
type dropped struct {
	Version    json.Number     `json:"licc_version"`
	From       *string         `json:"from"`
	Subject    *string         `json:"subject"`
	Body       *string         `json:"body"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	Wake       *bool           `json:"wake"`
	ReceivedAt string          `json:"received_at,omitempty"`
}

// ParseDropped reads an event. It says what is wrong with one that is invalid.
func ParseDropped(data []byte) (Dropped, error) {
	if _, err := body.ParseObject(data); err != nil {
		return Dropped{}, err
	}
	var in dropped
	if err := json.Unmarshal(data, &in); err != nil {
		return Dropped{}, err
	}
	switch {
	case in.Version != "1":
		return Dropped{}, fmt.Errorf("licc_version is 1, not %.20q", in.Version)
	case in.From == nil || *in.From == "":
		return Dropped{}, errors.New("no from")
	case in.Subject == nil:
		return Dropped{}, errors.New("no subject")
	case utf8.RuneCountInString(*in.Subject) > maxSubject:
		return Dropped{}, fmt.Errorf("subject of more than %d characters", maxSubject)
	case in.Body == nil:
		return Dropped{}, errors.New("no body")
	}
	e := Dropped{From: *in.From, Subject: *in.Subject, Body: *in.Body, ReceivedAt: in.ReceivedAt}
	e.Quiet = in.Wake != nil && !*in.Wake
	if len(in.Metadata) > 0 && string(in.Metadata) != "null" {
		e.Metadata = in.Metadata
	}
	return e, nil
}

// Drop puts an event in a body's inbox, as its producer: whole, durable, and once
// while one of its ID is there. Anybody may, whether or not the agent runs.
func Drop(b body.Body, server string, e Dropped, now time.Time) (path string, err error) {
	if err := CheckKnown(mcpPrefix + server); err != nil {
		return "", err
	}
	if e.ID == "" {
		e.ID = fmt.Sprintf("%013x-%08x", now.UnixMilli(), rand.Uint32())
	}
	if len(e.ID) > maxName || !grammar.MatchString(e.ID) {
		return "", fault.New(fault.BadInput, "no ID of an event: %.80q", e.ID)
	}
	wake := !e.Quiet
	out := dropped{Version: "1", From: &e.From, Subject: &e.Subject, Body: &e.Body, Wake: &wake}
	out.ReceivedAt = e.ReceivedAt
	if e.Metadata != nil {
		if out.Metadata, err = record.Encode(e.Metadata); err != nil {
			return "", fault.New(fault.BadInput, "metadata: %w", err)
		}
	}
	line, err := record.Encode(out)
	if err != nil {
		return "", err
	}
	if _, err := ParseDropped(line); err != nil {
		return "", fault.New(fault.BadInput, "no event: %w", err)
	}
	if len(line) > maxDropped {
		return "", fault.New(fault.TooLarge, "event of %d bytes, more than %d", len(line), maxDropped)
	}
	dir, err := b.Make(filepath.Join(body.DropDir, server))
	if err != nil {
		return "", err
	}
	path = filepath.Join(dir, e.ID+".json")
	if err := disk.Create(path, line); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", err
	}
	return path, nil
}
