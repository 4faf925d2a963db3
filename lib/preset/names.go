package preset

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/substrate-tools/substrate/lib/body"
)

// diagnose looks for capabilities by their old names, which it reports and leaves
// as they are.
func (r *reader) diagnose([]byte) *stop {
	given, there := r.manifest["capabilities"]
	caps, ok := given.(map[string]any)
	if there && !ok {
		at := []string{"manifest", "capabilities"}
		return &stop{stageShape, wrong{path: at, what: "want object, found " + found(given)}}
	}
	if bad := shapes(caps); len(bad) > 0 {
		return &stop{stageShape, bad[0]}
	}
	if s := r.oldNames(caps, body.InitFile); s != nil {
		return s
	}
	if caps != nil {
		r.manifest["capabilities"] = canonical(caps)
	}
	return nil
}

func (r *reader) oldNames(caps map[string]any, file string) *stop {
	var first *stop
	for _, old := range slices.Sorted(maps.Keys(renamed)) {
		args, there := caps[old]
		if !there {
			continue
		}
		now, at := renamed[old], []string{"manifest", "capabilities", old}
		if other, both := caps[now]; both && !same(args, other) {
			r.ConflictPaths = append(r.ConflictPaths, Path(at...), Path("manifest", "capabilities", now))
			if first == nil {
				what := "old name of " + now + ", which is there too and differs"
				first = &stop{stageConflict, wrong{path: at, what: what}}
			}
			continue
		}
		if !slices.Contains(r.CompatibilityPaths, Path(at...)) {
			r.CompatibilityPaths = append(r.CompatibilityPaths, Path(at...))
		}
		message := fmt.Sprintf("%s: old name of %s, in %s", Path(at...), now, file)
		r.note("warn", "compatibility", message, "write "+now)
	}
	return first
}

// same reports whether two values say the same; 1 and 1.0 do.
func same(a, b any) bool {
	switch x := a.(type) {
	case json.Number:
		y, ok := b.(json.Number)
		f, bad := x.Float64()
		g, worse := y.Float64()
		return ok && (x == y || bad == nil && worse == nil && f == g)
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, same)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, same)
	}
	return reflect.DeepEqual(a, b)
}

// canonical returns capabilities by their names of today. What stands under an old
// and a new name is the same, or was refused before.
func canonical(caps map[string]any) map[string]any {
	all := make(map[string]any, len(caps))
	for name, args := range caps {
		if now, old := renamed[name]; old {
			name = now
		}
		all[name] = args
	}
	return all
}

func known(capability string) bool {
	return slices.Contains(capabilities, capability)
}
