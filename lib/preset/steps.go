package preset

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/disk"
)

const twice = "stands more than once, and the last one counts"

func (r *reader) parse(data []byte) *stop {
	var err error
	if r.doc, err = ParseDoc(data); err != nil {
		var bad *SyntaxError
		if !errors.As(err, &bad) {
			return &stop{stageJSON, wrong{what: err.Error()}}
		}
		r.Line, r.Column, r.Excerpt = bad.Line, bad.Column, bad.Excerpt
		return &stop{stageJSON, wrong{what: bad.What}}
	}
	for _, path := range r.doc.Twice {
		r.note("warn", "json", path+": "+twice, "remove the others")
	}
	return nil
}

// shape wants an object with a manifest that is one.
func (r *reader) shape([]byte) *stop {
	top, ok := r.doc.Object()
	if !ok {
		r.Line, r.Column = r.doc.At()
		return &stop{stageManifest, wrong{what: "want an object, found " + found(r.doc.Value)}}
	}
	r.config.init = clone(top).(map[string]any)
	if r.manifest, ok = r.config.init["manifest"].(map[string]any); !ok {
		what := "missing"
		if has(top, "manifest") {
			what = "want object, found " + found(top["manifest"])
		}
		return &stop{stageManifest, wrong{path: []string{"manifest"}, what: what}}
	}
	return nil
}

// inherit fills in what capabilities take over from the agent's model.
func (r *reader) inherit([]byte) *stop {
	llm, _ := r.manifest["llm"].(map[string]any)
	caps, _ := r.manifest["capabilities"].(map[string]any)
	for name, v := range caps {
		args, _ := v.(map[string]any)
		if args["provider"] != "inherit" || !has(llm, "provider") {
			continue
		}
		for _, key := range []string{"provider", "api_key", "api_key_env", "base_url", "api_compat", "wire_api"} {
			if has(llm, key) {
				args[key] = llm[key]
				r.config.from[Path("manifest", "capabilities", name, key)] = "inherit"
			}
		}
	}
	return nil
}

// skip leaves out what is known to have no effect.
func (r *reader) skip([]byte) *stop {
	top := r.config.init
	for _, key := range slices.Sorted(maps.Keys(top)) {
		switch base := strings.TrimSuffix(key, "_file"); {
		case slices.Contains(ignoredTop, base):
			r.ignore("ignored; this text comes with the programs, or from system", "remove it", key)
		case !slices.ContainsFunc(topRules, func(r rule) bool { return r.key == key }):
			r.ignore("unknown", "remove it, or mend its name", key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.manifest)) {
		switch {
		case key == "stamina" || strings.HasPrefix(key, "molt_"):
			r.ignore("old, and ignored", "remove it", "manifest", key)
			delete(r.manifest, key)
		case !slices.ContainsFunc(manifestRules, func(r rule) bool { return r.key == key }):
			r.ignore("unknown", "remove it, or mend its name", "manifest", key)
		}
	}
	if block, ok := r.manifest["preset"].(map[string]any); ok {
		for _, key := range slices.Sorted(maps.Keys(block)) {
			if !slices.ContainsFunc(presetRules, func(r rule) bool { return r.key == key }) {
				r.ignore("unknown", "remove it", "manifest", "preset", key)
			}
		}
	}
	caps, _ := r.manifest["capabilities"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(caps)) {
		if !known(name) {
			r.ignore("unknown capability, skipped", "remove it, or mend its name", "manifest", "capabilities", name)
			delete(caps, name)
		}
	}
	return nil
}

func (r *reader) validate([]byte) *stop {
	bad := checkInit(r.config.init)
	if len(bad) == 0 {
		return nil
	}
	for _, w := range bad[1:] {
		next := w.next
		if next == "" {
			next = nextSteps[stageValidate]
		}
		r.note("fail", stageValidate, w.String(), next)
	}
	return &stop{stageValidate, bad[0]}
}

// resolve makes the paths absolute.
func (r *reader) resolve([]byte) *stop {
	for _, key := range append([]string{"env_file", "venv_path"}, fileKeys()...) {
		path, ok := r.config.init[key].(string)
		if !ok || path == "" {
			continue
		}
		at, err := r.host.expand(path, r.config.Dir)
		if err != nil {
			return &stop{stageResolve, wrong{path: []string{key}, what: err.Error()}}
		}
		if r.config.init[key] = at; key != "venv_path" && !disk.Exists(at) {
			r.note("warn", "paths", key+": nothing is there: "+at, "make the file, or mend the path")
		}
	}
	return nil
}

func fileKeys() []string {
	keys := make([]string, len(texted))
	for i, name := range texted {
		keys[i] = name + "_file"
	}
	return keys
}

func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		o := make(map[string]any, len(v))
		for key, value := range v {
			o[key] = clone(value)
		}
		return o
	case []any:
		l := make([]any, len(v))
		for i, value := range v {
			l[i] = clone(value)
		}
		return l
	}
	return v
}
