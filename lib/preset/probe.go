package preset

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/substrate-tools/substrate/lib/record"
	"github.com/substrate-tools/substrate/lib/stamp"
)

// A probe takes two seconds at most, and so many run at once.
const (
	probeTime = 2 * time.Second
	probes    = 16
)

// hosts are where the models of providers are that a preset need not say.
var hosts = map[string]string{
	"anthropic": "https://api.anthropic.com", "openai": "https://api.openai.com",
	"gemini": "https://generativelanguage.googleapis.com", "google": "https://generativelanguage.googleapis.com",
	"deepseek": "https://api.deepseek.com", "openrouter": "https://openrouter.ai",
	"groq": "https://api.groq.com", "mistral": "https://api.mistral.ai", "xai": "https://api.x.ai",
	"grok": "https://api.x.ai", "minimax": "https://api.minimax.io", "moonshot": "https://api.moonshot.ai",
	"kimi": "https://api.moonshot.ai", "zhipu": "https://open.bigmodel.cn", "glm": "https://open.bigmodel.cn",
	"qwen": "https://dashscope.aliyuncs.com", "dashscope": "https://dashscope.aliyuncs.com",
	"ollama": "http://localhost:11434",
}

// local are the providers that are programs on this machine.
var local = map[string]string{
	"claude-p": "claude", "claude-code": "claude", "codex": "codex", "opencode": "opencode",
	"qwen-code": "qwen", "kimicode": "kimi", "cursor": "cursor-agent", "gemini-cli": "gemini",
}

// Probe asks of each preset whether its model can be reached now, 16 at a time. The
// answers are in the order of the presets.
func (h Host) Probe(ctx context.Context, all []*Preset, env Env) []record.Connectivity {
	answers := make([]record.Connectivity, len(all))
	free := make(chan struct{}, probes)
	var wait sync.WaitGroup
	for i, p := range all {
		free <- struct{}{}
		wait.Go(func() {
			answers[i] = h.probe(ctx, p, env)
			<-free
		})
	}
	wait.Wait()
	return answers
}

func (h Host) probe(ctx context.Context, p *Preset, env Env) record.Connectivity {
	start := h.Now()
	c := record.Connectivity{Status: "ok", CheckedAt: stamp.Record(start)}
	at := func(key string) string { s, _ := p.LLM[key].(string); return s }
	if name := at("api_key_env"); name != "" && at("api_key") == "" && env.get(h, name) == "" {
		c.Status, c.Error = "no_credentials", "the variable that api_key_env names is not set"
		return c
	}
	provider := strings.ToLower(at("provider"))
	base := at("base_url")
	if program, ok := local[provider]; ok && base == "" {
		if !h.Program(program) {
			c.Status, c.Error = "unreachable", "no such program: "+program
		}
		return c
	}
	if base == "" {
		base = hosts[provider]
	}
	if err := h.connect(ctx, base); err != nil {
		c.Status, c.Error = "unreachable", err.Error()
	}
	c.LatencyMS = h.Now().Sub(start).Milliseconds()
	return c
}

// connect opens a connection to where a URL leads and closes it. Its errors name
// the host and the port, never the URL, in which there may be a password.
func (h Host) connect(ctx context.Context, base string) error {
	if base == "" {
		return errors.New("no URL known: give base_url")
	}
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		return errors.New("base_url is no URL with a host")
	}
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	case u.Scheme == "http":
		port = "80"
	default:
		return errors.New("base_url is neither http nor https, and has no port")
	}
	address := net.JoinHostPort(u.Hostname(), port)
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	conn, err := h.Dial(ctx, "tcp", address)
	if err == nil {
		return conn.Close()
	}
	if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
		return errors.New("no answer from " + address + " within " + probeTime.String())
	}
	return errors.New("cannot connect to " + address + ": " + pathless(err))
}
