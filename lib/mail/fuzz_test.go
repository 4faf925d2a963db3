package mail

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/body/bodytest"
	"github.com/substrate-tools/substrate/lib/record"
)

func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		`{"id":"a","from":"ann","to":["bob"],"cc":[],"subject":"s","message":"m","sent_at":"2026-11-30T12:00:00Z"}`,
		`{"to":"bob","attachments":["../../x","/etc/passwd","a\\b"],"deliveries":[{"address":"bob","status":"bounced"}]}`,
		`{"to":[null,1,["x"],"\ud800"],"_return_route":{"mode":"abs"},"identity":null,"received_at":3}`,
		`{`, `[]`, `null`, `{"a":1}{"b":2}`, "\xff", ``,
	} {
		f.Add([]byte(seed))
	}
	box := Open(bodytest.New(f, nil), env)
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := ParseMessage(data)
		if err != nil {
			return
		}
		for _, folder := range append(Folders, desk) {
			m := Message{Box: box, Folder: folder, ID: "id", Object: o}
			r := m.Record(Preview)
			if !utf8.ValidString(r.Message) || utf8.RuneCountInString(r.Message) > Preview {
				t.Errorf("%q is not a preview", r.Message)
			}
			if strings.Contains(r.Line(), "\n") {
				t.Errorf("more than one line: %q", r.Line())
			}
			for _, path := range m.Attachments() {
				if dir := filepath.Dir(path); folder == Inbox && dir != box.path(Inbox, "id", filesDir) {
					t.Errorf("an attachment leads to %q", path)
				}
			}
			if len(m.plan()) == 0 || slices.Contains(m.recipients(), "") {
				t.Errorf("plan %v, recipients %q", m.plan(), m.recipients())
			}
		}
		m := Message{Box: box, Folder: Inbox, ID: "id", Object: o}
		again, err := ParseMessage(o.Indented())
		if err != nil || markOf(again) != m.mark() {
			t.Errorf("read again: %v", err)
		}
		copied, err := m.forRecipient(false, nil, noon)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range own {
			if copied.Get(key) != nil {
				t.Errorf("the recipient is told %s", key)
			}
		}
		if copied, err = ParseMessage(copied.Indented()); err != nil || markOf(copied) != m.mark() {
			t.Errorf("a copy has another mark: %v", err)
		}
	})
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{`["a","b"]`, `[]`, `null`, `["a",1,null,["b"]]`, `{"a":1}`, `"a"`, `["a`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ids, err := parseRead(data)
		if err != nil {
			return
		}
		line, err := record.Encode(record.Names(ids))
		if err != nil {
			t.Fatal(err)
		}
		if again, err := parseRead(line); err != nil || !slices.Equal(again, ids) {
			t.Errorf("%q became %q: %v", ids, again, err)
		}
	})
}

func FuzzContacts(f *testing.F) {
	for _, seed := range []string{
		`[{"address":"bob","name":"Bob","note":"n"}]`, `[]`, `null`, `[null]`, `[{"address":1,"x":[{}]}]`, `{}`, `[`, "\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseContacts(data)
		if err != nil {
			return
		}
		out := list(all)
		again, err := parseContacts(out)
		if err != nil || !bytes.Equal(list(again), out) || len(again) != len(all) {
			t.Errorf("%s became %s: %v", data, out, err)
		}
	})
}
