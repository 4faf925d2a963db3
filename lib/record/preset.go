package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Reading says how an agent's init.json was read: whether it makes a whole
// configuration and, when it does not, where it stopped and what happens then.
type Reading struct {
	Type               string `json:"type"` // "reading"
	Dir                string `json:"dir"`
	Outcome            string `json:"outcome"`   // FULLY_EFFECTIVE, READ_OK_WITH_IGNORED_FIELDS or READ_FAILED
	Stage              string `json:"stage"`     // where it failed; "" when it did not
	Behaviour          string `json:"behaviour"` // "STOP" or "KEEP_PREVIOUS_EFFECTIVE" when it failed
	Message            string `json:"message"`
	File               string `json:"file"` // what line and column count in: init.json, or a preset
	Line               int    `json:"line"` // 0 when unknown
	Column             int    `json:"column"`
	JSONPath           string `json:"json_path"`
	Excerpt            string `json:"excerpt"` // the shape of that line; its words are left out
	IgnoredPaths       Names  `json:"ignored_paths"`
	CompatibilityPaths Names  `json:"compatibility_paths"` // names that are old
	ConflictPaths      Names  `json:"conflict_paths"`
	NextStep           string `json:"next_step"`
}

// Resolved says where the effective manifest of an agent was written.
type Resolved struct {
	Type    string `json:"type"` // "resolved"
	Dir     string `json:"dir"`
	Path    string `json:"path"`
	Outcome string `json:"outcome"`
	Preset  string `json:"preset"` // the one that is active, as init.json names it; "" without presets
}

// Setting is one effective value of an agent's configuration and where it comes
// from.
type Setting struct {
	Type   string          `json:"type"` // "setting"
	Path   string          `json:"path"`
	Source string          `json:"source"` // "init", "preset", "inherit" or "default"
	File   string          `json:"file"`   // "" for a default
	Secret bool            `json:"secret"` // the value is not shown
	Value  json.RawMessage `json:"value"`
}

// Model is which model a preset talks to.
type Model struct {
	Provider string `json:"provider"`
	Model    string `json:"model"`
}

// Connectivity says whether a preset's model could be reached just now.
type Connectivity struct {
	Status    string `json:"status"` // "ok", "no_credentials" or "unreachable"
	CheckedAt string `json:"checked_at"`
	LatencyMS int64  `json:"latency_ms"`
	Error     string `json:"error"`
}

// Preset is a preset that an agent may use.
type Preset struct {
	Type         string          `json:"type"`   // "preset"
	Preset       string          `json:"preset"` // its path as allowed has it: its identity
	Name         string          `json:"name"`   // for display
	Active       bool            `json:"active"`
	Default      bool            `json:"default"`
	Tier         string          `json:"tier"` // "1" to "5", or ""
	Description  json.RawMessage `json:"description"`
	LLM          Model           `json:"llm"`
	ContextLimit int64           `json:"context_limit"` // 0: unknown
	Capabilities Names           `json:"capabilities"`
	Connectivity Connectivity    `json:"connectivity"`
}

// PresetFile is a preset that lies in a library, allowed or not.
type PresetFile struct {
	Type    string `json:"type"` // "preset_file"
	Path    string `json:"path"`
	Name    string `json:"name"`
	Summary string `json:"summary"`
	Tier    string `json:"tier"`
	LLM     Model  `json:"llm"`
	Error   string `json:"error"` // why it cannot be used, or ""
}

// Swap says which preset an agent has from its next refresh on.
type Swap struct {
	Type         string `json:"type"` // "swap"
	Dir          string `json:"dir"`
	Preset       string `json:"preset"`
	Previous     string `json:"previous"`
	Default      string `json:"default"`
	Revert       bool   `json:"revert"`
	LLM          Model  `json:"llm"`
	ContextLimit int64  `json:"context_limit"` // 0: unknown
	Changed      bool   `json:"changed"`       // init.json was written
	Backup       string `json:"backup"`        // the copy of what it was; "" when nothing was lost
}

