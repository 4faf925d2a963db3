package preset

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// carriers are keys besides those of body.Secret whose values are secrets: headers,
// which default_headers passes through, and plurals.
var carriers = []string{
	"authorization", "proxyauthorization", "cookie", "apikeys", "passwords", "privatekeys", "accesskeys",
}

// secretKey reports whether what stands under a key is to be shown nowhere.
func secretKey(key string) bool {
	compact := strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(key))
	return body.Secret(key) || slices.Contains(carriers, compact)
}

// safe returns a copy of what stands under a key without secret-bearing keys, at any
// depth, and with URLs cut to what names a place.
func safe(v any, key string) any {
	switch v := v.(type) {
	case map[string]any:
		o := make(map[string]any, len(v))
		for key, value := range v {
			if !secretKey(key) {
				o[key] = safe(value, key)
			}
		}
		return o
	case []any:
		l := make([]any, len(v))
		for i, value := range v {
			l[i] = safe(value, key)
		}
		return l
	case string:
		if strings.HasSuffix(key, "url") {
			return body.SafeURL(v)
		}
	}
	return v
}

// shaped are values that are keys by their looks, wherever they stand. What is shown
// to people leaves them out as well; in a file for programs only the name counts.
var shaped = regexp.MustCompile(`\b(sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[a-z]-[\w-]{10,}|` +
	`AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+|(?i:bearer) +[\w.~+/-]{16,}|` +
	`\d{8,10}:[\w-]{35})`)

// hasKey reports whether there is a value in v that looks like a key.
func hasKey(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, value := range v {
			if hasKey(value) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, hasKey)
	case string:
		return shaped.MatchString(v)
	}
	return false
}

// Manifest returns the effective manifest without secrets.
func (c *Config) Manifest() map[string]any {
	return safe(c.init["manifest"], "").(map[string]any)
}

// resolvedFile is system/manifest.resolved.json, what others may read instead of
// resolving presets themselves. It is never an input here.
type resolvedFile struct {
	Schema      string         `json:"schema"`
	Version     int            `json:"schema_version"`
	GeneratedAt string         `json:"generated_at"`
	Source      string         `json:"source"`
	Manifest    map[string]any `json:"manifest"`
	Preset      *presetFile    `json:"preset"`
}

// presetFile is the presets of a resolved manifest, with where the active one lies.
type presetFile struct {
	*body.PresetRefs
	Path string `json:"path"`
}

// WriteResolved writes system/manifest.resolved.json: whole, or not at all.
func (h Host) WriteResolved(r *Reading) (record.Resolved, error) {
	if err := r.Err(); err != nil {
		return record.Resolved{}, err
	}
	c := r.Config
	file := resolvedFile{
		Schema: "lingtai.manifest.resolved/v1", Version: 1, GeneratedAt: stamp.Seconds(h.Now()), Source: "kernel",
		Manifest: c.Manifest(),
	}
	path := filepath.Join(c.Dir, body.ResolvedFile)
	out := record.Resolved{Type: "resolved", Dir: c.Dir, Path: path, Outcome: r.Outcome}
	if refs := c.Preset(); refs != nil {
		file.Preset = &presetFile{refs, c.given.Path}
		out.Preset = refs.Active
	}
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(file); err != nil {
		return out, err
	}
	b, err := body.Open(c.Dir)
	if err != nil {
		return out, err
	}
	if _, err := b.Make(body.SystemDir); err != nil {
		return out, err
	}
	return out, disk.Replace(path, text.Bytes())
}
