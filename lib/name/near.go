package name

import (
	"slices"
	"strings"
)

// Near returns the names of have that s may have been meant for, the nearest
// first, three at most.
func Near(s string, have []string) []string {
	type match struct {
		name     string
		distance int
	}
	var near []match
	for _, h := range have {
		d := distance(strings.ToLower(s), h)
		if strings.HasPrefix(h, s) && s != "" {
			d = min(d, 1)
		}
		if d <= 1+len(h)/4 {
			near = append(near, match{h, d})
		}
	}
	slices.SortStableFunc(near, func(a, b match) int { return a.distance - b.distance })
	var names []string
	for _, m := range near[:min(3, len(near))] {
		names = append(names, m.name)
	}
	return names
}

// distance counts the single-byte insertions, removals and replacements that
// turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			next := diagonal
			if a[i] != b[j] {
				next = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
