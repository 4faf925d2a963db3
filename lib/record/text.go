package record

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// OneLine shows the control characters and line ends of a text that is to stand
// on one line, so that it cannot pass for more of them.
func OneLine(s string) string {
	unwelcome := func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp) }
	if strings.IndexFunc(s, unwelcome) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unwelcome(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Clip cuts a text that is longer than so many bytes, and shows that it did.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// Shell quotes a word for a shell where it needs that, for commands that people
// are shown and may run.
func Shell(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_./,:@%+-", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Each record says itself to people in one line, or a few.

// Text says where a room's floor is.
func (r RoomKeys) Text() string {
	floor := "floor: " + r.Current + " since " + r.FloorSince
	switch {
	case r.Status == "ended":
		floor = "ended"
	case r.Paused:
		floor += " (paused for the moderator)"
	}
	s := fmt.Sprintf("%s  %s  %d entries  %s", r.Thread, floor, r.Version, r.Topic)
	separator := "  quiet: "
	for _, who := range slices.Sorted(maps.Keys(r.Quieted)) {
		s += fmt.Sprintf("%s%s %d", separator, who, r.Quieted[who])
		separator = ", "
	}
	if r.Label != "" {
		s += "  in " + r.Label
	}
	return OneLine(s)
}

// Text names the participants of a space.
func (s Space) Text() string {
	who := make([]string, len(s.Participants))
	for i, p := range s.Participants {
		who[i] = p.Name + " (" + p.Kind + ")"
	}
	return OneLine(fmt.Sprintf("%s  %s  %d rooms  %s", s.Label, s.Root, s.Rooms, strings.Join(who, ", ")))
}

// Text names a participant.
func (p Participant) Text() string { return p.Name + " (" + p.Kind + ")" }

// Text says what became of a post.
func (p Posted) Text() string {
	what := "posted"
	switch {
	case p.Duplicate:
		what = "posted before"
	case p.Pass:
		what = "passed"
	}
	return fmt.Sprintf("%s %s in %s, now at version %d; next: %s", what, p.Entry, p.Thread, p.Version, p.Next)
}

// Text says what was read and where to go on.
func (w Window) Text() string {
	s := fmt.Sprintf("%d entries, lines %d-%d of %d, %d bytes, version %d",
		w.Entries, w.StartLine, w.EndLine, w.TotalLines, w.Bytes, w.Version)
	if w.NextEntry != "" {
		s += "; go on with --from-entry " + w.NextEntry
	}
	return s
}

// Text says what an export holds, or that all of it is as it was.
func (e Export) Text() string {
	what := "exported"
	if e.Type == "verified" {
		what = e.Type
	}
	signed := "not signed"
	switch {
	case e.Signer != "":
		signed = "signed by " + e.Signer
	case e.Signed:
		signed = "signed"
	}
	return OneLine(fmt.Sprintf("%s %s: %d entries at version %d, %d bytes, %s; manifest sha256 %s",
		what, e.Thread, e.Entries, e.Version, e.Bytes, signed, e.ManifestSHA256))
}

// Text says what was found and what to do about it.
func (f Finding) Text() string {
	s := OneLine(fmt.Sprintf("%-4s  %s: %s", f.Level, f.Check, f.Message))
	if f.Fix != "" {
		s += "\n      fix: " + OneLine(f.Fix)
	}
	return s
}

// Text says what became of a turn.
func (r Run) Text() string {
	return fmt.Sprintf("%s in %s: %s, exit status %d after %d ms", r.For, r.Thread, r.Outcome, r.Status, r.TookMS)
}

// Text shows an entry as the transcript does.
func (e Entry) Text() string {
	return fmt.Sprintf("[%s @ %s] in %s\n%s\n", e.Author, e.Time, e.Thread, e.Body)
}
