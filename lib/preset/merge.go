package preset

import (
	"fmt"
	"maps"
	"slices"
)

// merge returns the capabilities that a preset and init.json make together. It is
// the one merge, for reading and for activating.
//
// The preset picks the set. What an agent's own init.json says about one of them
// wins, argument by argument; for one that the preset leaves out, it counts where
// the agent would have that capability anyway. source is told of every path that is
// taken from the preset.
func merge(own, given map[string]any, source func(path ...string)) map[string]any {
	own, given = canonical(own), canonical(given)
	all := make(map[string]any, len(given))
	for name, v := range given {
		args, on := v.(map[string]any)
		if !on {
			all[name] = nil
			source(name)
			continue
		}
		mine, _ := own[name].(map[string]any)
		joined := maps.Clone(args)
		maps.Copy(joined, mine)
		if name == "skills" && has(args, "paths") && has(mine, "paths") {
			joined["paths"] = union(args["paths"], mine["paths"])
		}
		if len(args) == 0 && len(mine) == 0 {
			source(name)
		}
		for key := range args {
			if !has(mine, key) {
				source(name, key)
			}
		}
		all[name] = joined
	}
	for name, v := range own {
		if !has(given, name) && !slices.Contains(optionalCapabilities, name) && known(name) {
			all[name] = v
		}
	}
	return all
}

// union returns two lists as one, in which nothing stands twice; what is no list is
// left for the schema to refuse.
func union(first, second any) any {
	a, isList := first.([]any)
	b, isListToo := second.([]any)
	if !isList || !isListToo {
		return second
	}
	all := []any{}
	for _, item := range slices.Concat(a, b) {
		if s, ok := item.(string); !ok || !slices.Contains(all, any(s)) {
			all = append(all, item)
		}
	}
	return all
}

// disown takes out of a manifest what an activation of this preset put there, so
// that its arguments do not pass for the operator's own when the next one comes.
func (p *Preset) disown(manifest map[string]any) {
	if n, limited := manifest["context_limit"]; limited && p.Limit > 0 && fmt.Sprint(n) == fmt.Sprint(p.Limit) {
		delete(manifest, "context_limit")
	}
	given := canonical(p.Capabilities)
	own, _ := manifest["capabilities"].(map[string]any)
	for name, v := range own {
		now := name
		if new, old := renamed[name]; old {
			now = new
		}
		theirs, _ := given[now].(map[string]any)
		mine, on := v.(map[string]any)
		if !on {
			if has(given, now) && given[now] == nil {
				delete(own, name)
			}
			continue
		}
		if now == "skills" && has(mine, "paths") {
			mine["paths"] = less(mine["paths"], theirs["paths"])
		}
		maps.DeleteFunc(mine, func(key string, v any) bool {
			return has(theirs, key) && (v == nil || same(theirs[key], v))
		})
	}
}

// spares reports whether a manifest has all that was the agent's own in the one before:
// arguments of capabilities and those it had turned off, and the settings of its model
// and its limit where they were not those of a preset.
func (p *Preset) spares(own, now map[string]any) bool {
	limit, had := own["context_limit"]
	if had && (p == nil || p.Limit == 0) && !same(limit, now["context_limit"]) {
		return false
	}
	was, _ := own["llm"].(map[string]any)
	is, _ := now["llm"].(map[string]any)
	for key, v := range was {
		if p == nil && !(has(is, key) && same(is[key], v)) {
			return false
		}
	}
	before, _ := own["capabilities"].(map[string]any)
	after, _ := now["capabilities"].(map[string]any)
	before, after = canonical(before), canonical(after)
	for name, v := range before {
		mine, on := v.(map[string]any)
		theirs, _ := after[name].(map[string]any)
		if !on && v == nil && theirs != nil {
			return false
		}
		for key, arg := range mine {
			if !has(theirs, key) || arg == nil && theirs[key] != nil {
				return false
			}
		}
	}
	return true
}

// less returns a list without what another has, nil when nothing is left.
func less(from, gone any) any {
	all, isList := from.([]any)
	others, isListToo := gone.([]any)
	if !isList || !isListToo {
		return from
	}
	var left []any
	for _, item := range all {
		if !slices.ContainsFunc(others, func(other any) bool { return same(item, other) }) {
			left = append(left, item)
		}
	}
	if left == nil {
		return nil
	}
	return left
}
