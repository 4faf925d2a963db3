//go:build elsewhere && linux

package cmd_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Two hosts, each a network namespace with a home of its own and a cable between them. One keeps a space and
// serves it; on the other there is nothing but a join packet. The cable is cut by nft, so that nothing of ours is
// between the programs. What a test here does by hand is done by curl.

const (
	keeperIP, visitorIP = "10.77.0.1", "10.77.0.2"
	proxyPort           = "8443"
	proxyURL            = "https://" + keeperIP + ":" + proxyPort
)

// A pair is the two hosts.
type pair struct {
	*testing.T // of the step that runs
	whole      *testing.T
	keeper     *host
	visitor    *host
	cert       string            // file
	key        map[string]string // everybody's
	secrets    []string          // every key there ever was
	proxy      *player
	watch      *player   // over a restart of the proxy
	players    []*player // all of them
}

// A host is one of them.
type host struct {
	p         *pair
	ns        string // network namespace
	dir, home string
	covered   string // directory of the other host, which is not there on this one
	said      string // what its programs printed
}

func newPair(t *testing.T) *pair {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("cannot make network namespaces: it takes root")
	}
	for _, tool := range []string{"ip", "nft", "curl", "unshare", "mount"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("%v: apt-get install iproute2 nftables curl util-linux mount", err)
		}
	}
	touchSources(t)
	p := &pair{T: t, whole: t, key: map[string]string{}}
	at := func(name string) *host {
		dir := t.TempDir()
		h := &host{p: p, dir: filepath.Join(dir, "space"), home: filepath.Join(dir, "home")}
		h.ns = fmt.Sprintf("substrate-%s-%d", name, os.Getpid())
		for _, d := range []string{h.dir, h.home} {
			if err := os.Mkdir(d, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		return h
	}
	p.keeper, p.visitor = at("keeper"), at("visitor")
	p.keeper.covered, p.visitor.covered = filepath.Dir(p.visitor.dir), filepath.Dir(p.keeper.dir)
	a, b := p.keeper.ns, p.visitor.ns
	for _, ns := range []string{a, b} {
		p.root("ip", "netns", "add", ns)
		t.Cleanup(func() { exec.Command("ip", "netns", "del", ns).Run() })
		p.root("ip", "-n", ns, "link", "set", "lo", "up")
	}
	p.root("ip", "link", "add", "cable", "netns", a, "type", "veth", "peer", "name", "cable", "netns", b)
	for ns, address := range map[string]string{a: keeperIP, b: visitorIP} {
		p.root("ip", "-n", ns, "addr", "add", address+"/30", "dev", "cable")
		p.root("ip", "-n", ns, "link", "set", "cable", "up")
	}
	p.cert = filepath.Join(p.keeper.home, "cert.pem")
	if err := selfSigned(p.cert, keeperIP); err != nil {
		p.Fatal(err)
	}
	return p
}

// root runs a tool of the machine.
func (p *pair) root(tool string, args ...string) string {
	p.Helper()
	out, err := exec.Command(tool, args...).CombinedOutput()
	if err != nil {
		p.Fatalf("cannot make two hosts on this machine: %s %s: %v: %s", tool, strings.Join(args, " "), err, out)
	}
	return string(out)
}

// cmd readies a program on a host: ours by its name without substrate-, or one of the machine's. It sees its own
// host's files only.
func (h *host) cmd(program string, args ...string) *exec.Cmd {
	if ours := filepath.Join(bin, "substrate-"+program); isFile(ours) {
		program = ours
	}
	cover := `mount -t tmpfs none "$0" && exec "$@"`
	args = append([]string{"netns", "exec", h.ns, "unshare", "-m", "sh", "-c", cover, h.covered, program}, args...)
	c := exec.Command("ip", args...)
	c.Dir = h.dir
	c.Env = []string{"HOME=" + h.home, "PATH=" + os.Getenv("PATH"), "TZ=UTC", "LC_ALL=C"}
	return c
}

func isFile(name string) bool {
	st, err := os.Stat(name)
	return err == nil && st.Mode().IsRegular()
}

// ended is what a program did.
type ended struct {
	out, errs string
	status    int
}

func (h *host) try(program string, args ...string) ended {
	h.p.Helper()
	return h.fed("", program, args...)
}

func (h *host) fed(in, program string, args ...string) (r ended) {
	h.p.Helper()
	c := h.cmd(program, args...)
	var out, errs bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(in), &out, &errs
	if err := c.Run(); c.ProcessState == nil {
		h.p.Fatal(err)
	}
	if program != "curl" { // which shows what it was sent
		h.said += out.String() + errs.String()
	}
	return ended{out.String(), errs.String(), c.ProcessState.ExitCode()}
}

// do runs one of our programs, which must not fail.
func (h *host) do(program string, args ...string) string {
	h.p.Helper()
	r := h.try(program, args...)
	if r.status != 0 {
		h.p.Fatalf("substrate-%s %q: status %d: %s", program, args, r.status, r.errs)
	}
	return r.out
}

// refuses wants a program of ours to be refused with a code.
func (h *host) refuses(code string, status int, program string, args ...string) {
	h.p.Helper()
	r := h.try(program, append(args, "--errors", "json")...)
	var said struct{ Code string }
	if err := json.Unmarshal([]byte(r.errs), &said); err != nil || said.Code != code || r.status != status {
		h.p.Errorf("substrate-%s %q: status %d, %q; want %d, %s", program, args, r.status, r.errs, status, code)
	}
	if r.out != "" {
		h.p.Errorf("substrate-%s %q prints %q all the same", program, args, r.out)
	}
}

// start has a program run on until the test ends.
func (h *host) start(program string, args ...string) *player {
	h.p.Helper()
	pl := (&stage{t: h.p.whole}).play(h.cmd(program, args...))
	pl.t = h.p.T
	h.p.players = append(h.p.players, pl)
	return pl
}

// answered is an answer to curl.
type answered struct {
	*http.Response
	body string
	told
}

type told struct {
	Type, Code, Current, Entry, Next, Thread string
	Version                                  *int
	Duplicate                                bool
}

// curl sends a request from the other host with a key, "" for none. A body makes it a POST.
func (p *pair) curl(key, path, body string, args ...string) answered {
	p.Helper()
	config := ""
	if key != "" { // not on the command line, where others look
		config = "header = \"Authorization: Bearer " + key + "\"\n"
	}
	args = append(args, "-sSi", "--raw", "--http1.1", "--max-time", "10", "--cacert", p.visitorCert(), "-K", "-",
		proxyURL+path)
	if body != "" {
		args = append(args, "-H", "Content-Type: application/json", "-d", body)
	}
	r := p.visitor.fed(config, "curl", args...)
	if r.status != 0 {
		p.Fatalf("curl %s: status %d: %s", path, r.status, r.errs)
	}
	answer, err := http.ReadResponse(bufio.NewReader(strings.NewReader(r.out)), nil)
	if err != nil {
		p.Fatalf("curl %s: %v: %q", path, err, r.out)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.Fatalf("curl %s: %v: %q", path, err, r.out)
	}
	a := answered{Response: answer, body: string(text)}
	json.Unmarshal(text, &a.told) // what is no record is compared as text
	return a
}

// visitorCert is the certificate as it came to the other host, inside a packet.
func (p *pair) visitorCert() string { return filepath.Join(p.visitor.home, "ca.pem") }

// is wants a status and an error code.
func (p *pair) is(a answered, status int, code string) {
	p.Helper()
	if a.StatusCode != status || a.Code != code {
		p.Errorf("%s %s: %s", a.Status, a.Header, a.body)
	}
}

// entry is one of a room.
type entry struct{ Entry, Author, Body string }

// entries reads the room on the host that keeps it, without any network.
func (p *pair) entries() (all []entry) {
	p.Helper()
	for line := range strings.Lines(p.keeper.do("read", "design")) {
		var e entry
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			p.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// count counts entries with a body.
func (p *pair) count(body string) (n int) {
	p.Helper()
	for _, e := range p.entries() {
		if e.Body == body {
			n++
		}
	}
	return n
}

// version is that of the room.
func (p *pair) version() int {
	p.Helper()
	var r struct{ Version int }
	if err := json.Unmarshal([]byte(p.keeper.do("next", "design")), &r); err != nil {
		p.Fatal(err)
	}
	return r.Version
}

// unchanged wants nothing to be written by what is done.
func (p *pair) unchanged(do func()) {
	p.Helper()
	before := p.entries()
	do()
	if after := p.entries(); !slices.Equal(before, after) {
		p.Errorf("there were %d entries, and now there are %d", len(before), len(after))
	}
}

// eventually polls until something is so.
func (p *pair) eventually(what string, so func() bool) {
	p.Helper()
	for end := time.Now().Add(2 * soon); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("not in time: %s", what)
		}
	}
}

// serve starts the proxy.
func (p *pair) serve() {
	p.Helper()
	p.proxy = p.keeper.start("proxy", keeperIP+":"+proxyPort, "--listen-anywhere", "--url", proxyURL,
		"--cert", p.cert, "--key", p.cert+".key")
	if r := p.proxy.next(); r["type"] != "listening" || r["url"] != proxyURL {
		p.Fatalf("listening: %v", r)
	}
	p.proxy.says("whoever has a key reads the rooms its owner is in")
}

// stop ends it as a host that goes down does.
func (p *pair) stop() {
	p.Helper()
	p.proxy.t = p.T
	p.proxy.cmd.Process.Signal(syscall.SIGTERM)
	if status, _ := p.proxy.end(); status != 0 {
		p.Errorf("the proxy ends with %d: %s", status, p.proxy.stderr())
	}
}

// packet makes a key for somebody, and returns the packet's file on the host it is for.
func (p *pair) packet(op, who string) (file string) {
	p.Helper()
	made := filepath.Join(p.keeper.home, fmt.Sprintf("%s-%s.packet", who, op))
	p.keeper.do("key", op, who, "--url", proxyURL, "--ca", p.cert, "--packet", made)
	data, err := os.ReadFile(made)
	var packet struct{ Key, CA string }
	if err == nil {
		err = json.Unmarshal(data, &packet)
	}
	if err == nil {
		err = os.WriteFile(p.visitorCert(), []byte(packet.CA), 0o666)
	}
	if st, lost := os.Stat(made); lost != nil || st.Mode().Perm() != 0o600 {
		p.Errorf("%s: %v %v", made, st, lost)
	}
	file = filepath.Join(p.visitor.home, filepath.Base(made)) // carried over
	if err == nil {
		err = os.Rename(made, file)
	}
	if err != nil || len(packet.Key) < 43 {
		p.Fatalf("packet: %v %d", err, len(packet.Key))
	}
	p.key[who], p.secrets = packet.Key, append(p.secrets, packet.Key)
	return file
}

// hand gives the floor to somebody.
func (p *pair) hand(who string) {
	p.Helper()
	p.keeper.do("moderate", "next", "design", who, "--as", "dan")
}
