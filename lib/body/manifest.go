package body

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/url"
	"time"

	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// Manifest is what .agent.json says: who the agent is. The agent alone writes it,
// as a projection of its configuration without secrets; only agent_id, created_at,
// molt_count, nickname and a name that nothing else gives are kept there and
// nowhere else.
type Manifest struct {
	Kind    Kind
	Err     error // why it is malformed
	*Object       // empty unless the kind is Present
}

// Manifest reads .agent.json.
func (b Body) Manifest() Manifest {
	data, err := disk.ReadFile(b.Path(ManifestFile), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Manifest{Kind: Absent, Object: &Object{}}
	}
	var o *Object
	if err == nil {
		o, err = ParseObject(data)
	}
	if err != nil {
		return Manifest{Kind: Malformed, Err: err, Object: &Object{}}
	}
	return Manifest{Kind: Present, Object: o}
}

// IsAgent reports whether there is an agent, or a human: the file is there, however
// malformed.
func (m Manifest) IsAgent() bool { return m.Kind != Absent }

// IsHuman reports whether it says that a human is behind it: who has no admin rights
// in it at all, not even an empty object of them.
func (m Manifest) IsHuman() bool { return m.Kind == Present && m.Null("admin") }

// AgentID returns the agent's identity.
func (m Manifest) AgentID() string { return m.Text("agent_id") }

// Name returns the agent's true name.
func (m Manifest) Name() string { return m.Text("agent_name") }

// State returns the life state it was in when the file was written.
func (m Manifest) State() string { return m.Text("state") }

// Karma reports whether the agent may act on its peers.
func (m Manifest) Karma() bool { return m.Sub("admin").Truthy("karma") }

// Nirvana reports whether the agent may destroy a peer. That takes karma besides.
func (m Manifest) Nirvana() bool { return m.Sub("admin").Truthy("nirvana") }

// Profile is what an agent makes of its configuration, to be projected into
// .agent.json.
type Profile struct {
	Name         string         // "" keeps the one that is there
	Admin        map[string]any // rights; nil means none, which is not the null of a human
	Language     string
	State        string
	SoulDelay    float64
	SoulVoice    string
	LLM          LLM
	Capabilities []Capability
	Combo        any         // as configured; nil is null
	Preset       *PresetRefs // nil where there is none
	Started      time.Time
}

// LLM is which model an agent talks to.
type LLM struct {
	Provider     string `json:"provider"`
	Model        string `json:"model"`
	BaseURL      string `json:"base_url"` // user and query are cut off when it is written
	APICompat    string `json:"api_compat"`
	ContextLimit *int   `json:"context_limit"`
}

// Capability is one of an agent's capabilities with its arguments, whose secrets
// are left out when it is written.
type Capability struct {
	Name string
	Args map[string]any
}

// PresetRefs are the presets an agent may use.
type PresetRefs struct {
	Active  string   `json:"active"`
	Default string   `json:"default"`
	Allowed []string `json:"allowed"`
}

// Project writes .agent.json anew from a profile. What persists is taken over from
// the file that is there or, where there is none, made; keys that we do not know
// stay. A malformed file is put aside as .agent.json.malformed first, since an
// identity may be read from it by hand.
func (b Body) Project(p Profile, now time.Time) (Manifest, error) {
	m := b.Manifest()
	if m.Kind == Malformed {
		if err := b.putAside(ManifestFile); err != nil {
			return m, err
		}
	}
	o := m.Object
	if err := setAll(o, "agent_id", orMake(o.Text("agent_id"), func() string { return NewAgentID(now) }),
		"agent_name", nullable(orMake(p.Name, func() string { return o.Text("agent_name") })),
		"nickname", nullable(o.Text("nickname")), "address", b.Address(),
		"created_at", orMake(o.Text("created_at"), func() string { return stamp.Seconds(now) }),
		"started_at", stamp.Seconds(p.Started), "admin", orEmpty(p.Admin), "language", p.Language,
		"state", p.State, "soul_delay", p.SoulDelay, "soul_voice", p.SoulVoice,
		"molt_count", int(o.Number("molt_count")), "llm", safe(p.LLM),
		"capabilities", safeCapabilities(p.Capabilities), "combo", WithoutSecrets(p.Combo), "preset", p.Preset,
	); err != nil {
		return m, err
	}
	return Manifest{Kind: Present, Object: o}, disk.Replace(b.Path(ManifestFile), o.Indented())
}

// Amend changes some keys of .agent.json, such as state at a change of state and
// molt_count at a molt. It refuses where the file is missing or malformed: a start of
// the agent makes it. Only the agent itself may, one call at a time.
func (b Body) Amend(change func(*Object) error) error {
	m := b.Manifest()
	switch m.Kind {
	case Malformed:
		return fault.New(fault.Corrupt, "%s: %w", b.Path(ManifestFile), m.Err)
	case Absent:
		return fault.New(fault.BadInput, "no agent was started there yet: %q", b.dir)
	}
	before := string(m.Compact())
	if err := change(m.Object); err != nil || string(m.Compact()) == before {
		return err
	}
	return disk.Replace(b.Path(ManifestFile), m.Indented())
}

// SetName gives an agent its true name, once.
func (b Body) SetName(name string) error {
	return b.Amend(func(o *Object) error {
		switch have := o.Text("agent_name"); {
		case name == "":
			return fault.New(fault.BadInput, "a name is empty")
		case have == name:
			return nil
		case have != "":
			return fault.New(fault.Exists, "named already: %q", have).WithHint("a nickname can be changed")
		}
		return o.Set("agent_name", name)
	})
}

// SetNickname gives an agent another name besides; "" takes it away.
func (b Body) SetNickname(name string) error {
	return b.Amend(func(o *Object) error { return o.Set("nickname", nullable(name)) })
}

// NewAgentID returns a new identity: YYYYMMDD-HHMMSS-xxxx, in UTC.
func NewAgentID(now time.Time) string {
	return now.UTC().Format("20060102-150405") + fmt.Sprintf("-%04x", rand.N(1<<16))
}

// SafeURL returns a URL without user, password, query and fragment, "" when it is
// none.
func SafeURL(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" { // such as user:password@host
		return ""
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

func safe(l LLM) map[string]any {
	return map[string]any{
		"provider": l.Provider, "model": l.Model, "base_url": nullable(SafeURL(l.BaseURL)),
		"api_compat": nullable(l.APICompat), "context_limit": l.ContextLimit,
	}
}

// safeCapabilities returns [[name, arguments], ...].
func safeCapabilities(all []Capability) [][2]any {
	pairs := make([][2]any, len(all))
	for i, c := range all {
		pairs[i] = [2]any{c.Name, WithoutSecrets(orEmpty(c.Args))}
	}
	return pairs
}

// setAll sets keys, which alternate with their values.
func setAll(o *Object, pairs ...any) error {
	for i := 0; i < len(pairs); i += 2 {
		if err := o.Set(pairs[i].(string), pairs[i+1]); err != nil {
			return err
		}
	}
	return nil
}

// putAside keeps the bytes of a malformed file that is about to be written anew.
func (b Body) putAside(file string) error {
	data, err := disk.ReadFile(b.Path(file), maxFile)
	if err != nil {
		return fault.New(fault.Corrupt, "cannot read what is to be replaced: %w", err)
	}
	return disk.Replace(b.Path(file+".malformed"), data)
}

func orMake(s string, make func() string) string {
	if s != "" {
		return s
	}
	return make()
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

// nullable writes an empty text as null.
func nullable(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
