package preset

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
)

// Env is what an agent's env_file sets, in its order.
type Env []struct{ Key, Value string }

// ParseEnv reads the lines KEY=VALUE of an env file; those that begin with # and
// blank ones do not count, and a value may stand in quotes. bad says of each line
// that is skipped why, without repeating it.
func ParseEnv(data []byte) (env Env, bad []error) {
	data = bytes.TrimPrefix(data, []byte(bom))
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, value, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "export ")), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		skip := func(why string) {
			bad = append(bad, fault.New(fault.BadInput, "line %d of the env file: %s", n, why))
		}
		switch {
		case !ok:
			skip("no KEY=VALUE")
		case !variable(key):
			skip("no name of a variable before the =")
		case strings.ContainsRune(value, 0):
			skip("a NUL")
		default:
			env = append(env, struct{ Key, Value string }{key, unquote(value)})
		}
	}
	return env, bad
}

func variable(name string) bool {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

func unquote(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}

// Over returns an environment with what the file sets. What is set already stays,
// as at boot; override, for the one relaunch of a refresh, puts the file first.
func (e Env) Over(environ []string, override bool) []string {
	set := map[string]int{}
	all := make([]string, 0, len(environ)+len(e))
	for _, pair := range environ {
		key, _, _ := strings.Cut(pair, "=")
		set[key] = len(all)
		all = append(all, pair)
	}
	had := len(environ)
	for _, v := range e {
		i, there := set[v.Key]
		switch {
		case !there:
			set[v.Key] = len(all)
			all = append(all, v.Key+"="+v.Value)
		case override || i >= had: // of two lines in the file the last counts
			all[i] = v.Key + "=" + v.Value
		}
	}
	return all
}

// Env reads the agent's env file. There may be none.
func (c *Config) Env() (Env, []error, error) { return readEnv(c.Text("env_file")) }

func readEnv(path string) (Env, []error, error) {
	if path == "" {
		return nil, nil, nil
	}
	data, err := disk.ReadFile(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	env, bad := ParseEnv(data)
	return env, bad, nil
}

// get returns what a variable is for an agent: what the process has, else what the
// file sets.
func (e Env) get(h Host, name string) string {
	if value, set := h.Look(name); set {
		return value
	}
	value := ""
	for _, v := range e {
		if v.Key == name {
			value = v.Value
		}
	}
	return value
}
