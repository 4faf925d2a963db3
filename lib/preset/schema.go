package preset

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A kind is what a value must be. A bool is never a number.
type kind string

const (
	text       kind = "text"
	textOrNull kind = "text or null"
	whole      kind = "whole number"
	wholeNull  kind = "whole number or null"
	number     kind = "number"
	truth      kind = "true or false"
	object     kind = "object"
	list       kind = "list"
	texts      kind = "list of texts"
	anything   kind = "anything"
)

// A rule is what a key of an object must be.
type rule struct {
	key    string
	kind   kind
	needed bool
	least  int64    // of a whole number, when bounded
	bound  bool     // least counts
	words  []string // that a text may be
}

func needed(key string, k kind) rule   { return rule{key: key, kind: k, needed: true} }
func optional(key string, k kind) rule { return rule{key: key, kind: k} }
func atLeast(key string, k kind, least int64) rule {
	return rule{key: key, kind: k, least: least, bound: true}
}
func oneOf(key string, words ...string) rule { return rule{key: key, kind: text, words: words} }

// texted are the pairs of a text and the file that has it instead. The first two
// must be there, one way or the other.
var texted = []string{"covenant", "pad", "lingtai", "comment", "base_prompt"}

// ignoredTop are known and do nothing: these texts come with the programs.
var ignoredTop = []string{"soul", "principle", "procedures", "substrate", "brief"}

var topRules = func() []rule {
	rules := []rule{
		needed("manifest", object), optional("env_file", text), optional("venv_path", text),
		optional("addons", texts), optional("mcp", object),
	}
	for _, name := range texted {
		rules = append(rules, optional(name, text), optional(name+"_file", text))
	}
	return rules
}()

var manifestRules = []rule{
	needed("llm", object),
	optional("agent_name", textOrNull), optional("language", text), optional("admin", object),
	optional("capabilities", object), optional("disable", list), optional("soul", object),
	optional("context_limit", wholeNull), optional("max_turns", whole), optional("max_rpm", whole),
	atLeast("max_aed_attempts", whole, 1), optional("aed_timeout", number),
	atLeast("cache_miss_budget", whole, 1), atLeast("summarize_notification_threshold", whole, 0),
	optional("streaming", truth), optional("time_awareness", truth), optional("timezone_awareness", truth),
	optional("pseudo_agent_subscriptions", texts), optional("plugins", list), optional("preset", object),
}

var llmRules = []rule{
	needed("provider", text), needed("model", text),
	optional("api_key", textOrNull), optional("api_key_env", text), optional("base_url", textOrNull),
	oneOf("wire_api", "auto", "chat_completions", "responses"),
	oneOf("thinking", "none", "minimal", "low", "medium", "high", "xhigh"),
	atLeast("compact_threshold", wholeNull, 1),
	optional("api_compat", anything), optional("default_headers", anything),
}

var soulRules = []rule{
	optional("delay", number), optional("consultation_past_count", whole),
	optional("voice", textOrNull), optional("voice_prompt", textOrNull),
}

var presetRules = []rule{needed("active", text), needed("default", text), needed("allowed", list)}

// Which capabilities there are: those an agent has unless it opts out, those it
// always has, and those it has when it asks.
var (
	defaultCapabilities = []string{
		"knowledge", "skills", "shell", "avatar", "daemon", "mcp", "plugin", "task_card", "file",
	}
	residentCapabilities = []string{"email", "system", "context", "psyche", "soul", "notification"}
	optionalCapabilities = []string{"vision", "web"}

	capabilities = slices.Sorted(slices.Values(
		slices.Concat(defaultCapabilities, residentCapabilities, optionalCapabilities)))
)

// renamed are the capabilities that had another name before.
var renamed = map[string]string{"bash": "shell", "web_search": "web"}

// A wrong is one thing that is not as it must be.
type wrong struct {
	path []string
	what string
	next string // what to do about it; "" for the usual
}

func (w wrong) String() string { return Path(w.path...) + ": " + w.what }

// check holds the members of an object to rules.
func check(o map[string]any, rules []rule, at ...string) (all []wrong) {
	for _, r := range rules {
		path := append(at[:len(at):len(at)], r.key)
		value, there := o[r.key]
		what := ""
		switch {
		case !there && r.needed:
			what = "missing"
		case there:
			what = r.refuse(value)
		}
		if what != "" {
			all = append(all, wrong{path: path, what: what})
		}
	}
	return all
}

// refuse says what is wrong with a value, never the value itself.
func (r rule) refuse(v any) string {
	if !r.kind.fits(v) {
		return fmt.Sprintf("want %s, found %s", r.kind, found(v))
	}
	if n, ok := v.(json.Number); ok && r.bound {
		if i, err := strconv.ParseInt(n.String(), 10, 64); err != nil || i < r.least {
			return fmt.Sprintf("want %d or more", r.least)
		}
	}
	if s, ok := v.(string); ok && r.words != nil && !slices.Contains(r.words, s) {
		return "want one of " + strings.Join(r.words, ", ")
	}
	return ""
}

