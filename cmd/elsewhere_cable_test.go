//go:build elsewhere && linux

package cmd_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// nft changes what the cable does with packets, at the host that keeps the room.
func (p *pair) nft(rules string) {
	p.Helper()
	c := exec.Command("ip", "netns", "exec", p.keeper.ns, "nft", "-f", "-")
	c.Stdin = strings.NewReader(rules)
	if out, err := c.CombinedOutput(); err != nil {
		p.Fatalf("nft: %v: %s", err, out)
	}
}

// A connection over which 6,000 bytes came holds the text of an entry, beyond its handshake and a few questions.
// From then on it is cut: nothing goes back, not even that the text arrived. One that is dead is told so with its
// next packet.
const cutAnswers = `
table inet cable {
  set seen {
    type inet_service
    size 1024
    flags dynamic
  }
  set cut {
    type inet_service
    size 1024
    flags dynamic
  }
  set dead {
    type inet_service
    size 1024
  }
  chain in {
    type filter hook input priority 0
    tcp sport @dead reject with tcp reset
    tcp dport ` + proxyPort + ` jump measure
  }
  chain measure {
    update @seen { tcp sport quota over 6000 bytes } add @cut { tcp sport }
  }
  chain out {
    type filter hook output priority 0
    tcp flags & rst == rst accept
    tcp sport ` + proxyPort + ` tcp dport @cut counter drop
  }
}
`

// die ends the connections that are cut.
func (p *pair) die() {
	p.Helper()
	out, err := exec.Command("ip", "netns", "exec", p.keeper.ns, "nft", "-j", "list", "set", "inet", "cable", "cut").Output()
	var list struct {
		Nftables []struct {
			Set struct{ Elem []int }
		}
	}
	if err == nil {
		err = json.Unmarshal(out, &list)
	}
	if err != nil {
		p.Fatalf("nft: %v: %s", err, out)
	}
	for _, at := range list.Nftables {
		for _, port := range at.Set.Elem {
			p.nft(fmt.Sprintf("add element inet cable dead { %d }", port))
		}
	}
}

// dropped is how many packets the cut swallowed.
func (p *pair) dropped() (n int) {
	p.Helper()
	out := p.root("ip", "netns", "exec", p.keeper.ns, "nft", "list", "chain", "inet", "cable", "out")
	_, after, _ := strings.Cut(out, "counter packets ")
	fmt.Sscan(after, &n)
	return n
}

// cutAll is a cable with nobody at the other end. Who sends something notices, as when he asks a router that does
// not know the way.
const cutAll = `
table inet cable {
  chain in {
    type filter hook input priority 0
    tcp dport ` + proxyPort + ` counter reject with tcp reset
  }
  chain out {
    type filter hook output priority 0
    tcp flags & rst == rst accept
    tcp sport ` + proxyPort + ` drop
  }
}
`

// rejected is how many packets of the visitor's met the end of the cable.
func (p *pair) rejected() (n int) {
	p.Helper()
	out := p.root("ip", "netns", "exec", p.keeper.ns, "nft", "list", "chain", "inet", "cable", "in")
	_, after, _ := strings.Cut(out, "counter packets ")
	fmt.Sscan(after, &n)
	return n
}
