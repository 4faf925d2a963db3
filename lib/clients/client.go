// Package clients tells MCP clients of our server: it knows where each keeps its
// configuration, and edits that without touching what is not ours.
package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/files"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// EntryName is what our server is called in a client's configuration.
const EntryName = "substrate"

// Client is a program whose configuration names the servers it starts.
type Client struct {
	name  string
	home  []string // its file, from the user's home
	in    []string // the key the servers are under; empty: TOML
	entry func(command []string) string
}

// Clients are those whose configurations are known, as of November 2026.
var Clients = []Client{
	{"claude", []string{".claude.json"}, []string{"mcpServers"}, stdio(`"type": "stdio", `)},
	{"codex", []string{".codex", "config.toml"}, nil, codexEntry},
	{"cursor", []string{".cursor", "mcp.json"}, []string{"mcpServers"}, stdio("")},
	{"vscode", nil, []string{"servers"}, stdio(`"type": "stdio", `)},
	{"opencode", []string{".config", "opencode", "opencode.json"}, []string{"mcp"}, func(command []string) string {
		return `{"type": "local", "command": ` + list(command) + `, "enabled": true}`
	}},
	{"gemini", []string{".gemini", "settings.json"}, []string{"mcpServers"}, stdio("")},
}

func stdio(first string) func([]string) string {
	return func(command []string) string {
		return `{` + first + `"command": ` + quoted(command[0]) + `, "args": ` + list(command[1:]) + `}`
	}
}

func codexEntry(command []string) string {
	// A TOML basic string has the escapes of a JSON string.
	return "[" + tomlTable + "]\ncommand = " + quoted(command[0]) + "\nargs = " + list(command[1:]) + "\n"
}

func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.Encode(s)
	return strings.TrimSuffix(b.String(), "\n")
}

func list(all []string) string {
	each := make([]string, len(all))
	for i, s := range all {
		each[i] = quoted(s)
	}
	return "[" + strings.Join(each, ", ") + "]"
}

// Named returns a client by its name.
func Named(name string) (Client, error) {
	var known []string
	for _, c := range Clients {
		if c.name == name {
			return c, nil
		}
		known = append(known, c.name)
	}
	return Client{}, fault.New(fault.Usage, "unknown client: %q", name).WithHint("one of %s", strings.Join(known, ", "))
}

// File returns where the client's configuration is.
func (c Client) File() (string, error) {
	user, err := os.UserHomeDir()
	if c.name == "vscode" {
		config, err := os.UserConfigDir()
		return filepath.Join(config, "Code", "User", "mcp.json"), err
	}
	if err != nil {
		return "", fault.New(fault.Usage, "no home directory: %w", err).WithHint("name the configuration with --file")
	}
	file := filepath.Join(append([]string{user}, c.home...)...)
	// Two names are read by opencode; the one that is there is meant.
	if _, err := os.Stat(file + "c"); c.name == "opencode" && err == nil {
		file += "c"
	}
	return file, nil
}

// Snippet is what to add to an empty configuration.
func (c Client) Snippet(command []string) (string, error) { return c.edit("", command) }

// edit returns the configuration with our entry set, or without it when command is
// nil. Nothing else of it changes.
func (c Client) edit(config string, command []string) (string, error) {
	switch {
	case len(c.in) == 0 && command == nil:
		return tomlCut(config)
	case len(c.in) == 0:
		return tomlSet(config, c.entry(command))
	case command == nil:
		return jsonCut(config, append(c.in, EntryName))
	}
	return jsonSet(config, append(c.in, EntryName), c.entry(command))
}

// Command is how a client starts the substrate-mcp that stands beside this program.
func Command(name string, spaces []string) ([]string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := []string{filepath.Join(filepath.Dir(self), "substrate-mcp")}
	if name != "" {
		command = append(command, "--name", name)
	}
	for _, dir := range spaces {
		// Clients start it wherever they please.
		root, err := files.Root(dir)
		if err != nil {
			return nil, err
		}
		command = append(command, "--space", root)
	}
	return command, nil
}

// Apply writes the client's file with our entry set, or without it when command is
// nil. backup is the copy it made of what was there, if anything was.
func (c Client) Apply(file string, command []string) (backup string, changed bool, err error) {
	// What is behind a link is changed, not the link: people keep these under
	// version control.
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	mode := fs.FileMode(0o600)
	before, err := disk.ReadFile(file, 64<<20)
	if info, there := os.Stat(file); there == nil {
		mode = info.Mode().Perm()
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err != nil {
		return "", false, err
	}
	after, err := c.edit(string(before), command)
	if err != nil {
		return "", false, fault.New(fault.Corrupt, "%q: %w", file, err).WithHint("nothing was changed; edit it by hand")
	}
	if after == string(before) {
		return "", false, nil
	}
	if len(before) > 0 {
		backup = fmt.Sprintf("%s.%s.backup", file, stamp.Entry(time.Now()))
		if err := publish(backup, mode, before); err != nil {
			return "", false, err
		}
	} else if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", false, err
	}
	return backup, true, publish(file, mode, []byte(after))
}

// publish replaces a file that may hold secrets: it is complete in a directory of
// our own, for the user alone, before it gets its name, and its mode after that.
func publish(file string, mode fs.FileMode, data []byte) error {
	room, err := os.MkdirTemp(filepath.Dir(file), disk.TempPrefix)
	if err != nil {
		return err
	}
	defer os.Remove(room)
	staged, err := disk.Stage(room, data)
	if err != nil {
		return err
	}
	if err := staged.Replace(file); err != nil {
		staged.Discard()
		return err
	}
	if err := os.Chmod(file, mode); err != nil {
		return err
	}
	return disk.MakeDurable(filepath.Dir(file))
}
