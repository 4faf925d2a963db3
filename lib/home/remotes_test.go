package home_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/keyring"
)

// away is a machine's files, and their directory.
func away(t *testing.T) (home.Home, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "home")
	t.Setenv("SUBSTRATE_HOME", dir)
	h, err := home.Open()
	if err != nil {
		t.Fatal(err)
	}
	return h, dir
}

func packet(url, who, space string) keyring.Packet {
	return keyring.Packet{Version: keyring.PacketVersion, URL: url, Name: who, Key: "subkey_" + who, Space: space}
}

func joined(t *testing.T, h home.Home, label string, p keyring.Packet) string {
	t.Helper()
	got, err := h.AddRemote(t.Context(), label, p)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestPacketsAreKeptForTheirOwnerOnly(t *testing.T) {
	h, dir := away(t)
	if all, bad, err := h.Remotes(); len(all)+len(bad) > 0 || err != nil {
		t.Errorf("none yet: %v, %v, %v", all, bad, err)
	}
	if label := joined(t, h, "", packet("https://host.example:8443", "ann/two", "atlas")); label != "atlas" {
		t.Errorf("label %q", label)
	}
	for path, mode := range map[string]os.FileMode{"remotes": 0o700, "remotes/atlas__ann%2Ftwo.json": 0o600} {
		info, err := os.Stat(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	label, packets, err := h.At("https://host.example:8443")
	if err != nil || label != "atlas" || len(packets) != 1 || packets[0] != packet("https://host.example:8443", "ann/two", "atlas") {
		t.Errorf("%q, %+v, %v", label, packets, err)
	}
	if label, packets, err := h.At("https://other.example"); label != "" || len(packets) > 0 || err != nil {
		t.Errorf("%q, %+v, %v", label, packets, err)
	}
}

func TestLabelsOfRemotes(t *testing.T) {
	h, dir := away(t)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "spaces.yaml"), []byte("spaces:\n  atlas: /here\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const one, two, three = "https://one.example", "https://two.example:8443", "http://127.0.0.1:1"
	for _, c := range []struct {
		label string
		p     keyring.Packet
		want  string
	}{
		{"", packet(one, "ann", "atlas"), "atlas-2"}, // this machine's own has the name
		{"", packet(one, "dan", "another"), "atlas-2"},
		{"atlas-2", packet(one, "bob", ""), "atlas-2"},
		{"", packet(two, "ann", ""), "two-example"},
		{"mine", packet(three, "ann", "atlas"), "mine"},
		{"", packet(one, "ann", "atlas"), "atlas-2"}, // once more
	} {
		if got := joined(t, h, c.label, c.p); got != c.want {
			t.Errorf("%+v: %q, want %q", c.p, got, c.want)
		}
	}
	for what, c := range map[string]struct {
		label string
		p     keyring.Packet
		code  fault.Code
	}{
		"a space's here": {"atlas", packet("https://new.example", "ann", ""), fault.Exists}, "another's": {"mine", packet("https://new.example", "ann", ""), fault.Exists},
		"two of one": {"other", packet(one, "zoe", ""), fault.Exists}, "no label": {"../x", packet("https://new.example", "ann", ""), fault.InvalidName},
	} {
		if _, err := h.AddRemote(t.Context(), c.label, c.p); !fault.Is(err, c.code) || strings.Contains(err.Error(), "subkey_") {
			t.Errorf("%s: %v", what, err)
		}
	}
	all, bad, err := h.Remotes()
	if err != nil || len(bad) > 0 || len(all) != 5 {
		t.Fatalf("%+v, %v, %v", all, bad, err)
	}
	for i := range all[1:] {
		if all[i].Label > all[i+1].Label {
			t.Errorf("not in order: %+v", all)
		}
	}
}

func TestANewPacketTakesThePlaceOfTheOld(t *testing.T) {
	h, _ := away(t)
	p := packet("https://host.example", "ann", "atlas")
	joined(t, h, "", p)
	p.Key = "subkey_new"
	joined(t, h, "", p)
	if _, packets, err := h.At(p.URL); err != nil || len(packets) != 1 || packets[0].Key != "subkey_new" {
		t.Errorf("%+v, %v", packets, err)
	}
}

func TestABadPacketIsSkippedAndNamedAndNotShown(t *testing.T) {
	h, dir := away(t)
	joined(t, h, "", packet("https://host.example", "ann", "atlas"))
	for name, text := range map[string]string{
		"broken__ann.json": "subkey_secret", "UP__ann.json": string(packet("https://h", "ann", "").Encode()), "newer__ann.json": `{"version":2,"key":"subkey_secret"}`,
		"empty__ann.json": "", ".hidden__x.json": "x", "notes.txt": "x", "no-part.json": "x",
	} {
		if err := os.WriteFile(filepath.Join(dir, "remotes", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "remotes", "dir__ann.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	all, bad, err := h.Remotes()
	if err != nil || len(all) != 1 || len(bad) != 5 {
		t.Fatalf("%+v, %v, %v", all, bad, err)
	}
	for _, b := range bad {
		if !strings.Contains(b.Error(), "__ann.json: ") || strings.Contains(b.Error(), "subkey_") {
			t.Errorf("got %v", b)
		}
	}
}

func TestRemovingForgetsEveryPacketOfASpace(t *testing.T) {
	h, dir := away(t)
	for _, who := range []string{"ann", "dan"} {
		joined(t, h, "", packet("https://host.example", who, "atlas"))
	}
	joined(t, h, "", packet("https://other.example", "ann", "borea"))
	gone, err := h.RemoveRemote(t.Context(), "atlas")
	if err != nil || gone.Label != "atlas" || gone.Root != "https://host.example" {
		t.Errorf("%+v, %v", gone, err)
	}
	if gone, err = h.RemoveRemote(t.Context(), "https://other.example"); err != nil || gone.Label != "borea" {
		t.Errorf("%+v, %v", gone, err)
	}
	for _, what := range []string{"atlas", "https://host.example", "", "nothing"} {
		if _, err := h.RemoveRemote(t.Context(), what); !fault.Is(err, fault.NotASpace) {
			t.Errorf("%q: %v", what, err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(dir, "remotes", "*.json")); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestTwentyPacketsAtOnceAllLand(t *testing.T) {
	h, _ := away(t)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			if _, err := h.AddRemote(t.Context(), "", packet(fmt.Sprintf("https://h%d.example", i%10), fmt.Sprint("n", i), "atlas")); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	all, bad, err := h.Remotes()
	labels := map[string]string{}
	for _, r := range all {
		if at, ok := labels[r.Label]; ok && at != r.Packet.URL {
			t.Errorf("%s is %s and %s", r.Label, at, r.Packet.URL)
		}
		labels[r.Label] = r.Packet.URL
	}
	if err != nil || len(bad) > 0 || len(all) != 20 || len(labels) != 10 {
		t.Errorf("%d packets of %d spaces, %v, %v", len(all), len(labels), bad, err)
	}
}

func TestTheKeysOfASpaceAreItsOwn(t *testing.T) {
	h, dir := away(t)
	a, b := h.Keys("/a"), h.Keys("/b")
	if a.Path() == b.Path() || filepath.Dir(a.Path()) != filepath.Join(dir, "keys") || h.Keys("/a").Path() != a.Path() {
		t.Errorf("%s and %s", a.Path(), b.Path())
	}
}
