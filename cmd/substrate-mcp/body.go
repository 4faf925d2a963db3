package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A client lives in a body by four tools, each of which does what programs of ours do:
// an action is a command, and a key of its input an operand of that, a flag or its
// standard input. What is not in this table cannot be asked for.

// verbs is one of the tools.
type verbs struct {
	name, says string // %s in it is the body's address
	actions    []action
	keys       map[string]key
	again      bool // twice is as good as once
}

// action is what one command does. BODY in the command is the body's directory, which
// otherwise goes with --body.
type action struct{ name, command, keys string } // a key that ends with ! must be given

// key is one of an input.
type key struct {
	shape shape
	to    string // the flag; "" for an operand; what ends with fed goes to standard input
	says  string
}

const fed = "-f=-"

// shape is the JSON type of a key, and how it becomes arguments.
type shape int

const (
	text    shape = iota
	list          // one argument each
	names         // one argument, parted by commas
	yes           // the flag, when it is true
	number        // as it is written
	seconds       // a time
	object        // its JSON
)

var table = []verbs{
	{
		name: "system", says: "The life of agent %s; with karma, that of others.",
		actions: []action{
			{"sleep", "substrate-system sleep", "delay force"},
			{"lull", "substrate-system lull", "address reason"},
			{"interrupt", "substrate-system interrupt", "address reason"},
			{"suspend", "substrate-system suspend", "address reason"},
			{"cpr", "substrate-system cpr", "address reason"},
			{"clear", "substrate-system clear", "address reason"},
			{"nirvana", "substrate-system nirvana", "address reason"},
			{"refresh", "substrate-system refresh", "address reason preset revert_preset check verify"},
			{"presets", "substrate-preset list", ""},
		},
		keys: map[string]key{
			"delay": {number, "--delay", "seconds"}, "force": {yes, "--force", ""},
			"address": {text, "", "the other agent"}, "reason": {text, "--reason", ""},
			"preset": {text, "--preset", "as presets shows it"}, "revert_preset": {yes, "--revert", ""},
			"check":  {yes, "--check", "do nothing, say what is in the way"},
			"verify": {yes, "--verify", "look after one"},
		},
	},
	{
		name: "notification", says: "Notifications of agent %s.",
		actions: []action{
			{"check", "substrate-notify check", "channel"},
			{
				"put", "substrate-notify put",
				"channel! header text data icon priority instructions source ref key expect",
			},
			{"dismiss_channel", "substrate-notify dismiss-channel", "channel! force reason expect"},
			{"dismiss_event", "substrate-notify dismiss-event", "event_id!"},
			{"dismiss_ref", "substrate-notify dismiss-ref", "ref_id!"},
		},
		keys: map[string]key{
			"channel": {text, "", "system takes source and text, others header"}, "header": {text, "--header", ""},
			"text": {text, fed, ""}, "data": {object, "--json " + fed, "instead of text"},
			"icon": {text, "--icon", ""}, "priority": {text, "--priority", "low, normal, high"},
			"instructions": {text, "--instructions", ""}, "source": {text, "--source", ""},
			"ref": {text, "--ref", ""}, "key": {text, "--key", "known: not again"},
			"expect": {text, "--expect", "version"}, "force": {yes, "--force", ""},
			"reason": {text, "--reason", ""}, "event_id": {text, "", ""}, "ref_id": {text, "", ""},
		},
	},
	{
		name: "email", says: "Mail of agent %s with its peers.",
		actions: []action{
			{"send", "substrate-mail send", "to! message! subject cc bcc attachments delay id mode"},
			{
				"check", "substrate-mail check",
				"folder from subject contains after before unread_only has_attachments sort n",
			},
			{"read", "substrate-mail read", "email_id!"},
			{"dismiss", "substrate-mail dismiss", "email_id!"},
			{"archive", "substrate-mail archive", "email_id!"},
			{"delete", "substrate-mail delete", "email_id!"},
			{"reply", "substrate-mail reply", "email_id! message! attachments delay id"},
			{"search", "substrate-mail search", "regex! n"},
			{"contacts", "substrate-mail contacts", ""},
			{"add_contact", "substrate-mail contacts add", "address! name note"},
			{"edit_contact", "substrate-mail contacts edit", "address! name note"},
			{"remove_contact", "substrate-mail contacts remove", "address!"},
		},
		keys: map[string]key{
			"to": {list, "", ""}, "message": {text, fed, ""}, "subject": {text, "--subject", ""},
			"cc": {names, "--cc", ""}, "bcc": {names, "--bcc", ""}, "attachments": {list, "--attach", "files"},
			"delay": {seconds, "--delay", "seconds"}, "id": {text, "--id", "a repeated one is not sent again"},
			"mode":   {text, "--mode", "abs: to are directories"},
			"folder": {text, "--folder", "inbox, outbox, sent, archive"},
			"from":   {text, "--from", ""}, "contains": {text, "--contains", ""}, "after": {text, "--after", "time"},
			"before": {text, "--before", "time"}, "unread_only": {yes, "--unread-only", ""},
			"has_attachments": {yes, "--has-attachments", ""}, "sort": {text, "--sort", "newest, oldest"},
			"n": {number, "-n", ""}, "email_id": {list, "", ""}, "regex": {text, "", ""}, "address": {text, "", ""},
			"name": {text, "--name", ""}, "note": {text, "--note", ""},
		},
	},
	{
		name: "manifest", says: "Configuration and presets of agent %s; a refresh puts them in force.", again: true,
		actions: []action{
			{"check", "substrate-manifest check BODY", "refresh"},
			{"resolve", "substrate-manifest resolve BODY", ""},
			{"explain", "substrate-manifest explain BODY", ""},
			{"discover", "substrate-preset discover", "dirs"},
			{"swap", "substrate-preset swap", "preset! tokens"},
			{"revert", "substrate-preset revert", "tokens"},
		},
		keys: map[string]key{
			"refresh": {yes, "--refresh", "as at a refresh"}, "dirs": {list, "", "libraries"},
			"preset": {text, "", "as system presets shows it"}, "tokens": {number, "--tokens", "of the conversation"},
		},
	},
}

