// Package notice is an agent's notifications: .notification/<channel>.json, a mirror
// for the agent's eye of what happened elsewhere, never the truth about it. A channel
// is one file that says how things stand, not a queue; the producer of a channel owns
// what it mirrors.
//
// Every change is made under one lock, on what is there at that moment, and each file
// is replaced whole. A channel's version comes from its bytes alone.
package notice

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
)

// Channels are those that there are, besides mcp.<name> of each MCP server.
var Channels = []string{
	"bash", "btw", "cron", "email", "goal", "molt", "nudge", "post-molt", "soul", "system", "tool_loop_guard",
}

// System is the channel of events; see Publish.
const System = "system"

// mcpPrefix begins the name of an MCP server's channel.
const mcpPrefix = "mcp."

// The rules about channels that are not like the others.
const (
	protected   = "goal"      // is never dismissed; whoever set the goal ends it
	acknowledge = "post-molt" // is dismissed with a reason
)

// producers are the channels whose producer keeps track of what was read, with what
// to do instead of dismissing them.
var producers = map[string]string{
	"email": "read or dismiss the mail: substrate-mail read ID, or substrate-mail dismiss ID",
}

// Reason says which rule a refusal comes from.
type Reason string

// The reasons of refusals and, the last two, of a dismissal that cleared nothing.
const (
	InvalidChannel   Reason = "invalid_channel"
	UnknownChannel   Reason = "unknown_channel"
	MissingAckReason Reason = "missing_ack_reason"
	Protected        Reason = "protected_channel"
	ProducerGuarded  Reason = "producer_guarded"
	StaleVersion     Reason = "stale_channel_version"
	AlreadyEmpty     Reason = "already_empty"
	NoMatchingEvent  Reason = "no_matching_event"
)

// Refusal is an error that comes from one of the rules. Its message begins with the
// reason.
type Refusal struct {
	Reason  Reason
	Channel string
	err     *fault.Error
}

func (r *Refusal) Error() string { return r.err.Error() }

// Unwrap returns the error with its code.
func (r *Refusal) Unwrap() error { return r.err }

// ReasonOf returns the reason of a refusal, "" for any other error.
func ReasonOf(err error) Reason {
	var r *Refusal
	if errors.As(err, &r) {
		return r.Reason
	}
	return ""
}

func refuse(why Reason, channel string, code fault.Code, hint, format string, args ...any) error {
	err := fault.New(code, string(why)+": "+format, args...)
	if hint != "" {
		err.WithHint("%s", hint)
	}
	return &Refusal{why, channel, err}
}

// maxName is the longest name of a channel: its file's has to fit into 255 bytes.
const maxName = 200

var grammar = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// CheckName refuses what is no name of a channel.
func CheckName(channel string) error {
	if len(channel) > maxName || !grammar.MatchString(channel) || strings.Contains(channel, "..") {
		return refuse(InvalidChannel, channel, fault.BadInput,
			"a name is letters, digits and _ . - and begins with a letter or digit", "%.80q", channel)
	}
	return nil
}

// CheckKnown refuses what is no channel of ours and no MCP server's.
func CheckKnown(channel string) error {
	if err := CheckName(channel); err != nil {
		return err
	}
	if slices.Contains(Channels, channel) || strings.HasPrefix(channel, mcpPrefix) && channel != mcpPrefix {
		return nil
	}
	return refuse(UnknownChannel, channel, fault.BadInput,
		"channels are "+strings.Join(Channels, ", ")+" and mcp.<name>", "%q", channel)
}

// Version says which bytes a channel has: their number and their hash, never their
// time. "" is that of a channel that is not there.
type Version string

func versionOf(data []byte) Version {
	return Version(fmt.Sprintf("%d-%x", len(data), sha256.Sum256(data)))
}
