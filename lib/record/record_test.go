package record_test

import (
	"testing"

	"github.com/substrate-tools/substrate/lib/record"
)

var (
	three = 3

	keys = record.RoomKeys{
		Root: "/r", Label: "home", Thread: "t", Topic: "a < b & c", Status: "active", Moderator: "dan", Current: "ann",
		TurnOrder: record.Names{"dan", "ann"}, Quieted: record.Counts{"b": 2, "a": 1}, Version: 3,
		CreatedAt: "2026-07-06T13:15:02.000Z", FloorSince: "2026-07-06T13:16:02.084Z",
	}
)

// Every key, in its order, whatever its value: readers see these very lines.
func TestEveryRecordIsWrittenInFull(t *testing.T) {
	for _, c := range []struct {
		record any
		want   string
	}{
		{
			record.Space{
				Type: "space", Root: "/r", Label: "home", Version: 1, Rooms: 3,
				Participants: []record.Member{{Name: "dan", Kind: "human"}},
			},
			`{"type":"space","root":"/r","label":"home","version":1,"participants":[{"name":"dan","kind":"human"}],"rooms":3}`,
		},
		{
			record.Participant{Type: "participant", Root: "/r", Name: "dan", Kind: "human"},
			`{"type":"participant","root":"/r","name":"dan","kind":"human"}`,
		},
		{
			record.Room{Type: "room", RoomKeys: keys},
			`{"type":"room","root":"/r","label":"home","thread":"t","topic":"a < b & c","status":"active","moderator":"dan",` +
				`"current":"ann","paused":false,"turn_order":["dan","ann"],"quieted":{"a":1,"b":2},"version":3,` +
				`"created_at":"2026-07-06T13:15:02.000Z","floor_since":"2026-07-06T13:16:02.084Z"}`,
		},
		{
			record.Room{Type: "room"},
			`{"type":"room","root":"","label":"","thread":"","topic":"","status":"","moderator":"",` +
				`"current":"","paused":false,"turn_order":[],"quieted":{},"version":0,"created_at":"","floor_since":""}`,
		},
		{
			record.Entry{
				Type: "entry", Thread: "t", Entry: "e.md", Author: "dan", Time: "2026-07-06T13:15:02.084Z",
				StartLine: 1, EndLine: 3, Bytes: 78, SHA256: "0f", Body: "<b>",
			},
			`{"type":"entry","thread":"t","entry":"e.md","author":"dan","time":"2026-07-06T13:15:02.084Z",` +
				`"start_line":1,"end_line":3,"bytes":78,"sha256":"0f","body":"<b>"}`,
		},
		{
			record.Window{
				Type: "window", Thread: "t", Version: 3, TotalLines: 9, FromEntry: "a.md", ThroughEntry: "b.md",
				StartLine: 4, EndLine: 9, Entries: 2, Bytes: 60,
			},
			`{"type":"window","thread":"t","version":3,"total_lines":9,"from_entry":"a.md","through_entry":"b.md",` +
				`"start_line":4,"end_line":9,"entries":2,"bytes":60,"next_entry":""}`,
		},
		{
			record.Posted{Type: "posted", Root: "/r", Thread: "t", Entry: "e.md", Author: "dan", Version: 118, Next: "ann"},
			`{"type":"posted","root":"/r","thread":"t","entry":"e.md","author":"dan","pass":false,"version":118,` +
				`"next":"ann","paused":false,"duplicate":false}`,
		},
		{
			record.Error{Type: "error", Code: "stale", Message: "m", Hint: "h", Thread: "t", Current: "ann", Version: &three},
			`{"type":"error","code":"stale","message":"m","hint":"h","thread":"t","current":"ann","version":3}`,
		},
		{
			record.Error{Type: "error", Code: "usage", Message: "m"},
			`{"type":"error","code":"usage","message":"m","hint":"","thread":"","current":"","version":null}`,
		},
		{
			record.Finding{Type: "finding", Level: "ok", Check: "space", Message: "fine"},
			`{"type":"finding","level":"ok","check":"space","message":"fine","fix":""}`,
		},
	} {
		got, err := record.Encode(c.record)
		if err != nil || string(got) != c.want+"\n" {
			t.Errorf("%T: %v\ngot  %swant %s", c.record, err, got, c.want)
		}
	}
}

func TestListsAndMapsAreNeverNull(t *testing.T) {
	for _, c := range []struct {
		value any
		want  string
	}{
		{record.Names(nil), "[]"},
		{record.Names{}, "[]"},
		{record.Names{"b", "a"}, `["b","a"]`},
		{record.Counts(nil), "{}"},
		{record.Counts{}, "{}"},
		{record.Counts{"b": 1, "a": 0}, `{"a":0,"b":1}`},
	} {
		if got, err := record.Encode(c.value); err != nil || string(got) != c.want+"\n" {
			t.Errorf("%#v: got %s, %v", c.value, got, err)
		}
	}
}

func TestDraftKeys(t *testing.T) {
	line := record.Line{Raw: []byte(
		`{"type":"draft","root":"/r","thread":"t","as":"dan","body":"x","expect":3,"id":"k","to":"ann"}`)}
	var d record.Draft
	if err := line.Decode(&d); err != nil || d.Expect == nil || *d.Expect != 3 {
		t.Fatalf("got %+v, %v", d, err)
	}
	d.Expect = nil
	if want := (record.Draft{Root: "/r", Thread: "t", As: "dan", Body: "x", ID: "k", To: "ann"}); d != want {
		t.Errorf("got %+v", d)
	}
	line.Raw = []byte(`{"thread":"t","as":"dan","body":"x"}`)
	d = record.Draft{}
	if err := line.Decode(&d); err != nil || d.Expect != nil {
		t.Errorf("an expectation from nowhere: %+v, %v", d, err)
	}
}

func TestARoomRecordIsAnOpening(t *testing.T) {
	made, err := record.Encode(record.Room{Type: "room", RoomKeys: keys})
	if err != nil {
		t.Fatal(err)
	}
	var o record.Opening
	if err := (record.Line{Raw: made}).Decode(&o); err != nil {
		t.Fatal(err)
	}
	if o.Root != "/r" || o.Thread != "t" || o.Topic != keys.Topic || o.Moderator != "dan" || len(o.TurnOrder) != 2 {
		t.Errorf("got %+v", o)
	}
}
