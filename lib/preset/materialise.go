package preset

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// materialise puts the active preset's model and capabilities in their place. One
// that is missing may be replaced by the default, in memory; one that is there and
// cannot be used never is.
func (r *reader) materialise([]byte) *stop {
	block, ok := r.manifest["preset"].(map[string]any)
	if !ok {
		return nil // none, or one that the schema refuses
	}
	if bad := checkBlock(r.manifest); len(bad) > 0 {
		return &stop{stageValidate, bad[0]}
	}
	active, home := block["active"].(string), block["default"].(string)
	p, err := r.host.Load(r.config.Dir, active)
	if errors.Is(err, ErrMissing) && home != active {
		fallback, worse := r.host.Load(r.config.Dir, home)
		if worse != nil {
			err = fmt.Errorf("%w, nor can the default take its place: %w", err, worse)
		} else {
			r.note("warn", "preset", fmt.Sprintf("%v: the default is used instead: %q", err, home),
				"put the file back, or activate another preset with substrate-preset swap")
			block["active"] = home
			p, err = fallback, nil
		}
	}
	if err != nil {
		return &stop{stagePreset, wrong{path: []string{"manifest", "preset", "active"}, what: err.Error()}}
	}
	r.config.given = p
	for _, path := range p.doc.Twice {
		r.note("warn", "json", p.Path+": "+path+": "+twice, "remove the others")
	}
	if s := r.oldNames(p.Capabilities, p.Path); s != nil {
		// Its path is in the preset's text, whatever init.json has there.
		r.config.from[Path(s.path...)] = "preset"
		return s
	}
	p.apply(r.manifest, func(path ...string) { r.config.from[Path(path...)] = "preset" })
	return nil
}

// apply puts the preset into a manifest and tells source of every path it gave.
func (p *Preset) apply(manifest map[string]any, source func(path ...string)) {
	manifest["llm"] = clone(p.LLM)
	source("manifest", "llm")
	if p.Limit > 0 {
		manifest["context_limit"] = json.Number(strconv.FormatInt(p.Limit, 10))
		source("manifest", "context_limit")
	}
	own, _ := manifest["capabilities"].(map[string]any)
	merged := merge(own, clone(p.Capabilities).(map[string]any), func(path ...string) {
		source(append([]string{"manifest", "capabilities"}, path...)...)
	})
	manifest["capabilities"] = merged
}
