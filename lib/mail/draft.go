package mail

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/stamp"
)

const (
	// MaxBody is the longest text of a message, in characters.
	MaxBody = 50_000

	maxSubject    = 1000
	maxRecipients = 100
	maxKey        = 100 // of an ID that is given, in bytes
)

// Draft is a message to be sent.
type Draft struct {
	To, CC, BCC []string // addresses or names
	Subject     string
	Message     string
	Attachments []string // paths of regular files; only their base names get there
	Delay       time.Duration
	ID          string // makes a repeated call safe; "" makes one
	Abs         bool   // absolute addresses are meant
}

// check refuses what does not depend on the mailbox.
func (d *Draft) check() error {
	n := utf8.RuneCountInString(d.Message)
	count := len(d.To) + len(d.CC) + len(d.BCC)
	switch {
	case count == 0:
		return fault.New(fault.BadInput, "no recipient")
	case count > maxRecipients:
		return fault.New(fault.TooLarge, "%d recipients, more than %d", count, maxRecipients)
	case n > MaxBody:
		return fault.New(fault.TooLarge, "message of %d characters, more than %d", n, MaxBody).
			WithHint("attach the text as a file, or send it in parts")
	case !utf8.ValidString(d.Message) || strings.ContainsRune(d.Message, 0):
		return fault.New(fault.BadInput, "message is no text: not UTF-8, or with a NUL byte")
	case !plain(d.Subject):
		return fault.New(fault.BadInput, "a subject is one line: %.150q", d.Subject)
	case utf8.RuneCountInString(d.Subject) > maxSubject:
		return fault.New(fault.TooLarge, "subject of %d characters, more than %d",
			utf8.RuneCountInString(d.Subject), maxSubject)
	case strings.TrimSpace(d.Message) == "" && d.Subject == "" && len(d.Attachments) == 0:
		return fault.New(fault.BadInput, "message is empty")
	case d.Delay < 0:
		return fault.New(fault.BadInput, "delay is negative: %v", d.Delay)
	case len(d.ID) > maxKey:
		return fault.New(fault.BadInput, "id of %d bytes, more than %d", len(d.ID), maxKey)
	case d.ID != "":
		return checkID(d.ID)
	}
	return nil
}

// resolve puts addresses in place of names.
func (d *Draft) resolve(x Box) error {
	for _, list := range []*[]string{&d.To, &d.CC, &d.BCC} {
		resolved := make([]string, len(*list))
		for i, text := range *list {
			address, err := x.Resolve(text, d.Abs)
			if err != nil {
				return err
			}
			resolved[i] = address
		}
		*list = resolved
	}
	return nil
}

// A file is something to be attached.
type file struct{ name, path string }

// files returns what is attached, each under a name of its own, and refuses what
// could not be delivered.
func files(paths []string) ([]file, error) {
	var all []file
	for _, path := range paths {
		name, err := baseName(path)
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		if err == nil && !info.Mode().IsRegular() {
			err = &os.PathError{Op: "attach", Path: path, Err: disk.ErrNotRegular}
		}
		if err != nil {
			return nil, fault.New(fault.BadInput, "cannot attach %.150q: %w", path, reason(err))
		}
		all = append(all, file{free(name, all), path})
	}
	return all, nil
}

// reason returns the cause of an error of the file system, without the path.
func reason(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// free returns the name, numbered where it is taken.
func free(name string, taken []file) string {
	stem, ext := name, ""
	if i := strings.LastIndexByte(name, '.'); i > 0 {
		stem, ext = name[:i], name[i:]
	}
	try := name
	for n := 2; slices.ContainsFunc(taken, func(f file) bool { return f.name == try }); n++ {
		try = stem + "-" + strconv.Itoa(n) + ext
	}
	return try
}

func names(all []file) []string {
	list := make([]string, len(all))
	for i, f := range all {
		list[i] = f.name
	}
	return list
}

// compose returns a draft as the sender's own record.
func (x Box) compose(d Draft, id string, attached []file, now time.Time) (*body.Object, error) {
	o := &body.Object{}
	err := set(o, "id", id, "from", x.body.Address(),
		"to", nonNil(d.To), "cc", nonNil(d.CC), "bcc", nonNil(d.BCC), "subject", d.Subject, "message", d.Message,
		"sent_at", stamp.Record(now), "attachments", names(attached), "identity", x.identity())
	if err == nil && slices.ContainsFunc(slices.Concat(d.To, d.CC, d.BCC), filepath.IsAbs) {
		err = o.Set("mode", "abs")
	}
	if err == nil && d.Delay > 0 {
		err = set(o, "delay", d.Delay.Seconds(), "deliver_at", stamp.Record(now.Add(d.Delay)))
	}
	if err == nil {
		m := Message{Box: x, Folder: Outbox, ID: id, Object: o}
		err = m.note(m.plan())
	}
	return o, err
}

// identity returns who the sender is, as its own file says.
func (x Box) identity() *body.Object {
	o, m := &body.Object{}, x.body.Manifest()
	_ = o.Set("address", x.body.Address()) // a text always encodes
	for _, key := range []string{"agent_id", "agent_name", "nickname", "language", "admin"} {
		if value := m.Get(key); value != nil {
			_ = o.Set(key, value) // it was parsed
		}
	}
	return o
}

func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
