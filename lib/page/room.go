package page

import (
	"crypto/rand"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// shown is how many entries a page holds.
const shown = 40

// view is what the parts are made from.
type view struct {
	Title   string
	Who     string
	Rooms   []roomLine
	Room    record.RoomKeys
	Entries []entryView
	Older   string // the entry before which to go on, "" at the beginning
	Newer   bool   // this is not the end
	Last    string // the last entry that is shown
	Quiet   string
	Turn    bool // it is the reader's
	Boss    bool // he moderates
	Draft   string
	ID      string // of the next entry
	Sent    string // id of the one that was just sent
	Refused string
	News    bool // something has come since the draft was begun
	Key     string
	Link    bool // a link that did not work
}

type roomLine struct {
	record.RoomKeys
	Turn bool
}

type entryView struct {
	Name   string
	Author string
	Time   string // for machines
	When   string // for people
	Mine   bool
	Body   template.HTML
}

// rooms lists the reader's rooms, those that wait for him first.
func (p *page) rooms(w http.ResponseWriter, r *http.Request, who string) error {
	v := view{Title: "Rooms", Who: who}
	for found, err := range p.g.Mine(r, who) {
		if err != nil {
			return err
		}
		v.Rooms = append(v.Rooms, roomLine{found.RoomKeys, found.Status == "active" && found.Current == who})
	}
	slices.SortStableFunc(v.Rooms, func(a, b roomLine) int { return rank(a) - rank(b) })
	return p.show(w, http.StatusOK, "rooms.html", v)
}

func rank(r roomLine) int {
	switch {
	case r.Turn:
		return 0
	case r.Status == "active":
		return 1
	}
	return 2
}

// room shows the end of a room, or what stands before one of its entries.
func (p *page) room(w http.ResponseWriter, r *http.Request, who string) error {
	v, err := p.look(r, who, store.Part{Through: r.URL.Query().Get("before"), Last: shown + 1})
	if err != nil {
		return err
	}
	v.Sent = r.URL.Query().Get("sent")
	return p.show(w, http.StatusOK, "room.html", v)
}

// live returns what the script puts into the page: where the room stands, and the
// entries after the last one that is there.
func (p *page) live(w http.ResponseWriter, r *http.Request, who string) error {
	v, err := p.look(r, who, store.Part{After: r.URL.Query().Get("after")})
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "live.html", v)
}

// look reads a part of a room for its page.
func (p *page) look(r *http.Request, who string, part store.Part) (view, error) {
	key, _, err := p.g.In(r.Context(), who, r.PathValue("room"))
	if err != nil {
		return view{}, err
	}
	part.Bodies = true
	read, err := p.g.Rooms.Store.Read(r.Context(), key, part)
	if err == nil {
		err = read.Damage
	}
	if err != nil {
		return view{}, err
	}
	k := p.g.Rooms.Keys(key, read.Head)
	k.Root = ""
	v := view{Title: k.Thread, Who: who, Room: k, ID: rand.Text(), Boss: k.Moderator == who, Newer: part.Through != ""}
	v.Turn = k.Status == "active" && k.Current == who
	for _, name := range slices.Sorted(maps.Keys(k.Quieted)) {
		v.Quiet += fmt.Sprintf(", %s for %d turns", name, k.Quieted[name])
	}
	v.Quiet = strings.TrimPrefix(v.Quiet, ", ")
	for e, err := range read.Entries {
		if err != nil {
			return v, err
		}
		v.Entries = append(v.Entries, entryOf(e, who))
	}
	if part.Through != "" && len(v.Entries) > 0 {
		v.Entries = v.Entries[:len(v.Entries)-1] // the one before which to read
	} else if part.Last > 0 && len(v.Entries) == part.Last {
		v.Entries = v.Entries[1:]
	}
	if n := len(v.Entries); n > 0 {
		v.Last = v.Entries[n-1].Name
		if part.Last > 0 && n >= shown {
			v.Older = v.Entries[0].Name
		}
	}
	if v.Last == "" {
		v.Last = part.After
	}
	return v, nil
}

func entryOf(e transcript.Entry, who string) entryView {
	return entryView{
		Name: e.Name, Author: e.Author, Time: stamp.Record(e.Time), When: e.Time.UTC().Format("2 Jan 2006, 15:04 UTC"),
		Mine: e.Author == who, Body: render(e.Body),
	}
}

// seen reads the version of the room that a form was made for, nil when it says
// none.
func seen(r *http.Request) *int {
	n, err := strconv.Atoi(r.PostFormValue("version"))
	if err != nil {
		return nil
	}
	return &n
}
