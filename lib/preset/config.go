package preset

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/record"
)

// Config is what an agent runs on: a reading that did not fail.
type Config struct {
	Dir string

	init  map[string]any    // effective: materialised, checked, its paths resolved
	from  map[string]string // dotted path: "preset", "inherit" or "default", where it is not init.json
	given *Preset           // nil without presets
}

// defaults are what counts where nothing is said.
var defaults = map[string]any{
	"max_aed_attempts": 3, "aed_timeout": 360, "cache_miss_budget": 1000000,
	"summarize_notification_threshold": 3000, "pseudo_agent_subscriptions": []string{"../human"},
}

// value returns what is at a path, the default where nothing is.
func (c *Config) value(path ...string) any {
	var v any = c.init
	for _, key := range path {
		o, _ := v.(map[string]any)
		v = o[key]
	}
	if v == nil && len(path) == 2 && path[0] == "manifest" && defaults[path[1]] != nil {
		v, _ = plain(defaults[path[1]]) // always encodes
	}
	return v
}

// Text returns a text, "" where there is none; path is from the top, such as
// "manifest", "language".
func (c *Config) Text(path ...string) string {
	s, _ := c.value(path...).(string)
	return s
}

// Int returns a whole number, otherwise where there is none.
func (c *Config) Int(otherwise int64, path ...string) int64 {
	n, _ := c.value(path...).(json.Number)
	if i, err := n.Int64(); err == nil {
		return i
	}
	return otherwise
}

// Float returns a number, otherwise where there is none.
func (c *Config) Float(otherwise float64, path ...string) float64 {
	n, _ := c.value(path...).(json.Number)
	if f, err := n.Float64(); err == nil {
		return f
	}
	return otherwise
}

// Seconds returns a number of seconds, otherwise where there is none, or none that
// is above 0.
func (c *Config) Seconds(otherwise time.Duration, path ...string) time.Duration {
	switch f := c.Float(0, path...) * float64(time.Second); {
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f > 0:
		return time.Duration(f)
	}
	return otherwise
}

// Bool returns a truth, otherwise where there is none.
func (c *Config) Bool(otherwise bool, path ...string) bool {
	if b, ok := c.value(path...).(bool); ok {
		return b
	}
	return otherwise
}

// Texts returns a list of texts.
func (c *Config) Texts(path ...string) (all []string) {
	items, _ := c.value(path...).([]any)
	for _, item := range items {
		if s, ok := item.(string); ok {
			all = append(all, s)
		}
	}
	return all
}

// Object returns a copy of an object, nil where there is none.
func (c *Config) Object(path ...string) map[string]any {
	o, _ := clone(c.value(path...)).(map[string]any)
	return o
}

// Limit returns how many tokens the model's context holds, 0 when unknown.
func (c *Config) Limit() int64 { return c.Int(0, "manifest", "context_limit") }

// Preset returns which presets the agent may use and has, nil where there are none.
// Active is the one in use: where its file is missing, the default.
func (c *Config) Preset() *body.PresetRefs {
	if c.given == nil {
		return nil
	}
	at := []string{"manifest", "preset"}
	return &body.PresetRefs{
		Active:  c.Text(append(at, "active")...),
		Default: c.Text(append(at, "default")...),
		Allowed: c.Texts(append(at, "allowed")...),
	}
}

// Capabilities returns what the agent can do, sorted: what it always can, the
// defaults it did not opt out of, and what it asked for, with their arguments, in
// which there may be secrets.
func (c *Config) Capabilities() []body.Capability {
	caps := c.Object("manifest", "capabilities")
	off := c.Texts("manifest", "disable")
	var all []body.Capability
	for _, name := range capabilities {
		v, there := caps[name]
		resident := slices.Contains(residentCapabilities, name)
		switch {
		case resident:
		case there && v == nil, slices.Contains(off, name):
			continue
		case !there && !slices.Contains(defaultCapabilities, name):
			continue
		}
		args, _ := v.(map[string]any)
		all = append(all, body.Capability{Name: name, Args: args})
	}
	return all
}

