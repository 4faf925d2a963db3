package preset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// raw reads init.json as it is written: no preset in its place, nothing checked.
func (h Host) raw(dir string) (*Doc, error) {
	r := h.reader(dir, AtRefresh)
	data, err := disk.ReadFile(r.File, maxFile)
	if err != nil {
		r.cause = err
		r.fail(&stop{stageFile, wrong{what: pathless(err)}})
		return nil, r.Err()
	}
	return r.raw(data)
}

func (r *reader) raw(data []byte) (*Doc, error) {
	for _, step := range []func([]byte) *stop{r.parse, r.shape} {
		if s := step(data); s != nil {
			r.fail(s)
			return nil, r.Err()
		}
	}
	return r.doc, nil
}

// get returns what is at a path of a text, nil where nothing is.
func (d *Doc) get(path ...string) any {
	v := d.Value
	for _, key := range path {
		o, _ := v.(map[string]any)
		v = o[key]
	}
	return v
}

// List returns the presets that init.json allows, no others, sorted by path, each
// with its connectivity now. bad says of those that cannot be used why.
func (h Host) List(ctx context.Context, dir string) (rows []record.Preset, bad []error, err error) {
	doc, err := h.raw(dir)
	if err != nil {
		return nil, nil, err
	}
	active, _ := doc.get("manifest", "preset", "active").(string)
	home, _ := doc.get("manifest", "preset", "default").(string)
	allowed, _ := doc.get("manifest", "preset", "allowed").([]any)
	var all []*Preset
	for _, ref := range h.distinct(dir, allowed, active, home) {
		p, err := h.Load(dir, ref)
		if err != nil {
			bad = append(bad, err)
			continue
		}
		all = append(all, p)
	}
	file, _ := doc.get("env_file").(string)
	if file != "" {
		if file, err = h.expand(file, dir); err != nil {
			return nil, bad, err
		}
	}
	env, _, err := readEnv(file)
	if err != nil {
		bad = append(bad, err)
	}
	for i, c := range h.Probe(ctx, all, env) {
		p := all[i]
		rows = append(rows, p.row(h.Member(dir, active, []any{p.Ref}), h.Member(dir, home, []any{p.Ref}), c))
	}
	return rows, bad, nil
}

// distinct returns the allowed paths, sorted, each file once: by the words of
// active, else of home, else by those that come first.
func (h Host) distinct(dir string, allowed []any, active, home string) []string {
	var refs []string
	index := map[string]int{}
	for _, item := range allowed {
		ref, ok := item.(string)
		if !ok || ref == "" {
			continue
		}
		key := ref
		if path, err := h.expand(ref, dir); err == nil {
			key = resolve(path)
		}
		i, seen := index[key]
		switch {
		case !seen:
			index[key] = len(refs)
			refs = append(refs, ref)
		case ref == active, ref == home && refs[i] != active:
			refs[i] = ref
		}
	}
	slices.Sort(refs)
	return refs
}

func (p *Preset) row(active, home bool, c record.Connectivity) record.Preset {
	said := safe(p.Description, "description").(map[string]any)
	maps.DeleteFunc(said, func(_ string, v any) bool { return hasKey(v) })
	about, _ := record.Encode(said) // it was decoded from JSON
	var on record.Names
	caps := canonical(p.Capabilities)
	for _, name := range slices.Sorted(maps.Keys(caps)) {
		if caps[name] != nil {
			on = append(on, name)
		}
	}
	return record.Preset{
		Type: "preset", Preset: p.Ref, Name: p.Name, Active: active, Default: home, Tier: p.Tier(),
		Description: json.RawMessage(bytes.TrimSuffix(about, []byte("\n"))), LLM: p.Model(),
		ContextLimit: p.Limit, Capabilities: on, Connectivity: c,
	}
}

// Library is where presets lie that people choose from, below a home directory.
const Library = ".lingtai-tui/presets"

// Discover returns the preset files in directories, in their order, for people who
// choose what to allow; it grants nothing. Without directories it looks in the
// library. A directory that is not there is skipped.
func (h Host) Discover(dirs []string) ([]record.PresetFile, error) {
	if len(dirs) == 0 {
		library, err := h.expand("~/"+Library, "")
		if err != nil {
			return nil, err
		}
		dirs = []string{library}
	}
	var all []record.PresetFile
	for _, dir := range dirs {
		files, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return all, err
		}
		for _, f := range files {
			path, err := filepath.Abs(filepath.Join(dir, f.Name()))
			if err != nil {
				return all, err
			}
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() && suffixed(path) && f.Name()[0] != '.' {
				all = append(all, h.file(path))
			}
		}
	}
	return all, nil
}

func (h Host) file(path string) record.PresetFile {
	stem := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	f := record.PresetFile{Type: "preset_file", Path: path, Name: stem}
	p, err := h.Load("", path)
	if err != nil {
		f.Error = err.Error()
		return f
	}
	if p.Name != "" {
		f.Name = p.Name
	}
	f.Summary, _ = p.Description["summary"].(string)
	f.Tier, f.LLM = p.Tier(), p.Model()
	return f
}

// notAllowed is the refusal of a preset that an agent may not use.
func notAllowed(ref string) error {
	return fault.New(fault.Denied, "not in manifest.preset.allowed: %q", ref).
		WithHint("substrate-preset list shows those that are")
}