// PromptSection is one section of a system prompt.
type PromptSection struct {
	Name   string `json:"name"`
	Source string `json:"source"` // "resident", "init", "mirror", "file" or "made"
	Batch  int    `json:"batch"`
	Bytes  int    `json:"bytes"`
}

// Prompt says what an agent's system prompt was composed of.
type Prompt struct {
	Type     string          `json:"type"` // "prompt"
	Dir      string          `json:"dir"`
	Path     string          `json:"path"` // "" when it was not written
	Bytes    int             `json:"bytes"`
	SHA256   string          `json:"sha256"`
	Sections []PromptSection `json:"sections"`
}

// GuidanceSection is one section of the guidance.
type GuidanceSection struct {
	ID   string `json:"id"`
	Text string `json:"text"`
}

// Guidance is what a mind is to be reminded of, in order.
type Guidance struct {
	Type     string            `json:"type"` // "guidance"
	Sections []GuidanceSection `json:"sections"`
}

// Text says the outcome and, where there is one, the fault.
func (r Reading) Text() string {
	s := r.Outcome + "  " + r.Dir
	if r.Stage == "" {
		return OneLine(s)
	}
	s += fmt.Sprintf("  %s: %s", r.Stage, r.Message)
	if r.Line > 0 {
		s += fmt.Sprintf("  at %s:%d:%d", r.File, r.Line, r.Column)
	}
	s = OneLine(s)
	if r.Excerpt != "" {
		s += "\n      " + OneLine(r.Excerpt)
	}
	return s + "\n      next: " + OneLine(r.NextStep)
}

// Text says where the manifest is.
func (r Resolved) Text() string { return OneLine(r.Path + "  " + r.Outcome + "  " + r.Preset) }

// Text says a value and where it comes from.
func (s Setting) Text() string {
	value := string(s.Value)
	if s.Secret {
		value = "(secret)"
	}
	from := s.Source
	if s.File != "" {
		from += " " + s.File
	}
	return OneLine(fmt.Sprintf("%s = %s  (%s)", s.Path, value, from))
}

// Text says what a preset is and whether it can be used.
func (p Preset) Text() string {
	mark := " "
	if p.Active {
		mark = "*"
	}
	var about struct {
		Summary string `json:"summary"`
	}
	if json.NewDecoder(bytes.NewReader(p.Description)).Decode(&about) != nil {
		about.Summary = ""
	}
	tier := ""
	if p.Tier != "" {
		tier = "tier " + p.Tier + "  "
	}
	return OneLine(fmt.Sprintf("%s %s  %s/%s  %s%s  %s", mark, p.Preset, p.LLM.Provider, p.LLM.Model, tier,
		strings.TrimSpace(p.Connectivity.Status+" "+p.Connectivity.Error), about.Summary))
}

// Text says what a preset file is, or why it is none.
func (p PresetFile) Text() string {
	if p.Error != "" {
		return OneLine(p.Path + "  unusable: " + p.Error)
	}
	return OneLine(fmt.Sprintf("%s  %s/%s  %s", p.Path, p.LLM.Provider, p.LLM.Model, p.Summary))
}

// Text says what became of a swap.
func (s Swap) Text() string {
	kept := ""
	if s.Backup != "" {
		kept = "; what could not be kept is in " + s.Backup
	}
	return OneLine(fmt.Sprintf("active from the next refresh on: %s  %s/%s  (was %s, default %s)%s",
		s.Preset, s.LLM.Provider, s.LLM.Model, s.Previous, s.Default, kept))
}

// Text says how long a prompt is and what of.
func (p Prompt) Text() string {
	names := make([]string, len(p.Sections))
	for i, s := range p.Sections {
		names[i] = s.Name
	}
	return OneLine(fmt.Sprintf("%s  %d bytes  %s", p.Path, p.Bytes, strings.Join(names, ", ")))
}

// Text prints the guidance for people.
func (g Guidance) Text() string {
	texts := make([]string, len(g.Sections))
	for i, s := range g.Sections {
		texts[i] = s.Text
	}
	return strings.Join(texts, "\n\n")
}