// Has reports whether the agent has a capability.
func (c *Config) Has(capability string) bool {
	return slices.ContainsFunc(c.Capabilities(), func(c body.Capability) bool { return c.Name == capability })
}

// LLM returns which model the agent talks to, without its key.
func (c *Config) LLM() body.LLM {
	at := func(key string) string { return c.Text("manifest", "llm", key) }
	llm := body.LLM{
		Provider: at("provider"), Model: at("model"), BaseURL: body.SafeURL(at("base_url")),
		APICompat: at("api_compat"),
	}
	if n := int(c.Limit()); n > 0 {
		llm.ContextLimit = &n
	}
	return llm
}

// Prompt returns one of the texts that init.json has for the prompt, and where it
// was: a file that is there comes before the text beside it. It returns "" for
// both when there is none.
func (c *Config) Prompt(name string) (text, source string, err error) {
	if file := c.Text(name + "_file"); file != "" {
		data, err := disk.ReadFile(file, maxFile)
		if err == nil {
			return string(data), file, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", "", fmt.Errorf("%s_file: %w", name, err)
		}
	}
	if text = c.Text(name); text == "" {
		return "", "", nil
	}
	return text, filepath.Join(c.Dir, body.InitFile), nil
}

// SkillPaths returns the directories of skills that are configured, absolute.
func (c *Config) SkillPaths(h Host) (paths []string, bad []error) {
	for _, path := range c.Texts("manifest", "capabilities", "skills", "paths") {
		at, err := h.expand(path, c.Dir)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		paths = append(paths, at)
	}
	return paths, bad
}

// source returns where the value at a path comes from.
func (c *Config) source(path []string) string {
	for i := len(path); i > 0; i-- {
		if from := c.from[Path(path[:i]...)]; from != "" {
			return from
		}
	}
	return "init"
}

// Explain returns every effective value and where it comes from, sorted by path.
// Secrets are not among them, but that there is one is.
func (r *Reading) Explain() ([]record.Setting, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	return r.Config.settings(), nil
}

func (c *Config) settings() []record.Setting {
	var all []record.Setting
	c.explain(c.init, nil, false, &all)
	for key, v := range defaults {
		if o, _ := c.init["manifest"].(map[string]any); o[key] == nil {
			v, _ = plain(v)
			all = append(all, c.setting(v, []string{"manifest", key}, "default", false))
		}
	}
	for _, have := range c.Capabilities() {
		if o := c.Object("manifest", "capabilities"); !has(o, have.Name) {
			at := []string{"manifest", "capabilities", have.Name}
			all = append(all, c.setting(map[string]any{}, at, "default", false))
		}
	}
	slices.SortFunc(all, func(a, b record.Setting) int { return strings.Compare(a.Path, b.Path) })
	return all
}

func (c *Config) explain(v any, path []string, secret bool, all *[]record.Setting) {
	if o, ok := v.(map[string]any); ok && len(o) > 0 && !secret {
		for _, key := range slices.Sorted(maps.Keys(o)) {
			// What a server is started with is where people put its keys.
			server := len(path) == 2 && path[0] == "mcp" && slices.Contains([]string{"args", "env", "headers"}, key)
			c.explain(o[key], append(path[:len(path):len(path)], key), secretKey(key) || server, all)
		}
		return
	}
	*all = append(*all, c.setting(v, path, c.source(path), secret || hasKey(v)))
}

func (c *Config) setting(v any, path []string, source string, secret bool) record.Setting {
	s := record.Setting{Type: "setting", Path: Path(path...), Source: source, Secret: secret}
	switch {
	case source == "preset" || source == "inherit" && c.given != nil:
		s.File = c.given.Path
	case source != "default":
		s.File = filepath.Join(c.Dir, body.InitFile)
	}
	if secret {
		v = "withheld"
	}
	value, _ := record.Encode(safe(v, path[len(path)-1])) // it was decoded from JSON
	s.Value = json.RawMessage(strings.TrimSuffix(string(value), "\n"))
	return s
}
