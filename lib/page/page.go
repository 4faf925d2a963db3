// Package page serves rooms to people with a browser: server-rendered HTML that
// can be read without a script, and a little script that shows entries as they
// land. Whoever opened a one-time link has a session in a cookie; no key is in any
// address after that.
package page

import (
	"bytes"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/name"
	"github.com/substrate-tools/substrate/lib/record"
)

//go:embed parts
var parts embed.FS

// page is the handler.
type page struct {
	g     *gateway.Gateway
	html  *template.Template
	cross *http.CrossOriginProtection
}

// Serve adds the routes to a gateway.
func Serve(g *gateway.Gateway) {
	p := &page{g: g, cross: http.NewCrossOriginProtection()}
	p.html = template.Must(template.New("").Funcs(template.FuncMap{
		"path": func(room string) string { return "/r/" + name.Component(room) },
		"text": func(s string) string { return record.OneLine(s) },
	}).ParseFS(parts, "parts/*.html"))
	for _, file := range []string{"style.css", "script.js"} {
		g.Handle("GET /"+file, asset(file))
	}
	g.Handle("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	g.Handle("GET /{$}", p.known(p.rooms))
	g.Handle("GET /enter", p.plain(p.link))
	g.Handle("POST /enter", p.plain(p.enter))
	g.Handle("POST /leave", p.known(p.leave))
	g.Handle("GET /events", p.known(p.events))
	g.Handle("GET /r/{room}", p.known(p.room))
	g.Handle("GET /r/{room}/live", p.known(p.live))
	g.Handle("POST /r/{room}/write", p.known(p.write))
	g.Handle("POST /r/{room}/moderate", p.known(p.moderate))
}

func asset(file string) http.HandlerFunc {
	kind := map[bool]string{true: "text/css; charset=utf-8", false: "text/javascript; charset=utf-8"}[strings.HasSuffix(file, ".css")]
	data, err := parts.ReadFile("parts/" + file)
	return func(w http.ResponseWriter, _ *http.Request) {
		if err != nil {
			http.Error(w, "gone", http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Cache-Control", "no-cache")
		w.Write(data)
	}
}

// handler answers to somebody, "" before he is known.
type handler func(w http.ResponseWriter, r *http.Request, who string) error

// csp lets nothing in but what this server sends: whatever an entry holds, it
// loads and runs nothing.
const csp = "default-src 'none'; img-src 'self'; style-src 'self'; script-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// plain serves whoever comes. A form is taken from our own pages only.
func (p *page) plain(h handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", csp)
		// With no referrer at all a browser hides the origin of its forms as well.
		// Only the origin goes out: there may be the key of a link in an address.
		w.Header().Set("Referrer-Policy", "strict-origin")
		w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
		w.Header().Set("Cross-Origin-Resource-Policy", "same-origin")
		r.Body = http.MaxBytesReader(w, r.Body, 3*int64(p.g.Longest())+4096) // a form writes a byte as three
		err := p.cross.Check(r)
		if err != nil {
			err = fault.New(fault.Denied, "a page of another origin asked")
		}
		if err == nil {
			err = h(w, r, "")
		}
		if err != nil {
			p.fail(w, err)
		}
	}
}

// known serves whoever has a session.
func (p *page) known(h handler) http.HandlerFunc {
	return p.plain(func(w http.ResponseWriter, r *http.Request, _ string) error {
		session := p.session(r)
		who, err := "", error(fault.New(fault.Denied, "no session"))
		if session != "" {
			who, err = p.g.Admit(w, r, session, keyring.Session)
		}
		if fault.Is(err, fault.Denied) {
			return p.show(w, http.StatusUnauthorized, "stranger.html", view{Title: "Not signed in"})
		}
		if err != nil {
			return err
		}
		return h(w, r, who)
	})
}

// cookie returns the name of the cookie; a browser keeps one with the prefix from
// being set by anybody else.
func (p *page) cookie() string {
	if p.private() {
		return "__Host-substrate"
	}
	return "substrate"
}

func (p *page) private() bool { return strings.HasPrefix(p.g.URL, "https://") }

func (p *page) session(r *http.Request) string {
	c, err := r.Cookie(p.cookie())
	if err != nil {
		return ""
	}
	return c.Value
}

func (p *page) setSession(w http.ResponseWriter, key string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: p.cookie(), Value: key, Path: "/", MaxAge: int(life.Seconds()),
		HttpOnly: true, Secure: p.private(), SameSite: http.SameSiteLaxMode,
	})
}

// link shows what a one-time link opens. Looking at it uses nothing up: links are
// fetched by previews too.
func (p *page) link(w http.ResponseWriter, r *http.Request, _ string) error {
	key := r.URL.Query().Get("link")
	who, err := p.g.Admit(w, r, key, keyring.Link)
	if fault.Is(err, fault.Denied) {
		return p.show(w, http.StatusUnauthorized, "stranger.html", view{Title: "This link is not valid", Link: true})
	}
	if err != nil {
		return err
	}
	return p.show(w, http.StatusOK, "enter.html", view{Title: "Enter as " + who, Who: who, Key: key})
}

// maxLink is the longest form that is taken from whoever comes, in bytes.
const maxLink = 4096

// enter uses a link up and gives its owner a session.
func (p *page) enter(w http.ResponseWriter, r *http.Request, _ string) error {
	r.Body = http.MaxBytesReader(w, r.Body, maxLink) // nobody is known yet
	if err := r.ParseForm(); err != nil {
		return err
	}
	link := r.PostFormValue("link")
	_, err := p.g.Admit(w, r, link, keyring.Link)
	session := ""
	if err == nil {
		session, _, err = p.g.Keys.Redeem(r.Context(), link, p.g.Now())
	}
	if fault.Is(err, fault.Denied) {
		return p.show(w, http.StatusUnauthorized, "stranger.html", view{Title: "This link is not valid", Link: true})
	}
	if err != nil {
		return err
	}
	p.setSession(w, session, keyring.SessionLife)
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// leave ends a session.
func (p *page) leave(w http.ResponseWriter, r *http.Request, _ string) error {
	if err := p.g.Keys.End(r.Context(), p.session(r), p.g.Now()); err != nil {
		return err
	}
	p.setSession(w, "", -time.Second)
	http.Redirect(w, r, "/", http.StatusSeeOther)
	return nil
}

// events is the stream that the script listens to.
func (p *page) events(w http.ResponseWriter, r *http.Request, who string) error {
	room := r.URL.Query().Get("room")
	if room != "" {
		if _, _, err := p.g.In(r.Context(), who, room); err != nil {
			return err
		}
	}
	key := p.session(r)
	return p.g.Stream(w, r, who, room, func() bool { return p.g.Keys.Owner(key, keyring.Session, p.g.Now()) == who })
}

// show renders a part. It is whole before any of it is sent.
func (p *page) show(w http.ResponseWriter, status int, part string, v any) error {
	var b bytes.Buffer
	if err := p.html.ExecuteTemplate(&b, part, v); err != nil {
		return fault.New(fault.IO, "page: %w", err)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, err := w.Write(b.Bytes())
	return err
}

// fail answers with a page that says why not.
func (p *page) fail(w http.ResponseWriter, err error) {
	var long *http.MaxBytesError
	if errors.As(err, &long) {
		err = fault.New(fault.TooLarge, "this is too large")
	}
	f := p.g.Public(err)
	p.show(w, gateway.Status(f), "refused.html", view{Title: "Not done", Refused: sentence(f)})
}

func sentence(f *fault.Error) string {
	s := record.OneLine(f.Message)
	s = strings.ToUpper(s[:1]) + s[1:] + "."
	return s
}
