package gateway

import (
	"fmt"
	"net/http"
)

// metrics sends the counts in the text form that collectors of metrics read.
func (g *Gateway) metrics(w http.ResponseWriter, _ *http.Request, _ string) error {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	c := &g.counts
	for _, m := range []struct {
		name, kind, help string
		value            int64
	}{
		{"requests_open", "gauge", "Requests under way.", c.open.Load()},
		{"event_streams_open", "gauge", "Streams of events among them.", c.streams.Load()},
		{"entries_posted_total", "counter", "Entries posted.", c.posts.Load()},
		{"wrong_keys_total", "counter", "Requests without a valid key.", c.wrong.Load()},
		{"limited_total", "counter", "Requests refused for their rate.", c.limited.Load()},
	} {
		fmt.Fprintf(w, "# HELP substrate_%s %s\n# TYPE substrate_%s %s\nsubstrate_%s %d\n",
			m.name, m.help, m.name, m.kind, m.name, m.value)
	}
	fmt.Fprint(w, "# HELP substrate_requests_total Requests answered.\n# TYPE substrate_requests_total counter\n")
	for class := 1; class < len(c.byClass); class++ {
		fmt.Fprintf(w, "substrate_requests_total{status=\"%dxx\"} %d\n", class, c.byClass[class].Load())
	}
	return nil
}
