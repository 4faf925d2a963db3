package gateway

import "sync"

// Once remembers the outcomes of the last changes that were asked for with an id.
// One that it has forgotten is refused as any late change is, by its version.
type Once struct {
	mu    sync.Mutex
	known map[string]*outcome
	order []string // the oldest first
}

// outcomes is how many are remembered.
const outcomes = 4096

type outcome struct {
	mu    sync.Mutex // held while it is decided
	known bool
	value any
}

// Do returns the outcome of what was asked for with an id, which do decides the
// first time, or again when it says that its outcome is not to be kept.
func (o *Once) Do(id string, do func() (value any, keep bool)) (value any, repeated bool) {
	out := o.at(id)
	out.mu.Lock()
	defer out.mu.Unlock()
	if out.known {
		return out.value, true
	}
	value, keep := do()
	if keep {
		out.value, out.known = value, true
	}
	return value, false
}

func (o *Once) at(id string) *outcome {
	o.mu.Lock()
	defer o.mu.Unlock()
	if out, ok := o.known[id]; ok {
		return out
	}
	if o.known == nil {
		o.known = map[string]*outcome{}
	}
	if len(o.order) == outcomes {
		delete(o.known, o.order[0])
		o.order = o.order[1:]
	}
	out := &outcome{}
	o.known[id] = out
	o.order = append(o.order, id)
	return out
}
