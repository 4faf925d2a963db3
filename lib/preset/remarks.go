package preset

import (
	"strings"

	"github.com/tailscale/hujson"
)

// remarks returns how often each line of a remark stands in the text.
func (d *Doc) remarks() map[string]int {
	all := map[string]int{}
	count := func(extra hujson.Extra) {
		for line := range strings.Lines(string(extra)) {
			if line = strings.TrimSpace(line); line != "" {
				all[line]++
			}
		}
	}
	tree := d.tree
	for v := range tree.All() {
		count(v.BeforeExtra)
		count(v.AfterExtra)
		switch v := v.Value.(type) {
		case *hujson.Object:
			count(v.AfterExtra)
		case *hujson.Array:
			count(v.AfterExtra)
		}
	}
	return all
}

// fewer reports whether something stands less often now.
func fewer(before, now map[string]int) bool {
	for what, n := range before {
		if now[what] < n {
			return true
		}
	}
	return false
}
