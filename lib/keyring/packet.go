package keyring

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/name"
)

// PacketVersion is the version of join packets that is written, and the only one
// that is read.
const PacketVersion = 1

// Packet is what lets a participant in from another machine. It holds his key, so
// it is kept like one.
type Packet struct {
	Version int    `json:"version"`
	URL     string `json:"url"`  // of the proxy: scheme and host, no path
	Name    string `json:"name"` // whose key it is
	Key     string `json:"key"`
	Space   string `json:"space"` // what the host calls the space; a hint for a label
	CA      string `json:"ca"`    // PEM of the certificate to trust; "": those of the system
	Note    string `json:"note"`  // for people
}

// Encode returns the packet as it is kept in a file.
func (p Packet) Encode() []byte {
	data, _ := json.MarshalIndent(p, "", "  ") // strings and a number
	return append(data, '\n')
}

// ParsePacket reads a packet, and refuses with bad_input what is none. No message
// shows any of it.
func ParsePacket(data []byte) (Packet, error) {
	var p Packet
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fault.New(fault.BadInput, "not a join packet").WithHint("substrate-key make writes one")
	}
	switch {
	case p.Version != PacketVersion:
		return p, fault.New(fault.BadInput, "join packet of version %d: only %d is known", p.Version, PacketVersion)
	case p.Key == "" || strings.ContainsFunc(p.Key, func(c rune) bool { return c <= ' ' || c > '~' }):
		return p, fault.New(fault.BadInput, "join packet without a usable key")
	}
	if err := name.Check("participant", p.Name); err != nil {
		return p, err
	}
	at, err := Base(p.URL)
	p.URL = at
	return p, err
}

// Base returns the URL of a proxy as it is compared: scheme and host in lower
// case, nothing behind them. Anything else is refused with bad_input.
func Base(raw string) (string, error) {
	bad := fault.New(fault.BadInput, "not the URL of a proxy: %q", raw).
		WithHint("for example https://host.example:8443")
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
		return "", bad
	}
	if u.Scheme = strings.ToLower(u.Scheme); u.Scheme != "https" && u.Scheme != "http" {
		return "", bad
	}
	if strings.HasSuffix(u.Host, ":") {
		return "", bad
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", bad
		}
	}
	return u.Scheme + "://" + strings.ToLower(u.Host), nil
}