// schema is what clients are told that the tool takes. Which keys go with which action
// is said in a line, since few clients read more of JSON Schema than one object.
func (v verbs) schema() json.RawMessage {
	var actions, says, properties []string
	for i, a := range v.actions {
		actions = append(actions, fmt.Sprintf("%q", a.name))
		switch keys := strings.ReplaceAll(a.keys, " ", ","); {
		case i+1 < len(v.actions) && v.actions[i+1].keys == a.keys:
			says = append(says, a.name+"|")
		case keys == "":
			says = append(says, a.name+" ")
		default:
			says = append(says, a.name+"{"+keys+"} ")
		}
	}
	for _, name := range v.known() {
		properties = append(properties, fmt.Sprintf("%q:%s", name, v.keys[name].schema()))
	}
	return json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{`+
		`"action":{"type":"string","enum":[%s],"description":%q},`+
		`"input":{"type":"object","properties":{%s},"additionalProperties":false}`+
		`},"required":["action"],"additionalProperties":false}`,
		strings.Join(actions, ","), strings.TrimSpace(strings.Join(says, "")), strings.Join(properties, ",")))
}

// known returns the names of the keys, in the order of the actions.
func (v verbs) known() (all []string) {
	for _, a := range v.actions {
		for name := range strings.FieldsSeq(a.keys) {
			if name = strings.TrimSuffix(name, "!"); !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	return all
}

func (k key) schema() string {
	kind := map[shape]string{
		text: `"string"`, list: `"array","items":{"type":"string"}`, names: `"array","items":{"type":"string"}`,
		yes: `"boolean"`, number: `"number"`, seconds: `"number"`, object: `"object"`,
	}[k.shape]
	if k.says == "" {
		return `{"type":` + kind + `}`
	}
	return fmt.Sprintf(`{"type":%s,"description":%q}`, kind, k.says)
}
