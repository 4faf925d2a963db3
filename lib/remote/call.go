package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strconv"
	"time"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/store"
	"github.com/substrate-tools/substrate/lib/transcript"
)

// Request is one request to a proxy.
type Request struct {
	Method string            `json:"method"`
	Path   string            `json:"path"` // and query
	Header map[string]string `json:"header"`
	Body   []byte            `json:"-"`
}

// Response is the answer, whose body is to be closed.
type Response struct {
	Status int
	Header map[string]string // keys in lower case
	Body   io.ReadCloser
}

// Carrier takes requests to a proxy. An error says that the proxy was not reached,
// or that its answer was lost, which cannot be told apart.
type Carrier interface {
	Do(context.Context, Request) (*Response, error)
}

// How long is waited before something is asked for again: a proxy that is being
// started anew is soon back.
var (
	patience = []time.Duration{100 * time.Millisecond, 400 * time.Millisecond, 1500 * time.Millisecond}
	haste    = patience[:2]
)

// small is how much of an answer is fetched before anybody asks for it, in bytes:
// most are read to their end then, and their carrier is free again.
const small = 256 << 10

func itoa(n int) string { return strconv.Itoa(n) }

// get decodes the answer to a question that any of the participants may ask.
func (s *Store) get(ctx context.Context, path string, v any) error {
	answer, err := s.any(ctx, Request{Method: "GET", Path: path})
	if err != nil {
		return err
	}
	return decode(answer, v)
}

// any asks as one participant after the other until one of them may know.
func (s *Store) any(ctx context.Context, r Request) (*Response, error) {
	if len(s.Keys) == 0 {
		return nil, fault.New(fault.Denied, "no key for %s", s.URL).
			WithHint("substrate-join --packet FILE, with the file the host made for you")
	}
	var first error
	for _, k := range s.Keys {
		answer, err := s.try(ctx, k.Key, r, haste)
		if err == nil {
			return answer, nil
		}
		if first == nil || !fault.Is(err, fault.UnknownThread) && fault.Is(first, fault.UnknownThread) {
			first = err
		}
		if !fault.Is(err, fault.UnknownThread) && !fault.Is(err, fault.Denied) {
			break
		}
	}
	return nil, first
}

// key returns somebody's key.
func (s *Store) key(who string) (string, error) {
	for _, k := range s.Keys {
		if k.Name == who || who == "" {
			return k.Key, nil
		}
	}
	return "", fault.New(fault.Denied, "no key of %q for %s", who, s.URL).
		WithHint("substrate-join --packet FILE, with the file the host made for %s", who)
}

// as asks as somebody.
func (s *Store) as(ctx context.Context, who string, r Request) (*Response, error) {
	key, err := s.key(who)
	if err != nil {
		return nil, err
	}
	return s.try(ctx, key, r, haste)
}

// write asks for a change as somebody ("": anybody who is here). id makes asking
// for it again harmless.
func (s *Store) write(ctx context.Context, who, path, id string, ask, answer any) error {
	key, err := s.key(who)
	if err != nil {
		return err
	}
	body, err := record.Encode(ask)
	if err != nil {
		return err
	}
	got, err := s.try(ctx, key, Request{
		Method: "POST", Path: path, Body: body,
		Header: map[string]string{"Content-Type": "application/json", "Idempotency-Key": id},
	}, patience)
	if fault.Is(err, fault.Unreachable) {
		return fault.New(fault.Unreachable, "%w; whether it was done is not known", err).
			WithHint("try again later; with an --id nothing is written twice")
	}
	if err != nil {
		return err
	}
	return decode(got, answer)
}

// try asks, and again when there is no answer, or none now. What is returned is
// an answer that is not a refusal.
func (s *Store) try(ctx context.Context, key string, r Request, pauses []time.Duration) (*Response, error) {
	header := map[string]string{"Authorization": "Bearer " + key}
	for name, value := range r.Header {
		header[name] = value
	}
	r.Header = header
	var lost error // the last time that nobody answered
	late := func() error {
		if lost != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return lost
		}
		return context.Cause(ctx)
	}
	for n := 0; ; n++ {
		answer, err := s.Carrier.Do(ctx, r)
		if err == nil && answer.Status < 300 {
			if err = answer.fetch(); err == nil {
				return answer, nil
			}
		}
		if err == nil {
			err = refusal(answer)
		} else if err = fault.New(fault.Unreachable, "cannot reach %s: %w", s.URL, err); ctx.Err() != nil {
			return nil, late()
		}
		if n == len(pauses) || !again(err) {
			return nil, err
		}
		if fault.Is(err, fault.Unreachable) {
			lost = err
		}
		select {
		case <-time.After(pauses[n]):
		case <-ctx.Done():
			return nil, late()
		}
	}
}

