package notice

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// A channel mcp.<server> has in its data the server, how many events came since it
// was cleared, whether it is to wake the agent, and of the newest 20 events a preview.

const (
	maxPreview  = 10_000 // characters of all previews in a channel
	maxMetadata = 1000   // bytes of metadata that are shown with an event
)

// preview is an event as a channel shows it.
type preview struct {
	ID         string          `json:"id"`
	From       string          `json:"from"`
	Subject    string          `json:"subject"`
	Preview    string          `json:"preview"`
	Cut        bool            `json:"cut"` // the preview is not all of it
	ReceivedAt string          `json:"received_at"`
	Metadata   json.RawMessage `json:"metadata,omitempty"`
	File       string          `json:"file"` // where it came from
}

func previews(data *body.Object) []preview {
	var all []preview
	for _, raw := range rawEvents(data) {
		var p preview
		if json.Unmarshal(raw, &p) == nil {
			all = append(all, p)
		}
	}
	return all
}

// taken returns the files that are in the inbox still, whose events a channel counts
// but does not show.
func taken(data *body.Object) []string {
	var keys []string
	if json.Unmarshal(data.Get("taken"), &keys) != nil {
		return nil
	}
	return keys
}

// fresh returns the events that are neither in a channel nor were dismissed from it.
func (s Store) fresh(c Channel, events []found) []found {
	known := append(taken(c.Data()), s.Delivered().Done...)
	for _, p := range previews(c.Data()) {
		known = append(known, p.File)
	}
	return slices.DeleteFunc(slices.Clone(events), func(e found) bool { return slices.Contains(known, e.key) })
}

// show adds events to a server's channel, under the lock.
func (s Store) show(c Channel, server string, fresh []found, now time.Time) error {
	data := c.Data()
	wake := string(data.Get("wake")) == "true" && s.Delivered().Versions[c.Name] != c.Version
	shown, hidden := previews(data), taken(data)
	for _, p := range shown {
		hidden = append(hidden, p.File)
	}
	for _, e := range fresh {
		// A later state of what is shown already takes its place.
		shown = slices.DeleteFunc(shown, func(p preview) bool { return p.ID == e.ID })
		shown = append(shown, e.preview(now))
		hidden = append(hidden, e.key)
		wake = wake || !e.Quiet
	}
	shown = shown[max(0, len(shown)-maxEvents):]
	fit(shown)
	hidden = slices.DeleteFunc(hidden, func(key string) bool {
		return slices.ContainsFunc(shown, func(p preview) bool { return p.File == key }) || !s.waits(key)
	})
	count := int(data.Number("count")) + len(fresh)
	for _, kv := range []struct {
		key   string
		value any
	}{{"server", server}, {"count", count}, {"wake", wake}, {"events", shown}, {"taken", hidden}} {
		if err := data.Set(kv.key, kv.value); err != nil {
			return err
		}
	}
	if len(hidden) == 0 {
		data.Delete("taken")
	}
	last := shown[len(shown)-1]
	_, err := s.write(c, Envelope{
		Header:       fmt.Sprintf("%d from %s, last: %s", count, server, record.OneLine(last.Subject)),
		Icon:         "📥",
		Instructions: "these are previews; read the whole where it came from, at " + server,
		Data:         data,
	}, now)
	return err
}

// preview returns an event as a channel shows it.
func (e found) preview(now time.Time) preview {
	p := preview{
		ID: e.ID, From: clip(e.From, maxSubject), Subject: e.Subject, Preview: e.Body,
		ReceivedAt: e.ReceivedAt, File: e.key,
	}
	if p.ReceivedAt == "" {
		p.ReceivedAt = stamp.Record(now)
	}
	if raw, ok := e.Metadata.(json.RawMessage); ok && len(raw) <= maxMetadata {
		p.Metadata = raw
	}
	return p
}

// fit cuts previews so that all of them have no more characters than a channel may,
// the newest the most.
func fit(shown []preview) {
	left := maxPreview
	for i := len(shown) - 1; i >= 0; i-- {
		p := &shown[i]
		whole := p.Preview
		p.Preview = clip(whole, left)
		p.Cut = p.Cut || p.Preview != whole
		left -= len([]rune(p.Preview))
	}
}

// clip returns the first so many characters of a text.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := 0
	for i := range s {
		if n == limit {
			return s[:i]
		}
		n++
	}
	return s
}
