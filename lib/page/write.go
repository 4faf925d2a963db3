package page

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/store"
)

// write posts what the composer holds, or a pass. A refusal shows the page again
// with the draft in it, and what is new.
func (p *page) write(w http.ResponseWriter, r *http.Request, who string) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	key, _, err := p.g.In(r.Context(), who, r.PathValue("room"))
	if err != nil {
		return err
	}
	draft, id := strings.ReplaceAll(r.PostFormValue("body"), "\r\n", "\n"), r.PostFormValue("id")
	body := draft
	if r.PostForm.Has("pass") {
		body = "pass"
	}
	version := seen(r)
	if version == nil || id == "" {
		return fault.New(fault.BadInput, "this form is not whole")
	}
	_, err = p.g.Post(r, key, room.Draft{As: who, Body: body, Expect: version, ID: "page-" + id})
	if err != nil {
		return p.again(w, r, who, draft, err)
	}
	to := "/r/" + name.Component(key.Room)
	if body == draft {
		to += "?sent=" + id
	}
	http.Redirect(w, r, to+"#end", http.StatusSeeOther)
	return nil
}

// again shows the room with why something was not done. Nothing of a draft is lost.
func (p *page) again(w http.ResponseWriter, r *http.Request, who, draft string, refused error) error {
	f := p.g.Public(refused)
	v, err := p.look(r, who, store.Part{Last: shown + 1})
	if err != nil {
		return err
	}
	v.Refused, v.Draft, v.News = sentence(f), draft, f.Code == fault.Stale
	return p.show(w, gateway.Status(f), "room.html", v)
}

// moderate does what the moderator's forms ask for.
func (p *page) moderate(w http.ResponseWriter, r *http.Request, who string) error {
	if err := r.ParseForm(); err != nil {
		return err
	}
	key, _, err := p.g.In(r.Context(), who, r.PathValue("room"))
	if err != nil {
		return err
	}
	ask := record.Moderation{
		Op: r.PostFormValue("op"), Name: strings.TrimSpace(r.PostFormValue("name")),
		Topic: strings.TrimSpace(r.PostFormValue("topic")), Version: seen(r),
	}
	for _, seat := range strings.Split(r.PostFormValue("order"), ",") {
		if seat = strings.TrimSpace(seat); seat != "" {
			ask.Order = append(ask.Order, seat)
		}
	}
	if turns := strings.TrimSpace(r.PostFormValue("turns")); turns != "" {
		if ask.Turns, err = strconv.Atoi(turns); err != nil {
			return p.again(w, r, who, r.PostFormValue("body"), fault.New(fault.BadInput, "not a number of turns: %q", record.Clip(turns, 64)))
		}
	}
	if ask.Version == nil {
		return fault.New(fault.BadInput, "this form is not whole")
	}
	if _, err := p.g.Moderate(r, key, who, ask); err != nil {
		return p.again(w, r, who, r.PostFormValue("body"), err)
	}
	http.Redirect(w, r, "/r/"+name.Component(key.Room)+"#state", http.StatusSeeOther)
	return nil
}
