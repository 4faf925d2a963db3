package mail

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
)

const (
	// DefaultCount is how many messages are shown when nothing else is asked for.
	DefaultCount = 10

	// Preview is how many characters of a message are shown unless it is read.
	Preview = 500
)

// Filter says which messages are wanted. What is empty does not count. Texts are
// looked for in letters of either case.
type Filter struct {
	Folder      string // "" is the inbox
	From        string // in the sender's address or name
	Subject     string
	Contains    string // in subject or text
	After       time.Time
	Before      time.Time
	Unread      bool
	Attachments bool
	Oldest      bool // the oldest first
	Count       int  // at most; 0 is DefaultCount
}

// Check returns the messages that fit, and what is wrong with others.
func (x Box) Check(f Filter) (fit []Message, skipped []error, err error) {
	if f.Folder == "" {
		f.Folder = Inbox
	}
	all, skipped, err := x.list(f.Folder)
	if err != nil {
		return nil, nil, err
	}
	newestFirst(all)
	if f.Oldest {
		slices.Reverse(all)
	}
	fit, err = first(f.Count, all, f.fits)
	return fit, skipped, err
}

func (f Filter) fits(m Message) bool {
	at := m.Time()
	switch {
	case !within(f.From, m.From(), m.Sub("identity").Text("agent_name"), m.Sub("identity").Text("nickname")):
		return false
	case !within(f.Subject, m.Subject()), !within(f.Contains, m.Subject(), m.Body()):
		return false
	case !f.After.IsZero() && !at.After(f.After), !f.Before.IsZero() && !at.Before(f.Before):
		return false
	case f.Unread && m.Read:
		return false
	}
	return !f.Attachments || len(texts(m.Get("attachments"))) > 0
}

// within reports whether a text is in one of some others.
func within(text string, others ...string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		return strings.Contains(strings.ToLower(other), strings.ToLower(text))
	})
}

// first returns the first so many that fit.
func first(count int, all []Message, fits func(Message) bool) ([]Message, error) {
	if count < 0 {
		return nil, fault.New(fault.BadInput, "not a number of messages: %d", count)
	}
	if count == 0 {
		count = DefaultCount
	}
	var fit []Message
	for _, m := range all {
		if len(fit) == count {
			break
		}
		if fits(m) {
			fit = append(fit, m)
		}
	}
	return fit, nil
}

// maxPattern is the longest regular expression, in bytes.
const maxPattern = 1000

// Search returns the newest messages of inbox and sent in which a regular expression
// is found: in an address, in the subject or in the text, in letters of either case.
func (x Box) Search(pattern string, count int) (fit []Message, skipped []error, err error) {
	if pattern == "" || len(pattern) > maxPattern {
		return nil, nil, fault.New(fault.BadInput, "a regular expression has 1 to %d bytes", maxPattern)
	}
	re, err := regexp.Compile("(?i)" + pattern)
	if err != nil {
		return nil, nil, fault.New(fault.BadInput, "no regular expression: %.150q: %w", pattern, err)
	}
	var all []Message
	for _, folder := range []string{Inbox, Sent} {
		found, bad, err := x.list(folder)
		if err != nil {
			return nil, nil, err
		}
		all, skipped = append(all, found...), append(skipped, bad...)
	}
	newestFirst(all)
	fit, err = first(count, all, func(m Message) bool {
		where := slices.Concat([]string{m.From(), m.Subject(), m.Body()}, m.To(), m.CC(), m.BCC())
		return slices.ContainsFunc(where, re.MatchString)
	})
	return fit, skipped, err
}

// ParseTime reads a time that people give: RFC 3339, or a date, which is its first
// moment in UTC.
func ParseTime(s string) (time.Time, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, fault.New(fault.BadInput, "no time: %.80q", s).
		WithHint("such as 2026-11-30T13:00:00Z, or 2026-11-30")
}

// Reply returns the draft of an answer to a message that was received: to where it
// came from, by the way that it came, and Re: before its subject once.
func (x Box) Reply(id string) (Draft, error) {
	m, err := x.Find(id)
	if err != nil {
		return Draft{}, err
	}
	if m.Folder != Inbox && m.Folder != Archive {
		return Draft{}, fault.New(fault.BadInput, "not a message that was received: %.150q", id).
			WithHint("answer to what is in %s or %s", Inbox, Archive)
	}
	if m.From() == "" {
		return Draft{}, fault.New(fault.BadInput, "a message without sender: %.150q", id)
	}
	address, err := x.returnAddress(m)
	if err != nil {
		return Draft{}, err
	}
	// What others send may have more lines, and worse.
	blank := func(r rune) bool { return r == ' ' || unwelcome(r) }
	subject := strings.Join(strings.FieldsFunc(m.Subject(), blank), " ")
	if !strings.HasPrefix(strings.ToLower(subject), "re:") {
		subject = strings.TrimSpace("Re: " + subject)
	}
	subject, _ = cut(subject, maxSubject)
	return Draft{To: []string{address}, Subject: subject, Abs: true}, nil
}
