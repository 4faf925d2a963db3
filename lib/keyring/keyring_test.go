package keyring_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/keyring"
)

var now = time.Date(2026, 7, 6, 13, 15, 2, 0, time.UTC)

func ring(t *testing.T) *keyring.Ring {
	t.Helper()
	return keyring.Open(filepath.Join(t.TempDir(), "keys", "x"))
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// into returns what delivers a key.
func into(key *string) func(string) error {
	return func(k string) error {
		*key = k
		return nil
	}
}

func made(t *testing.T, r *keyring.Ring, who string) (key string) {
	t.Helper()
	if err := r.Make(t.Context(), who, now, into(&key)); err != nil {
		t.Fatal(err)
	}
	return key
}

func TestMakeRotateRevoke(t *testing.T) {
	r, other := ring(t), (*keyring.Ring)(nil)
	other = keyring.Open(r.Path()) // another process
	key := made(t, r, "ann")
	if who := other.Owner(key, keyring.Standing, now); who != "ann" {
		t.Errorf("the key is %q's", who)
	}
	for what, wrong := range map[string]string{"none": "", "another": key + "x", "cut": key[:len(key)-1]} {
		if who := r.Owner(wrong, keyring.Standing, now); who != "" {
			t.Errorf("%s key is %q's", what, who)
		}
	}
	if who := r.Owner(key, keyring.Session, now); who != "" {
		t.Error("a standing key opens a session")
	}
	if err := r.Make(t.Context(), "ann", now, nil); !fault.Is(err, fault.Exists) {
		t.Errorf("a second key: %v", err)
	}
	link := must[string](t)(r.Link(t.Context(), "ann", now))
	session, who, err := r.Redeem(t.Context(), link, now)
	if err != nil || who != "ann" {
		t.Fatal(who, err)
	}
	next := ""
	if err := r.Rotate(t.Context(), "ann", now, into(&next)); err != nil {
		t.Fatal(err)
	}
	for what, gone := range map[string]string{"old": other.Owner(key, keyring.Standing, now), "session": other.Owner(session, keyring.Session, now)} {
		if gone != "" {
			t.Errorf("the %s key outlives a rotation", what)
		}
	}
	if other.Owner(next, keyring.Standing, now) != "ann" {
		t.Error("the new key is not known")
	}
	if err := r.Revoke(t.Context(), "ann", now); err != nil {
		t.Fatal(err)
	}
	if other.Owner(next, keyring.Standing, now) != "" {
		t.Error("a revoked key lives")
	}
	if err := r.Revoke(t.Context(), "ann", now); !fault.Is(err, fault.UnknownParticipant) {
		t.Errorf("revoked twice: %v", err)
	}
	if err := r.Rotate(t.Context(), "ann", now, nil); !fault.Is(err, fault.UnknownParticipant) {
		t.Errorf("rotated without a key: %v", err)
	}
}

func TestNoKeyIsKept(t *testing.T) {
	r := ring(t)
	key := made(t, r, "ann")
	if len(key) < 43 {
		t.Errorf("key of %d characters", len(key))
	}
	data := must[[]byte](t)(os.ReadFile(r.Path()))
	if bytes.Contains(data, []byte(key)) || bytes.Contains(data, []byte(key[10:30])) {
		t.Error("the file holds the key")
	}
	info := must[os.FileInfo](t)(os.Stat(r.Path()))
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestALinkOpensOneSession(t *testing.T) {
	r := ring(t)
	link := must[string](t)(r.Link(t.Context(), "ann", now))
	if _, _, err := r.Redeem(t.Context(), link, now.Add(keyring.LinkLife)); !fault.Is(err, fault.Denied) {
		t.Errorf("a link that has ended: %v", err)
	}
	link = must[string](t)(r.Link(t.Context(), "ann", now))
	var wait sync.WaitGroup
	var mu sync.Mutex
	sessions := []string{}
	for range 8 {
		wait.Go(func() {
			key, _, err := r.Redeem(t.Context(), link, now)
			if err != nil && !fault.Is(err, fault.Denied) {
				t.Error(err)
			}
			if err == nil {
				mu.Lock()
				sessions = append(sessions, key)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	if len(sessions) != 1 {
		t.Fatalf("%d sessions of one link", len(sessions))
	}
	if r.Owner(sessions[0], keyring.Session, now) != "ann" || r.Owner(sessions[0], keyring.Session, now.Add(keyring.SessionLife)) != "" {
		t.Error("a session lasts for its life and no longer")
	}
	if err := r.End(t.Context(), sessions[0], now); err != nil || r.Owner(sessions[0], keyring.Session, now) != "" {
		t.Errorf("an ended session lives, %v", err)
	}
}

func TestAKeyThatWasNotDeliveredIsNone(t *testing.T) {
	r := ring(t)
	old := made(t, r, "ann")
	full, lost := errors.New("disk full"), ""
	err := r.Rotate(t.Context(), "ann", now, func(key string) error {
		lost = key
		return full
	})
	if !errors.Is(err, full) || r.Owner(lost, keyring.Standing, now) != "" || r.Owner(old, keyring.Standing, now) != "ann" {
		t.Errorf("%v: the old key has to go on", err)
	}
}

func TestTwentyAtOnceAllLand(t *testing.T) {
	r := ring(t)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			var key string
			if err := keyring.Open(r.Path()).Make(t.Context(), fmt.Sprint("n", i), now, into(&key)); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if keys, err := r.List(); err != nil || len(keys) != 20 {
		t.Errorf("%d keys, %v", len(keys), err)
	}
}

func TestBadLines(t *testing.T) {
	good := fmt.Sprintf("ann %064x\n", 1)
	for text, ok := range map[string]bool{
		good: true, "# keys\n\n" + good: true, "": false, "ann\n": false, "ann 00\n": false, "Ann! " + good[4:]: false,
		good + "ben s\n": false, strings.TrimSpace(good) + " kay\n": false, strings.TrimSpace(good) + " key soon\n": false,
	} {
		file := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := keyring.Read(file); (err == nil) != ok || err != nil && !fault.Is(err, fault.BadInput) {
			t.Errorf("%q: %v", text, err)
		}
		// A slip of whoever edits it by hand must not cost anybody his key.
		var key string
		err := keyring.Open(file).Make(t.Context(), "dan", now, into(&key))
		if bad := text != "" && !ok; (err != nil) != bad {
			t.Errorf("a key is added to %q: %v", text, err)
		}
	}
}

func TestPacket(t *testing.T) {
	p := keyring.Packet{Version: 1, URL: "HTTPS://Host.Example:8443/", Name: "ann/x", Key: "k"}
	got, err := keyring.ParsePacket(p.Encode())
	if p.URL = "https://host.example:8443"; err != nil || got != p {
		t.Errorf("%+v, %v", got, err)
	}
	for what, spoil := range map[string]func(*keyring.Packet){
		"version": func(p *keyring.Packet) { p.Version = 2 },
		"no key":  func(p *keyring.Packet) { p.Key = "" },
		"header":  func(p *keyring.Packet) { p.Key = "a\r\nb" },
		"name":    func(p *keyring.Packet) { p.Name = "../x" },
		"path":    func(p *keyring.Packet) { p.URL = "https://h/x" },
		"user":    func(p *keyring.Packet) { p.URL = "https://u:secret@h" },
		"scheme":  func(p *keyring.Packet) { p.URL = "file:///etc" },
	} {
		bad := p
		spoil(&bad)
		if _, err := keyring.ParsePacket(bad.Encode()); err == nil {
			t.Errorf("%s: accepted", what)
		} else if bad.Key != "" && strings.Contains(err.Error(), bad.Key) && len(bad.Key) > 1 {
			t.Errorf("%s: the error shows the key: %v", what, err)
		}
	}
	if _, err := keyring.ParsePacket([]byte("subkey_x")); err == nil || strings.Contains(err.Error(), "subkey") {
		t.Errorf("no packet: %v", err)
	}
}

func FuzzParsePacket(f *testing.F) {
	f.Add([]byte(`{"version":1,"url":"https://h","name":"ann","key":"k"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := keyring.ParsePacket(data)
		if err != nil {
			return
		}
		again, err := keyring.ParsePacket(p.Encode())
		if err != nil || again != p {
			t.Errorf("%+v became %+v, %v", p, again, err)
		}
	})
}

func TestBase(t *testing.T) {
	for raw, want := range map[string]string{
		"https://H.example": "https://h.example", "HTTP://h:8080/": "http://h:8080", "https://[::1]:65535": "https://[::1]:65535",
		"http://h:": "", "http://h:0": "", "http://h:65536": "", "http://h:99999": "", "http://h:x": "", "ftp://h": "",
		"http://": "", "http://u@h": "", "http://h/x": "", "http://h?q": "", "http://h#f": "", "": "",
	} {
		if got, err := keyring.Base(raw); got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v", raw, got, err)
		}
	}
}
