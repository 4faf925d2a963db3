package mail

import (
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
)

// maxTries is how often what cannot be read is tried again before it is set aside.
const maxTries = 10

// maxPause is how many rounds pass at most before something is tried again.
const maxPause = 64

// trouble is what could not be read, by folder and ID: how often it was tried, and in
// which round it is tried again. What is not complete yet, and what the disk does not
// give, is tried ever more rarely: a thousand of them do not keep the rest waiting.
// The key "" counts the rounds.
type trouble map[string]*tries

type tries struct{ n, next int }

// round begins a round.
func (t trouble) round() { t.at("").n++ }

func (t trouble) at(key string) *tries {
	if t[key] == nil {
		t[key] = &tries{}
	}
	return t[key]
}

// ready reports whether something is to be tried in this round.
func (t trouble) ready(key string) bool {
	return t[key] == nil || t[key].next <= t.at("").n
}

// waits reports whether anything is to be tried in this round.
func (t trouble) waits() bool {
	for key, one := range t {
		if key != "" && one.next <= t.at("").n {
			return true
		}
	}
	return false
}

// add notes that something failed. It reports whether that was the last time: what
// is malformed, and has been so as often as that, is set aside.
func (t trouble) add(key string, err error) (last bool) {
	one, pause := t.at(key), 1
	one.n++
	if !fault.Is(err, fault.Corrupt) {
		pause = min(1<<min(one.n, 10), maxPause)
	}
	one.next = t.at("").n + pause
	if fault.Is(err, fault.Corrupt) && one.n > maxTries {
		delete(t, key)
		return true
	}
	return false
}

// clear forgets about something.
func (t trouble) clear(key string) { delete(t, key) }

// keep forgets what is no longer in a folder.
func (t trouble) keep(folder string, there map[string]bool) {
	for key := range t {
		if id, ok := strings.CutPrefix(key, folder+"/"); ok && !there[id] {
			delete(t, key)
		}
	}
}