// again reports whether the same request may do better later.
func again(err error) bool { return fault.Is(err, fault.Unreachable) || fault.Is(err, fault.Busy) }

// refusal makes an error of an answer that is one.
func refusal(answer *Response) error {
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, small))
	if err != nil {
		return fault.New(fault.Unreachable, "the answer was lost: %w", err)
	}
	var r record.Error
	if json.Unmarshal(data, &r) != nil || r.Type != "error" || r.Code == "" {
		return fault.New(fault.Unreachable, "not the answer of a substrate-proxy: HTTP status %d", answer.Status)
	}
	if answer.Status == 401 { // HTTP's; its hint is for who sends keys by hand
		r.Hint = "it was rotated or revoked: ask the host for a new packet, then substrate-join --packet FILE"
	}
	return &fault.Error{
		Code: fault.Code(r.Code), Message: r.Message, Hint: r.Hint, Thread: r.Thread, Current: r.Current, Version: r.Version,
	}
}

// fetch reads what is small of an answer that ends by itself.
func (a *Response) fetch() error {
	if a.Header["content-type"] == "text/event-stream" {
		return nil
	}
	head := make([]byte, small)
	n, err := io.ReadFull(a.Body, head)
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		a.Body.Close()
		a.Body = io.NopCloser(bytes.NewReader(head[:n]))
	case err != nil:
		a.Body.Close()
		return err
	default:
		rest := a.Body
		a.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(head), rest), rest}
	}
	return nil
}

func decode(answer *Response, v any) error {
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(v); err != nil {
		return broken(err)
	}
	return nil
}

// broken is the error of an answer that makes no sense, or stops in the middle.
func broken(err error) error {
	if f := fault.From(err); f.Code == fault.Unreachable {
		return err
	}
	return fault.New(fault.Unreachable, "the proxy's answer is broken: %w", err)
}

// lines yields the records of an answer, each to be decoded, and closes it.
func lines(body io.ReadCloser) iter.Seq2[record.Line, error] {
	return func(yield func(record.Line, error) bool) {
		defer body.Close()
		in := record.NewReader(body)
		for {
			line, err := in.Peek()
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				err = broken(err)
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

// view makes a view of an answer that begins with a snapshot and goes on with
// entries. Only a window at the end says that they are whole.
func view(answer *Response) (store.View, error) {
	next, stop := iter.Pull2(lines(answer.Body))
	line, err, ok := next()
	var snap record.Snapshot
	if ok && err == nil {
		err = json.Unmarshal(line.Raw, &snap)
	}
	if !ok || err != nil || snap.Type != "snapshot" {
		stop()
		return store.View{}, broken(errors.Join(err, errors.New("no snapshot")))
	}
	v := store.View{Head: head(snap.RoomKeys, snap.LastEntry), Lines: snap.TotalLines, Visible: snap.VisibleEntries}
	if d := snap.Damage; d != nil {
		v.Damage = &fault.Error{Code: fault.Code(d.Code), Message: d.Message, Hint: d.Hint, Thread: d.Thread}
	}
	v.Entries = func(yield func(transcript.Entry, error) bool) {
		defer stop()
		for {
			line, err, ok := next()
			if err == nil && (!ok || line.Type == "error") {
				err = cut(line, ok)
			}
			if err == nil && line.Type == "window" && json.Valid(line.Raw) {
				return
			}
			var e transcript.Entry
			if err == nil {
				e, err = entry(line)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
	return v, nil
}

// cut is the error of entries that stop before their end.
func cut(line record.Line, said bool) error {
	var r record.Error
	if said && json.Unmarshal(line.Raw, &r) == nil {
		return &fault.Error{Code: fault.Code(r.Code), Message: r.Message, Hint: r.Hint, Thread: r.Thread}
	}
	return broken(errors.New("it stops in the middle"))
}
