package mail

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/fault"
)

// An address is the name of an agent's directory beside the sender's own, or, where
// that is asked for, the absolute path of one anywhere. What is delivered by such a
// path says the way back: an address alone would lead to somebody else.

// maxAddress is the longest address, in bytes.
const maxAddress = 4096

// CheckAddress refuses what is no address: an absolute path where it was not asked
// for, and a bare name that would lead out of the network's directory.
func CheckAddress(address string, abs bool) error {
	switch bare := !filepath.IsAbs(address); {
	case address == "":
		return fault.New(fault.BadInput, "an address is empty")
	case len(address) > maxAddress || !plain(address):
		return fault.New(fault.BadInput, "no address: %.150q", address)
	case bare && (strings.ContainsAny(address, `/\`) || strings.Contains(address, "..") || address == "."):
		return fault.New(fault.BadInput, "no address: %.150q", address).
			WithHint("an address is the name of a directory beside one's own, without separators")
	case !bare && !abs:
		return fault.New(fault.BadInput, "absolute address: %.150q", address).WithHint("give --mode abs")
	}
	return nil
}

// lead returns the directory that an address leads to.
func (x Box) lead(address string) (body.Body, error) {
	if err := CheckAddress(address, true); err != nil {
		return body.Body{}, err
	}
	if !filepath.IsAbs(address) {
		address = filepath.Join(x.body.Network(), address)
	}
	return body.Open(address)
}

// Resolve returns the address that a text stands for: an address as such, else the
// name of a contact, else the name of a peer. One that fits two is refused. A text
// that fits nothing is returned as it is; delivery finds nobody there.
func (x Box) Resolve(text string, abs bool) (string, error) {
	if err := CheckAddress(text, abs); err != nil {
		return "", err
	}
	if filepath.IsAbs(text) {
		return filepath.Clean(text), nil
	}
	contacts, _ := x.Contacts() // where they cannot be read, nobody is known by name
	var fit []string
	if _, err := x.lead(text); err == nil {
		fit = append(fit, text)
	}
	for _, c := range contacts {
		if c.Name == text && CheckAddress(c.Address, true) == nil {
			fit = append(fit, c.Address)
		}
	}
	if len(fit) == 0 {
		fit = x.peersNamed(text)
	}
	switch fit = x.distinct(fit); len(fit) {
	case 0:
		return text, nil
	case 1:
		return fit[0], nil
	}
	return "", ambiguous(text, fit)
}

func ambiguous(text string, fit []string) error {
	all := strings.Join(fit, " and ")
	return fault.New(fault.Denied, "name fits more than one address: %.150q is %s", text, all).
		WithHint("write to the address itself: the absolute path, with --mode abs")
}

// peersNamed returns the addresses of the agents beside this one who go by a name.
func (x Box) peersNamed(name string) []string {
	peers, err := body.List(x.body.Network())
	if err != nil {
		return nil
	}
	var fit []string
	for _, p := range peers {
		if m := p.Manifest(); m.Name() == name || m.Text("nickname") == name {
			fit = append(fit, p.Address())
		}
	}
	return fit
}

// distinct leaves one address of those that lead to the same directory.
func (x Box) distinct(addresses []string) []string {
	var kept []string
	var dirs []string
	for _, a := range addresses {
		dir := a
		if b, err := x.lead(a); err == nil {
			dir = b.Dir()
		}
		if !slices.Contains(dirs, dir) {
			kept, dirs = append(kept, a), append(dirs, dir)
		}
	}
	return kept
}

// returnAddress returns where the answer to a message goes: where it came from, by
// the way that it says itself, and never to another who has that name here.
func (x Box) returnAddress(m Message) (string, error) {
	address, sender := m.From(), m.Sub("identity").Text("agent_id")
	if route := m.Sub("_return_route"); route.Text("mode") == "abs" {
		address, sender = route.Text("address"), route.Text("sender_agent_id")
	}
	address, err := x.Resolve(address, true)
	if err != nil {
		return "", err
	}
	b, err := x.lead(address)
	if err != nil || sender == "" {
		return address, nil // delivery says who is missing
	}
	if now := b.Manifest().AgentID(); now != "" && now != sender {
		return "", fault.New(fault.Stale, "not the sender any more: %.150q is %s, not %s", address, now, sender).
			WithHint("write to whom you mean: substrate-mail send")
	}
	return address, nil
}
