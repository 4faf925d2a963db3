package preset

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// A preset that is not there may be replaced by another, one that is there and
// cannot be used never is. All that falls back hangs on telling these apart.
var (
	ErrMissing   = errors.New("preset not found")
	ErrMalformed = errors.New("preset is malformed")
)

// Preset is a preset that was loaded.
type Preset struct {
	Ref          string // how it was named
	Path         string // absolute
	Name         string // for display
	Description  map[string]any
	LLM          map[string]any // without context_limit
	Limit        int64          // what its context holds, in tokens; 0: unknown
	Capabilities map[string]any

	doc *Doc
}

// Load reads the preset that ref names: an absolute path, one below ~, or one
// relative to dir, with its suffix. An error is ErrMissing or ErrMalformed, the
// latter also for a ref that cannot name a preset at all.
func (h Host) Load(dir, ref string) (*Preset, error) {
	if !suffixed(ref) {
		return nil, malformed(ref, "a preset is named by its path, which ends in .json or .jsonc")
	}
	path, err := h.expand(ref, dir)
	if err != nil {
		return nil, malformed(ref, err.Error())
	}
	data, err := disk.ReadFile(path, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, fault.New(fault.BadInput, "%w: %q", ErrMissing, ref).WithHint("no file %s", path)
	case err != nil:
		return nil, malformed(ref, err.Error())
	}
	p := &Preset{Ref: ref, Path: path}
	if p.doc, err = ParseDoc(data); err != nil {
		return nil, malformed(ref, err.Error())
	}
	if bad := p.read(); bad != nil {
		return nil, malformed(ref, bad.String())
	}
	return p, nil
}

func suffixed(path string) bool {
	suffix := filepath.Ext(path)
	return suffix == ".json" || suffix == ".jsonc"
}

func malformed(ref, what string) error {
	return fault.New(fault.Corrupt, "%w: %q: %s", ErrMalformed, ref, what)
}

var (
	presetFileRules = []rule{
		optional("name", text), needed("description", object), needed("manifest", object),
	}
	descriptionRules    = []rule{needed("summary", text), oneOf("tier", "1", "2", "3", "4", "5")}
	presetManifestRules = []rule{
		needed("llm", object), needed("capabilities", object), optional("context_limit", wholeNull),
	}
)

// read takes the preset out of its text and returns the first thing that is wrong.
func (p *Preset) read() *wrong {
	top, ok := p.doc.Object()
	if !ok {
		return &wrong{what: "not an object"}
	}
	bad := check(top, presetFileRules)
	about, _ := top["description"].(map[string]any)
	manifest, _ := top["manifest"].(map[string]any)
	if len(bad) == 0 {
		bad = check(about, descriptionRules, "description")
		bad = append(bad, check(manifest, presetManifestRules, "manifest")...)
	}
	if len(bad) > 0 {
		return &bad[0]
	}
	p.Name, _ = top["name"].(string)
	p.Description, p.Capabilities = about, manifest["capabilities"].(map[string]any)
	p.LLM = maps.Clone(manifest["llm"].(map[string]any))
	if old, there := manifest["context_limit"]; there && !has(p.LLM, "context_limit") {
		p.LLM["context_limit"] = old // where it stood before
	}
	bad = check(p.LLM, append(slices.Clone(llmRules), optional("context_limit", wholeNull)), "manifest", "llm")
	bad = append(bad, blank(about, "description", "summary")...)
	bad = append(bad, blank(p.LLM, "manifest", "llm", "provider")...)
	bad = append(bad, blank(p.LLM, "manifest", "llm", "model")...)
	if bad = append(bad, shapes(p.Capabilities)...); len(bad) > 0 {
		return &bad[0]
	}
	if n, ok := p.LLM["context_limit"].(json.Number); ok {
		p.Limit, _ = n.Int64()
	}
	delete(p.LLM, "context_limit")
	return nil
}

// blank refuses a text of o, the last of path, that has nothing in it.
func blank(o map[string]any, path ...string) []wrong {
	if s, isText := o[path[len(path)-1]].(string); !isText || strings.TrimSpace(s) != "" {
		return nil
	}
	return []wrong{{path: path, what: "empty"}}
}

// shapes returns which capabilities are neither an object of arguments nor null.
func shapes(caps map[string]any) (all []wrong) {
	for _, name := range slices.Sorted(maps.Keys(caps)) {
		switch caps[name].(type) {
		case nil, map[string]any:
		default:
			all = append(all, wrong{
				path: []string{"manifest", "capabilities", name}, what: "want object or null, found " + found(caps[name]),
			})
		}
	}
	return all
}

// Model returns which model the preset talks to.
func (p *Preset) Model() record.Model {
	provider, _ := p.LLM["provider"].(string)
	model, _ := p.LLM["model"].(string)
	return record.Model{Provider: provider, Model: model}
}

// Tier returns how much is expected of it, "5" the most, or "".
func (p *Preset) Tier() string {
	tier, _ := p.Description["tier"].(string)
	return tier
}
