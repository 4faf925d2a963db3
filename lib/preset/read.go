package preset

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/record"
)

// When is the moment of a reading. It decides what follows a failed one.
type When bool

// At boot there is nothing to go on with. At a refresh, and when a molt reloads, a
// bad edit must not end a live agent.
const (
	AtBoot    When = false
	AtRefresh When = true
)

// The outcomes of a reading.
const (
	Effective   = "FULLY_EFFECTIVE"
	WithIgnored = "READ_OK_WITH_IGNORED_FIELDS"
	Failed      = "READ_FAILED"
)

// The stages of a reading, in their order.
const (
	stageFile     = "FILE_READ"
	stageJSON     = "JSON_PARSE"
	stageManifest = "MANIFEST_SHAPE"
	stageConflict = "CONFLICT"
	stageShape    = "CAPABILITY_SHAPE"
	stagePreset   = "PRESET"
	stageValidate = "VALIDATE"
	stageResolve  = "RESOLVE"
)

// nextSteps says what to do about a failure at a stage, unless it says so itself.
var nextSteps = map[string]string{
	stageFile:     "make the file there, or give it back its permissions",
	stageJSON:     "mend the text at that line",
	stageManifest: "make manifest an object",
	stageConflict: "keep the new name and remove the old one",
	stageShape:    "give each capability an object of arguments, or null to go without it",
	stagePreset:   "put the preset's file back, or name another allowed one as active",
	stageValidate: "mend that value",
	stageResolve:  "mend that path",
}

// Reading is one reading of an agent's configuration: what is printed about it,
// everything that was found, and what the agent runs on.
type Reading struct {
	record.Reading
	Findings []record.Finding
	Config   *Config // nil when the reading failed

	cause error // of a file that could not be read
}

// Err returns why the reading failed, nil when it did not.
func (r *Reading) Err() error {
	if r.Config != nil {
		return nil
	}
	at := ""
	if r.Line > 0 {
		at = fmt.Sprintf(":%d:%d", r.Line, r.Column)
	}
	code := fault.Corrupt
	switch {
	case r.cause == nil, errors.Is(r.cause, fs.ErrNotExist):
	case errors.Is(r.cause, disk.ErrNotRegular), errors.Is(r.cause, disk.ErrTooLarge): // no other attempt could read it
	default:
		code = fault.From(r.cause).Code
	}
	return fault.New(code, "%s: %s%s: %s", r.Stage, r.File, at, r.Message).WithHint("%s", r.NextStep)
}

// stop ends a reading.
type stop struct {
	stage string
	wrong
}

// Read reads the configuration of the agent in a directory: file, JSON, old names,
// preset, inheritance, schema, paths, in that order. It writes nothing.
func (h Host) Read(dir string, when When) *Reading {
	r := h.reader(dir, when)
	data, err := disk.ReadFile(r.File, maxFile)
	if err != nil {
		r.cause = err
		r.fail(&stop{stageFile, wrong{what: pathless(err)}})
		return r.Reading
	}
	return r.read(data)
}

// pathless returns what an error says besides the path, which is said elsewhere.
func pathless(err error) string {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err.Error()
}

// A reader makes one reading.
type reader struct {
	*Reading
	host     Host
	when     When
	doc      *Doc
	manifest map[string]any // of the effective configuration; it is config.init's
	config   *Config        // not yet whole
}

func (h Host) reader(dir string, when When) *reader {
	return &reader{
		Reading: &Reading{Reading: record.Reading{
			Type: "reading", Dir: dir, File: filepath.Join(dir, body.InitFile), Outcome: Failed,
		}},
		host: h, when: when, config: &Config{Dir: dir, from: map[string]string{}},
	}
}

// read makes a reading of the text of an init.json.
func (r *reader) read(data []byte) *Reading {
	for _, step := range []func([]byte) *stop{
		r.parse, r.shape, r.diagnose, r.materialise, r.inherit, r.skip, r.validate, r.resolve,
	} {
		if s := step(data); s != nil {
			r.fail(s)
			return r.Reading
		}
	}
	r.File = ""
	if r.Outcome = Effective; len(r.IgnoredPaths) > 0 {
		r.Outcome = WithIgnored
	}
	r.Config = r.config
	return r.Reading
}

// fail writes down where a reading stopped and why.
func (r *reader) fail(s *stop) {
	r.Stage, r.Message, r.JSONPath = s.stage, s.what, Path(s.path...)
	if r.JSONPath != "" {
		r.Message = s.String()
	}
	if r.NextStep = s.next; r.NextStep == "" {
		r.NextStep = nextSteps[s.stage]
	}
	if r.Behaviour = "STOP"; r.when == AtRefresh {
		r.Behaviour = "KEEP_PREVIOUS_EFFECTIVE"
	}
	if len(s.path) > 0 {
		doc := r.doc
		if p := r.config.given; p != nil && r.config.source(s.path) == "preset" {
			doc, r.File = p.doc, p.Path
		}
		r.Line, r.Column = doc.At(s.path...)
		r.Excerpt = doc.excerpt(doc.offset(s.path))
	}
	r.note("fail", s.stage, r.Message, r.NextStep)
}

func (r *reader) note(level, check, message, fix string) {
	r.Findings = append(r.Findings, record.Finding{
		Type: "finding", Level: level, Check: check, Message: message, Fix: fix,
	})
}

// ignore notes a path that has no effect.
func (r *reader) ignore(why, fix string, path ...string) {
	r.IgnoredPaths = append(r.IgnoredPaths, Path(path...))
	r.note("warn", "ignored", Path(path...)+": "+why, fix)
}