func (k kind) fits(v any) bool {
	switch v := v.(type) {
	case nil:
		return k == textOrNull || k == wholeNull || k == anything
	case bool:
		return k == truth || k == anything
	case string:
		return k == text || k == textOrNull || k == anything
	case json.Number:
		return (k == whole || k == wholeNull) && isWhole(v) || k == number && isFinite(v) || k == anything
	case map[string]any:
		return k == object || k == anything
	case []any:
		return k == list || k == anything || k == texts && !slices.ContainsFunc(v, notText)
	}
	return false
}

func notText(v any) bool {
	_, ok := v.(string)
	return !ok
}

func isWhole(n json.Number) bool {
	_, err := strconv.ParseInt(n.String(), 10, 64)
	return err == nil
}

func isFinite(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && !math.IsInf(f, 0)
}

// found names what a value is.
func found(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case string:
		return "a text"
	case json.Number:
		switch {
		case !isFinite(v):
			return "a number that is too large"
		case !isWhole(v):
			return "a number that is not whole, or too large"
		}
		return "a number"
	case []any:
		if i := slices.IndexFunc(v, notText); i >= 0 {
			return "a list whose item " + strconv.Itoa(i) + " is " + found(v[i])
		}
		return "a list"
	}
	return "an object"
}

// checkInit holds a whole effective init.json to the schema.
func checkInit(top map[string]any) []wrong {
	all := check(top, topRules)
	for _, name := range texted[:2] {
		if !has(top, name) && !has(top, name+"_file") {
			next := "give " + name + " or " + name + "_file"
			all = append(all, wrong{path: []string{name}, what: "missing", next: next})
		}
	}
	manifest, _ := top["manifest"].(map[string]any)
	all = append(all, check(manifest, manifestRules, "manifest")...)
	if llm, ok := manifest["llm"].(map[string]any); ok {
		all = append(all, checkLLM(llm, has(top, "env_file"), "manifest", "llm")...)
	}
	if soul, ok := manifest["soul"].(map[string]any); ok {
		all = append(all, check(soul, soulRules, "manifest", "soul")...)
	}
	if caps, ok := manifest["capabilities"].(map[string]any); ok {
		all = append(all, checkCapabilities(caps)...)
	}
	return append(all, checkBlock(manifest)...)
}

func checkLLM(llm map[string]any, envFile bool, at ...string) []wrong {
	all := check(llm, llmRules, at...)
	key, _ := llm["api_key"].(string)
	if _, env := llm["api_key_env"].(string); env && key == "" && !envFile {
		all = append(all, wrong{
			path: []string{"env_file"}, what: "missing: " + Path(append(at, "api_key_env")...) + " needs it",
			next: "name the file that sets the variable in env_file, or give api_key",
		})
	}
	return all
}

func checkCapabilities(caps map[string]any) (all []wrong) {
	for _, name := range slices.Sorted(maps.Keys(caps)) {
		args, ok := caps[name].(map[string]any)
		if !ok || name != "skills" {
			continue
		}
		at := []string{"manifest", "capabilities", name}
		all = append(all, check(args, []rule{optional("paths", texts)}, at...)...)
		for _, key := range slices.Sorted(maps.Keys(args)) {
			if key != "paths" {
				all = append(all, wrong{path: append(at, key), what: "skills takes paths only"})
			}
		}
	}
	return all
}

// checkBlock holds manifest.preset, when it is there, to its rules. The names are
// compared as they are written.
func checkBlock(manifest map[string]any) []wrong {
	block, ok := manifest["preset"].(map[string]any)
	if !ok {
		return nil // absent, or refused as no object
	}
	at := []string{"manifest", "preset"}
	all := check(block, presetRules, at...)
	if has(block, "path") && !has(block, "active") {
		all[0].next = "path is the old name: give active, default and allowed"
	}
	allowed, isList := block["allowed"].([]any)
	blank := func(v any) bool { s, ok := v.(string); return !ok || s == "" }
	if isList && (len(allowed) == 0 || slices.ContainsFunc(allowed, blank)) {
		what := "want a list of one or more texts, none of them empty"
		all = append(all, wrong{path: append(at, "allowed"), what: what})
	}
	for _, key := range []string{"active", "default"} {
		switch s, isText := block[key].(string); {
		case !isText:
		case s == "":
			all = append(all, wrong{path: append(at[:2:2], key), what: "empty"})
		case isList && !slices.Contains(allowed, any(s)):
			all = append(all, wrong{
				path: append(at[:2:2], key), what: "not in manifest.preset.allowed",
				next: "add the same path to manifest.preset.allowed",
			})
		}
	}
	return all
}
