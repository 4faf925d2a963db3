package control

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
)

// Preflight says whether an agent can be started anew, in the order in which it is to
// be looked at before a refresh: the right to, the interpreter and the launch command,
// the configuration, its preset, the context, the environment, the durable stores. A
// refresh goes ahead unless one of them fails.
func Preflight(b body.Body, h preset.Host) []record.Finding {
	return preflightOf(b, h, h.Read(b.Dir(), preset.AtRefresh))
}

// preflightOf is Preflight with this configuration.
func preflightOf(b body.Body, h preset.Host, r *preset.Reading) []record.Finding {
	p := preflight{b: b, h: h, r: r}
	p.ok("authority", "an agent may refresh itself, and one with karma its peers")
	p.interpreter()
	if r.Config == nil {
		p.fail("config", r.Message, r.NextStep)
		return p.found
	}
	p.ok("config", r.Outcome)
	p.preset()
	p.context()
	p.environment()
	p.stores()
	return p.found
}

// Refused returns the first failure of a preflight as an error.
func Refused(found []record.Finding) error {
	for _, f := range found {
		if f.Level == "fail" {
			return fault.New(fault.BadInput, "no refresh: %s: %s", f.Check, f.Message).WithHint("%s", f.Fix)
		}
	}
	return nil
}

type preflight struct {
	b     body.Body
	h     preset.Host
	r     *preset.Reading
	found []record.Finding
}

func (p *preflight) note(level, check, message, fix string) {
	p.found = append(p.found, record.Finding{
		Type: "finding", Level: level, Check: check, Message: message, Fix: fix,
	})
}

func (p *preflight) ok(check, message string)        { p.note("ok", check, message, "") }
func (p *preflight) warn(check, message, fix string) { p.note("warn", check, message, fix) }
func (p *preflight) fail(check, message, fix string) { p.note("fail", check, message, fix) }

// interpreter looks at what the agent is started with.
func (p *preflight) interpreter() {
	l, err := ReadLaunch(p.b)
	if err == nil {
		err = l.usable()
	}
	if err != nil {
		p.fail("interpreter", fault.From(err).Message, fault.From(err).Hint)
		return
	}
	if p.r.Config != nil && p.r.Config.Text("venv_path") != "" {
		if _, err := Python(p.r.Config.Text("venv_path")); err != nil {
			p.fail("interpreter", fault.From(err).Message, fault.From(err).Hint)
			return
		}
	}
	p.ok("interpreter", l.Program)
}

// preset: that the active one is allowed and can be used, the reading has shown.
func (p *preflight) preset() {
	refs := p.r.Config.Preset()
	if refs == nil {
		p.ok("preset", "none")
		return
	}
	p.ok("preset", refs.Active)
}

func (p *preflight) context() {
	status, _ := p.b.Status()
	limit, tokens := p.r.Config.Limit(), status.Tokens.Context.Tokens
	if limit > 0 && tokens > limit {
		p.warn("context", "the conversation is larger than the context", "compress it first")
		return
	}
	p.ok("context", "the conversation fits, as far as that is known")
}

func (p *preflight) environment() {
	env, bad, err := p.r.Config.Env()
	switch file := p.r.Config.Text("env_file"); {
	case err != nil:
		p.warn("environment", err.Error(), "make the env file readable")
	case file != "" && !disk.Exists(file):
		p.warn("environment", "no env file: "+file, "make it, or take it out of init.json")
	case len(bad) > 0:
		p.warn("environment", bad[0].Error(), "mend the env file")
	default:
		p.key(env)
	}
}

// key looks for the variable that has the model's key.
func (p *preflight) key(env preset.Env) {
	name := p.r.Config.Text("manifest", "llm", "api_key_env")
	if name == "" || p.r.Config.Text("manifest", "llm", "api_key") != "" {
		p.ok("environment", "nothing is missing")
		return
	}
	value, _ := p.h.Look(name)
	for _, v := range env {
		if v.Key == name {
			value = v.Value
		}
	}
	if value == "" {
		p.warn("environment", name+" is not set", "set it in the env file")
		return
	}
	p.ok("environment", name+" is set")
}

// stores looks at what outlives a conversation.
func (p *preflight) stores() {
	for _, store := range []string{"system/pad.md", "system/lingtai.md", "knowledge", body.HistoryDir} {
		path := p.b.Path(filepath.FromSlash(store))
		if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
			p.warn("stores", "neither a file nor a directory: "+path, "move it away")
			return
		}
		f, err := os.Open(path)
		if err == nil {
			f.Close()
			continue
		}
		if !os.IsNotExist(err) {
			p.warn("stores", err.Error(), "make it readable")
			return
		}
	}
	p.ok("stores", "what is there can be read")
}

// Verify says, in order, what is to be looked at after a refresh: the state, the
// heartbeat, the configuration in force, the tools.
func Verify(b body.Body, now time.Time, threshold time.Duration) []record.Finding {
	p := preflight{b: b}
	m, status := b.Manifest(), body.Status{}
	status, _ = b.Status()
	if state := status.Runtime.State; status.Runtime.Running && status.Runtime.Is() {
		p.ok("state", state)
	} else {
		p.fail("state", "no process that runs is named in "+body.StatusFile, "look at logs/refresh_relaunch.log")
	}
	if h := b.Heartbeat(); h.Alive(now, threshold) {
		p.ok("heartbeat", "fresh")
	} else {
		p.fail("heartbeat", string(h.Kind)+", or too old", "wait for it before anything else")
	}
	if disk.Exists(b.Path(body.ResolvedFile)) {
		p.ok("config", b.Path(body.ResolvedFile))
	} else {
		p.warn("config", "no "+body.ResolvedFile, "run substrate-manifest check "+record.Shell(b.Dir()))
	}
	if tools := capabilities(m); len(tools) > 0 {
		p.ok("tools", strings.Join(tools, " "))
	} else {
		p.warn("tools", "none in "+body.ManifestFile, "look at manifest.capabilities")
	}
	return p.found
}
