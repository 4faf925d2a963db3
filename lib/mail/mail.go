// Package mail is an agent's mailbox: what it was sent, what it sends, and the
// handshake by which a message gets from one mailbox into another.
//
// A mailbox is mailbox/{inbox,outbox,sent,archive}/<id>/message.json with its
// attachments beside it in attachments/, besides read.json and contacts.json. An
// entry appears in a folder by one rename and is whole from then on. The agent's own
// folders are its own business; the inbox is the one place that others write to, and
// they only ever add to it.
//
// There is no queue on the recipient's side. Whoever is not there when a message is
// delivered does not get it, its sender is told so, and sends it again.
package mail

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
)

// The folders of a mailbox.
const (
	Inbox   = "inbox"
	Outbox  = "outbox" // what is to be delivered
	Sent    = "sent"
	Archive = "archive"
)

// Folders are all of them.
var Folders = []string{Inbox, Outbox, Sent, Archive}

// What else there is in a mailbox.
const (
	desk         = ".post" // what is being sent, by whoever holds the lock of the outbox
	dead         = ".dead" // what cannot be read
	readFile     = "read.json"
	deletedFile  = ".deleted.json"
	contactsFile = "contacts.json"
	messageFile  = "message.json"
	filesDir     = "attachments"
)

// LockWait is how long a lock of a mailbox is waited for.
const LockWait = 10 * time.Second

// maxFile is the largest file of a mailbox that is read, in bytes.
const maxFile = 4 << 20

// Box is the mailbox of an agent. It is safe for concurrent use, also by several
// processes.
type Box struct {
	body body.Body
	env  body.Env
	wait time.Duration
}

// Open returns a body's mailbox. Nothing is made before there is mail.
func Open(b body.Body, env body.Env) Box { return Box{b, env, LockWait} }

// Within returns the mailbox with another bound on how long its locks are waited for.
func (x Box) Within(wait time.Duration) Box { return Box{x.body, x.env, wait} }

// Body returns whose mailbox it is.
func (x Box) Body() body.Body { return x.body }

// path returns the path of something in the mailbox.
func (x Box) path(parts ...string) string {
	return x.body.Path(append([]string{body.MailDir}, parts...)...)
}

// make makes a folder and returns its path.
func (x Box) make(folder string) (string, error) {
	return x.body.Make(body.MailDir + "/" + folder)
}

// idTime is how the time stands in an ID, to the second.
const idTime = "20060102T150405"

var ourID = regexp.MustCompile(`^\d{8}T\d{6}-[0-9a-f]{4}$`)

// newID returns an ID: YYYYMMDDTHHMMSS-xxxx, in UTC.
func newID(now time.Time) string {
	return now.UTC().Format(idTime) + fmt.Sprintf("-%04x", rand.N(1<<16))
}

// maxID is the longest ID, in bytes.
const maxID = 128

// checkID refuses what cannot be the name of an entry. Other programs may have used
// other names than ours, so that little is asked.
func checkID(id string) error {
	if id == "" || len(id) > maxID || strings.HasPrefix(id, ".") || strings.ContainsAny(id, `/\`) || !plain(id) {
		return fault.New(fault.BadInput, "no ID of a message: %.150q", id)
	}
	return nil
}

// plain reports whether a text is that of one line, without anything that acts on a
// terminal.
func plain(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, unwelcome) < 0
}

func unwelcome(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) }

// cut returns the first so many characters of a text, and whether it goes on.
func cut(s string, limit int) (string, bool) {
	n := 0
	for i := range s {
		if n == limit {
			return s[:i], true
		}
		n++
	}
	return s, false
}
