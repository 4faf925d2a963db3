package preset

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// lockFile is what writers of init.json hold while they read it and write it anew.
const lockFile = ".init.lock"

// Request asks for another preset.
type Request struct {
	Preset string        // blanks around it do not count; "" when there is none
	Revert bool          // to manifest.preset.default
	Tokens *int64        // in the conversation now; nil when unknown
	Wait   time.Duration // for another writer

	// Check, unless it is nil, is asked last, of what would be read after the swap.
	Check func(*Reading) error
}

// None reports that no preset is asked for.
func (q Request) None() bool { return strings.TrimSpace(q.Preset) == "" && !q.Revert }

// Event is something that an agent's log is to be told of.
type Event struct {
	Type   string
	Fields map[string]any
}

// Activate makes another preset the active one, from the next refresh on. It asks,
// in this order: is one thing asked for; is it allowed; does it load; does the
// conversation fit; can an agent start with it; does the request's check pass. A refusal has written nothing at
// all, and the log is to be told of its events.
//
// The write is one edit of init.json: active, default (but for a revert), the model,
// its context limit and the capabilities together. It takes the words that the
// preset was named by, and adds them to allowed where they are another spelling.
// What it cannot keep, remarks on what goes and arguments of the operator's for a
// capability that goes, is in a copy of the file as it was, which the record names.
// With nothing asked for, nothing is done and the record's type is "".
func (h Host) Activate(ctx context.Context, dir string, q Request) (record.Swap, []Event, error) {
	q.Preset = strings.TrimSpace(q.Preset)
	switch {
	case q.Preset != "" && q.Revert:
		return record.Swap{}, nil, fault.New(fault.BadInput, "either a preset or a revert, not both: %q", q.Preset)
	case q.None():
		return record.Swap{}, nil, nil
	}
	// Refusals come without the lock, whose file they would leave behind. What is
	// written is decided again under it.
	if _, events, err := h.plan(dir, q); err != nil {
		return record.Swap{}, events, err
	}
	unlock, err := disk.Lock(ctx, filepath.Join(dir, lockFile), q.Wait)
	if err != nil {
		return record.Swap{}, nil, err
	}
	defer unlock()
	p, events, err := h.plan(dir, q)
	if err != nil {
		return record.Swap{}, events, err
	}
	if p.loses {
		p.swap.Backup, err = h.backup(p)
	}
	if err == nil && p.swap.Changed {
		if err = disk.ReplaceLike(p.file, p.text); err != nil && p.swap.Backup != "" {
			os.Remove(p.swap.Backup)
		}
	}
	return p.swap, nil, err
}

// backup keeps the file as it was beside it.
func (h Host) backup(p plan) (path string, err error) {
	for at := h.Now(); ; at = at.Add(time.Millisecond) {
		path = p.file + "." + stamp.Entry(at) + ".backup"
		if err = disk.CreateLike(path, p.before, p.file); !errors.Is(err, fs.ErrExist) {
			return path, err
		}
	}
}

// Swap is Activate for a body: what its conversation has is taken from its status
// where the request does not say, and its log is told. unlogged says why the log
// could not be written, which does not stand in the way.
func (h Host) Swap(ctx context.Context, b body.Body, q Request) (swap record.Swap, unlogged, err error) {
	if q.Tokens == nil {
		q.Tokens = currentTokens(b)
	}
	swap, events, err := h.Activate(ctx, b.Dir(), q)
	log := b.Log(b.Manifest().Name())
	for _, e := range events {
		unlogged = errors.Join(unlogged, log.Append(h.Now(), e.Type, e.Fields))
	}
	return swap, unlogged, err
}

// currentTokens returns how many tokens a conversation has, as its agent's status
// says, nil when it does not.
func currentTokens(b body.Body) *int64 {
	status, kind := b.Status()
	if kind != body.Present || status.Tokens.Context.Tokens <= 0 {
		return nil
	}
	return &status.Tokens.Context.Tokens
}

// Known returns a number of tokens that may be unknown.
func Known(n *int) *int64 {
	if n == nil {
		return nil
	}
	tokens := int64(*n)
	return &tokens
}

// plan is what an activation will write.
type plan struct {
	file   string
	before []byte
	text   []byte
	loses  bool // something that is in before and that no swap brings back
	swap   record.Swap
}

