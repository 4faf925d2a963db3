package main

import (
	"context"
	"io"
	"log"
	"os"
	"time"

	"github.com/substrate-tools/substrate/lib/courier"
	"github.com/substrate-tools/substrate/lib/door"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/gateway"
	"github.com/substrate-tools/substrate/lib/home"
	"github.com/substrate-tools/substrate/lib/keyring"
	"github.com/substrate-tools/substrate/lib/page"
	"github.com/substrate-tools/substrate/lib/room"
	"github.com/substrate-tools/substrate/lib/tool"
)

// proxy is what the flags say.
type proxy struct {
	place       gateway.Place
	only, hosts *[]string
	url         *string
	rate        float64
	connections int
	body        int
	file        string // of the log
	log         io.Writer
}

func define(c *tool.Call) *proxy {
	f := c.Flags
	p := &proxy{only: c.List("for"), hosts: c.List("host"), url: f.String("url", "", "")}
	f.BoolVar(&p.place.Anywhere, "listen-anywhere", false, "")
	f.BoolVar(&p.place.Encrypted, "encrypted-elsewhere", false, "")
	f.StringVar(&p.place.Cert, "cert", "", "")
	f.StringVar(&p.place.Key, "key", "", "")
	f.Float64Var(&p.rate, "rate", 50, "")
	f.IntVar(&p.connections, "connections", 2048, "")
	f.IntVar(&p.body, "max-body", room.DefaultMaxBody, "")
	f.StringVar(&p.file, "log", "", "")
	return p
}

// config returns what is served, and refuses whom and what cannot be.
func (p *proxy) config(c *tool.Call, d *door.Door, keys *keyring.Ring, l *gateway.Listener) (gateway.Config, error) {
	g := gateway.Config{
		Rooms: d.Rooms, Space: d.Root, Keys: keys, Only: *p.only, URL: l.URL(), Local: !p.place.Anywhere,
		Hosts: *p.hosts, Rate: p.rate, Odd: c.Warn,
	}
	for _, who := range g.Only {
		if err := d.Known(context.Background(), d.Root, who); err != nil {
			return g, err
		}
	}
	if p.connections < 1 || p.rate < 0 || p.body < 1 {
		return g, c.Misuse("connections and bytes are above 0, a rate is 0 or more")
	}
	if *p.url != "" {
		at, err := keyring.Base(*p.url)
		if err != nil {
			return g, err
		}
		g.URL, g.Hosts = at, append(g.Hosts, gateway.HostOf(at))
	}
	if _, err := keys.List(); err != nil {
		return g, fault.New(fault.BadInput, "%w", err)
	}
	return g, p.open(&g)
}

// maxLog is the size at which the default log makes way for a new one, in bytes.
const maxLog = 16 << 20

// open opens the log.
func (p *proxy) open(g *gateway.Config) error {
	machine, err := home.Open()
	if err != nil {
		return err
	}
	p.log = machine.Log("substrate-proxy.log", maxLog)
	g.Log = machine.Log("substrate-proxy.jsonl", maxLog)
	if p.file == "" {
		return nil
	}
	g.Log, err = os.OpenFile(p.file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.New(fault.BadInput, "%w", err)
	}
	return nil
}

// grace is how long requests under way have to end in.
const grace = 10 * time.Second

// serve puts everything onto a gateway, says where it is, and serves until interrupted.
func (p *proxy) serve(c *tool.Call, d *door.Door, keys *keyring.Ring, l *gateway.Listener, text bool) error {
	config, err := p.config(c, d, keys, l)
	if err != nil {
		return err
	}
	g := gateway.New(config)
	defer g.Close()
	courier.Serve(g)
	page.Serve(g)
	if p.place.Anywhere {
		c.Notice("%s", gateway.TrustBoundary)
	}
	if err := c.Show(text, gateway.Listening{Type: "listening", URL: config.URL}); err != nil {
		return err
	}
	ctx, stop := tool.Interruptible()
	defer stop()
	web := gateway.Server(g)
	web.ErrorLog = log.New(p.log, "", log.LstdFlags|log.LUTC)
	web.RegisterOnShutdown(g.Close)
	return l.Serve(ctx, web, p.connections, grace)
}
