//go:build tui

package cmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// A pane is a terminal with the flow in it, and a machine of its own: a home, a directory to work in, a place for
// temporary files. Their paths are of the same length each time, so that lines break at the same places.
type pane struct {
	*testing.T
	dir    string // home, w, tmp
	socket string
	env    []string
}

var panes atomic.Int32

// paneWait is how long a screen is waited for: a machine may have much else to do.
const paneWait = time.Minute

// open starts a command by sh in a terminal, in the directory w. When the command has ended the terminal says so, and
// how it was left.
func open(t *testing.T, cols, rows int, command string, env ...string) *pane {
	t.Helper()
	p := machineFor(t, env...)
	p.start(cols, rows, command)
	return p
}

func machineFor(t *testing.T, env ...string) *pane {
	t.Helper()
	t.Parallel()
	touchSources(t)
	for _, tool := range []string{filepath.Join(bin, "gum"), "tmux"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("cannot drive the flow: %v (make; apt-get install tmux)", err)
		}
	}
	p := &pane{T: t, dir: fmt.Sprintf("/tmp/tui%07d-%03d", os.Getpid(), panes.Add(1))}
	for _, d := range []string{"home", "w", "tmp"} {
		if err := os.MkdirAll(filepath.Join(p.dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	p.socket = filepath.Base(p.dir)
	p.env = append([]string{
		"HOME=" + filepath.Join(p.dir, "home"), "TMPDIR=" + filepath.Join(p.dir, "tmp"), "TZ=UTC",
		"TMUX_TMPDIR=" + p.dir,
		"PATH=" + strings.Join([]string{bin, filepath.Join(root, "scripts"), "/usr/bin", "/bin"}, ":"),
		"LANG=C.UTF-8", "LC_ALL=C.UTF-8", "SHELL=/bin/sh", "TERM=xterm-256color",
	}, env...)
	t.Cleanup(func() {
		p.command("tmux", "-L", p.socket, "kill-server").Run()
		p.eventually("everything to end", func() bool { return len(p.left()) == 0 })
		os.RemoveAll(p.dir)
	})
	return p
}

func (p *pane) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Env, cmd.Dir = p.env, filepath.Join(p.dir, "w")
	return cmd
}

// start has the command wait for a line, so that everything it writes is in the file raw from the first byte on.
func (p *pane) start(cols, rows int, command string) {
	p.Helper()
	script := "read -r _; trap : INT; clear; TERM=${TERM_IS-$TERM}; export TERM; " + command + `; echo "ended $?"
		stty -a | tr -s ' ;' '\n\n' | grep -xE -e '-?(isig|icanon|echo|noflsh)' | tr '\n' ' '; exec sleep 600`
	p.command("tmux", "-L", p.socket, "kill-server").Run()
	p.eventually("a terminal", func() bool {
		return p.command("tmux", "-L", p.socket, "-f", "/dev/null", "new-session", "-d",
			"-x", fmt.Sprint(cols), "-y", fmt.Sprint(rows), script).Run() == nil
	})
	p.tmux("pipe-pane", "cat >>"+filepath.Join(p.dir, "raw"))
	p.keys("Enter")
}

func (p *pane) tmux(args ...string) string {
	p.Helper()
	out, err := p.command("tmux", append([]string{"-L", p.socket}, args...)...).CombinedOutput()
	if err != nil {
		p.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return string(out)
}

// keys presses keys by their names.
func (p *pane) keys(names ...string) {
	p.Helper()
	p.tmux(append([]string{"send-keys"}, names...)...)
}

// line types a line.
func (p *pane) line(text string) {
	p.Helper()
	p.tmux("send-keys", "-l", "--", text)
	p.keys("Enter")
}

// do runs a program in the directory, as from a second terminal.
func (p *pane) do(args ...string) string {
	p.Helper()
	var stderr bytes.Buffer
	cmd := p.command(filepath.Join(bin, args[0]), args[1:]...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		p.Fatalf("%q: %v: %s", args, err, stderr.String())
	}
	return string(out)
}

// left returns what the flow has started and is still there, and the flow itself.
func (p *pane) left() []string {
	var found []string
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, d := range dirs {
		line, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		text := strings.ReplaceAll(string(line), "\x00", " ")
		ours := strings.Contains(text, "substrate-") || strings.Contains(text, "/gum ")
		if !ours || strings.HasPrefix(text, "tmux ") || strings.HasPrefix(text, "sh -c read -r _") {
			continue
		}
		if env, _ := os.ReadFile(filepath.Join(d, "environ")); bytes.Contains(env, []byte("TMPDIR="+p.dir+"/")) {
			found = append(found, text)
		}
	}
	return found
}

func (p *pane) eventually(what string, true func() bool) {
	p.Helper()
	for end := time.Now().Add(paneWait); !true(); time.Sleep(30 * time.Millisecond) {
		if time.Now().After(end) {
			p.Fatalf("waited in vain for %s; the screen is\n%s", what, p.screen())
		}
	}
}

var screenMasks = []struct {
	what *regexp.Regexp
	mask string
}{
	{regexp.MustCompile(`/tmp/tui\d{7}-\d{3}`), "/tmp/TUI"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "TIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d(\sUTC)`), "YYYY-MM-DD HH:MM$1"},
	{regexp.MustCompile(`\d{8}T\d{9}Z`), "STAMP"},
	{regexp.MustCompile(`tui-\d{14}-\d{7}-\d+-\d+`), "KEY"},
	{regexp.MustCompile(`\d min ago|just now`), "just now"},
	{regexp.MustCompile(`\d min|now  `), "now  "},
	{regexp.MustCompile(`[ \t]+\n`), "\n"},
}

// screen returns what the terminal shows, without what differs from time to time.
func (p *pane) screen() string {
	out, err := p.command("tmux", "-L", p.socket, "capture-pane", "-p").Output()
	if err != nil {
		return ""
	}
	text := string(out)
	for _, m := range screenMasks {
		text = m.what.ReplaceAllString(text, m.mask)
	}
	return strings.TrimRight(text, "\n") + "\n"
}

// sees waits until the screen shows all of these, be it over the end of a line.
func (p *pane) sees(texts ...string) {
	p.Helper()
	for _, text := range texts {
		p.eventually(fmt.Sprintf("%q", text), func() bool {
			screen := p.screen()
			return strings.Contains(screen, text) || strings.Contains(strings.ReplaceAll(screen, "\n", ""), text) ||
				strings.Contains(strings.ReplaceAll(screen, "\n", " "), text)
		})
	}
}

// asks waits until this is the question that the last line asks, and nothing was answered yet.
func (p *pane) asks(text string) {
	p.Helper()
	p.eventually(fmt.Sprintf("the question %q", text), func() bool {
		lines := strings.Split(strings.TrimSpace(p.screen()), "\n")
		last := lines[len(lines)-1]
		return strings.HasPrefix(last, text) && strings.ContainsAny(last[len(last)-1:], "]:.")
	})
}

// misses waits until the screen shows none of these.
func (p *pane) misses(texts ...string) {
	p.Helper()
	for _, text := range texts {
		p.eventually(fmt.Sprintf("%q to go", text), func() bool { return !strings.Contains(p.screen(), text) })
	}
}

// shows waits until the screen is the one in the file. With -update that is what it is when it has come to rest.
func (p *pane) shows(name string) {
	p.Helper()
	file := filepath.Join(root, "testdata", "tui", name+".txt")
	if *update {
		text, rest := "", 0
		p.eventually("a screen at rest", func() bool {
			if now := p.screen(); now == text {
				rest++
			} else {
				text, rest = now, 0
			}
			return rest > 60
		})
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			p.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		p.Fatal(err)
	}
	p.eventually("the screen "+name+", which is\n"+string(want), func() bool { return p.screen() == string(want) })
}

// ended waits for the end of the flow, and looks at what it leaves: the terminal as it was, no process, no file.
func (p *pane) ended(status int) {
	p.Helper()
	p.sees(fmt.Sprintf("ended %d", status), "isig icanon echo -noflsh")
	if got := p.tmux("display-message", "-p", "alternate #{alternate_on} cursor #{cursor_flag}"); got != "alternate 0 cursor 1\n" {
		p.Errorf("the terminal was left with %s", got)
	}
	p.eventually("the watch to end", func() bool { return len(p.left()) == 0 })
	if files, err := os.ReadDir(filepath.Join(p.dir, "tmp")); err != nil || len(files) > 0 {
		p.Errorf("left in TMPDIR: %v, %v", files, err)
	}
}

// raw returns every byte that was written to the terminal.
func (p *pane) raw() string {
	data, err := os.ReadFile(filepath.Join(p.dir, "raw"))
	if err != nil {
		p.Fatal(err)
	}
	return string(data)
}

// state returns the path of a file that the flow keeps for itself.
func (p *pane) state(file string) string {
	return filepath.Join(p.dir, "home/.local/state/substrate", file)
}

// draft returns the path of a draft.
func (p *pane) draft(name string) string { return p.state("drafts" + p.dir + "/w/=/" + name + ".md") }

// holds waits until a file has this text.
func (p *pane) holds(file, want string) {
	p.Helper()
	p.eventually(fmt.Sprintf("%q in %s", want, file), func() bool {
		text, _ := os.ReadFile(file)
		return string(text) == want
	})
}

func (p *pane) absent(files ...string) {
	p.Helper()
	for _, f := range files {
		if _, err := os.Lstat(f); !errors.Is(err, fs.ErrNotExist) {
			p.Errorf("%s is there: %v", f, err)
		}
	}
}