func (h Host) plan(dir string, q Request) (plan, []Event, error) {
	p := plan{file: filepath.Join(dir, body.InitFile)}
	doc, err := h.raw(dir)
	if err != nil {
		return p, nil, err
	}
	if q.Revert {
		if q.Preset, _ = doc.get("manifest", "preset", "default").(string); q.Preset == "" {
			return p, nil, fault.New(fault.BadInput, "nothing to revert to: manifest.preset.default is missing")
		}
	}
	if !h.Member(dir, q.Preset, doc.get("manifest", "preset", "allowed")) {
		refused := Event{"preset_swap_refused_unauthorized", map[string]any{"preset": q.Preset}}
		return p, []Event{refused}, notAllowed(q.Preset)
	}
	target, err := h.Load(dir, q.Preset)
	if errors.Is(err, ErrMissing) {
		return p, nil, err
	}
	if err != nil {
		return p, nil, fault.New(fault.Corrupt, "preset failed to activate: %w", err)
	}
	if q.Tokens != nil && target.Limit > 0 && *q.Tokens > target.Limit {
		refused := Event{"preset_swap_refused_oversize", map[string]any{
			"preset": q.Preset, "current_tokens": *q.Tokens, "target_limit": target.Limit,
		}}
		return p, []Event{refused}, fault.New(fault.Denied,
			"conversation too large for the preset: %q holds %d tokens, it has %d", q.Preset, target.Limit, *q.Tokens).
			WithHint("compress the conversation, or take a preset with a larger context")
	}
	return p, nil, p.edit(h, dir, doc, target, q)
}

// edit makes the new text and tries it: an agent that could not start with it would
// be stranded.
func (p *plan) edit(h Host, dir string, doc *Doc, target *Preset, q Request) error {
	next, spared, err := h.activated(dir, doc, target, q.Revert)
	if err != nil {
		return fault.New(fault.Corrupt, "preset failed to activate: %w", err)
	}
	tried := h.reader(dir, AtRefresh).read(next.Bytes())
	if err := tried.Err(); err != nil {
		return fault.New(fault.Corrupt, "preset failed to activate: %q: %w", target.Ref, err)
	}
	if q.Check != nil {
		if err := q.Check(tried); err != nil {
			return err
		}
	}
	p.before, p.text = doc.Bytes(), next.Bytes()
	p.loses = !spared || fewer(doc.remarks(), next.remarks())
	at := func(key string) string { s, _ := next.get("manifest", "preset", key).(string); return s }
	p.swap = record.Swap{
		Type: "swap", Dir: dir, Preset: at("active"), Default: at("default"), Revert: q.Revert,
		LLM: target.Model(), ContextLimit: tried.Config.Limit(), Changed: string(p.text) != string(doc.Bytes()),
	}
	p.swap.Previous, _ = doc.get("manifest", "preset", "active").(string)
	return nil
}

// activated returns the text of init.json with another preset in it, and whether it
// has all arguments of the operator's own.
func (h Host) activated(dir string, doc *Doc, target *Preset, revert bool) (next *Doc, spared bool, err error) {
	r := h.reader(dir, AtRefresh)
	raw, _ := doc.get("manifest", "capabilities").(map[string]any)
	for _, caps := range []map[string]any{raw, target.Capabilities} {
		if s := r.oldNames(caps, target.Ref); s != nil {
			return nil, false, errors.New(s.String())
		}
	}
	manifest := clone(doc.get("manifest")).(map[string]any)
	var old *Preset
	if was, ok := doc.get("manifest", "preset", "active").(string); ok {
		if old, _ = h.Load(dir, was); old != nil {
			old.disown(manifest)
		}
	}
	own := clone(manifest).(map[string]any)
	target.apply(manifest, func(...string) {})
	caps := manifest["capabilities"].(map[string]any)
	spared = old.spares(own, manifest)
	for old, now := range renamed { // an old name is the operator's to change
		if has(raw, old) && !has(raw, now) && has(caps, now) {
			caps[old] = caps[now]
			delete(caps, now)
		}
	}
	edits := []change{
		{manifest["llm"], []string{"manifest", "llm"}}, {caps, []string{"manifest", "capabilities"}},
		{target.Ref, []string{"manifest", "preset", "active"}},
	}
	if !revert {
		edits = append(edits, change{target.Ref, []string{"manifest", "preset", "default"}})
	}
	allowed, _ := doc.get("manifest", "preset", "allowed").([]any)
	if !slices.ContainsFunc(allowed, func(item any) bool { return item == target.Ref }) {
		allowed = append(slices.Clone(allowed), target.Ref)
		edits = append(edits, change{allowed, []string{"manifest", "preset", "allowed"}})
	}
	next, err = doc.changed(edits, manifest["context_limit"])
	return next, spared, err
}

// change is one value to be set.
type change struct {
	value any
	path  []string
}

func (d *Doc) changed(edits []change, limit any) (next *Doc, err error) {
	at := []string{"manifest", "context_limit"}
	if limit != nil {
		edits = append(edits, change{limit, at})
	} else if d, err = d.Without(at...); err != nil {
		return nil, err
	}
	for _, e := range edits {
		if d, err = d.With(e.value, e.path...); err != nil {
			return nil, err
		}
	}
	return d, nil
}
