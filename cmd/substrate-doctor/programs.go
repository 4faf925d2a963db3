package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/record"
)

// programs asks every substrate-* on PATH for its version: programs of different
// ages on one PATH are a common cause of surprises.
func programs(found func(record.Finding)) {
	at := map[string][]string{} // version: where
	seen := map[string]bool{}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		paths, _ := filepath.Glob(filepath.Join(dir, "substrate-*"))
		for _, path := range paths {
			real, err := filepath.EvalSymlinks(path)
			if err != nil || seen[real] {
				continue
			}
			seen[real] = true
			if version, ok := ask(path); ok {
				at[version] = append(at[version], path)
			}
		}
	}
	finding := record.Finding{Type: "finding", Level: "ok", Check: "programs"}
	versions := slices.Sorted(maps.Keys(at))
	switch len(versions) {
	case 0:
		finding.Message = "none on PATH"
	case 1:
		finding.Message = fmt.Sprintf("%d on PATH, all of version %s", len(at[versions[0]]), versions[0])
	default:
		finding.Level = "warn"
		finding.Message = "several versions on PATH:"
		for _, v := range versions {
			finding.Message += fmt.Sprintf(" %s (%s)", v, strings.Join(at[v], " "))
		}
		finding.Fix = "keep one of them on PATH"
	}
	found(finding)
}

func ask(path string) (version string, ok bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	_, version, ok = strings.Cut(strings.TrimSpace(string(out)), " ")
	return version, err == nil && ok
}
