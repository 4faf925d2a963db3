package clients

import "testing"

// FuzzConfig edits any text: what is set is there, once, and can be taken out again.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"{\n  // mine\n  \"mcpServers\": {\n    \"other\": {\"command\": \"x\"} // keep\n  }, // done\n  \"z\": [1, 2,],\n}\n",
		`{"mcpServers":{"substrate":1,"a":2}}`, "[a]\nb = [\n1]\n", "\ufeff{}", "{}",
		"[mcp_servers.substrate]\na = '''\n[b]\n'''\n[b]\n",
	} {
		f.Add(seed)
	}
	command := []string{"/opt/bin/substrate-mcp", "--name", "ben"}
	f.Fuzz(func(t *testing.T, text string) {
		for _, name := range []string{"claude", "codex"} {
			client, _ := Named(name)
			set, err := client.edit(text, command)
			if err != nil {
				continue
			}
			if again, err := client.edit(set, command); err != nil || again != set {
				t.Fatalf("%s: %q became %q and then %q, %v", name, text, set, again, err)
			}
			cut, err := client.edit(set, nil)
			if err != nil || cut == set {
				t.Fatalf("%s: %q of %q is not taken out: %v", name, set, text, err)
			}
			if _, err := client.edit(cut, command); err != nil {
				t.Fatalf("%s: %q does not parse any more: %v", name, cut, err)
			}
		}
	})
}
