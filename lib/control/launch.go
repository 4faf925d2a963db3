package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/substrate-tools/substrate/lib/body"
	"github.com/substrate-tools/substrate/lib/disk"
	"github.com/substrate-tools/substrate/lib/fault"
	"github.com/substrate-tools/substrate/lib/preset"
	"github.com/substrate-tools/substrate/lib/record"
)

// What an agent was started with is kept in system/launch.json, which it writes when it
// starts, so that others can start it again. The environment is not kept: it is full of
// secrets. It is that of whoever starts the agent, without what our flags are read from,
// and over it the target's own env_file, whose keys are the target's and not those of
// an agent that revives it.

const (
	launchFile   = body.SystemDir + "/launch.json"
	launchSchema = "substrate.launch/v1"
)

// Launch is what an agent was started with.
type Launch struct {
	Schema  string `json:"schema"`
	Program string `json:"program"` // substrate-agent, an absolute path
	Mind    string `json:"mind"`    // its --mind
}

// Write keeps it for those who start the agent again.
func (l Launch) Write(b body.Body) error {
	l.Schema = launchSchema
	line, err := record.Encode(l)
	if err != nil {
		return err
	}
	if _, err := b.Make(body.SystemDir); err != nil {
		return err
	}
	return disk.Replace(b.Path(launchFile), line)
}

// ReadLaunch returns what an agent was started with last.
func ReadLaunch(b body.Body) (Launch, error) {
	var l Launch
	data, err := disk.ReadFile(b.Path(launchFile), 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		return l, fault.New(fault.BadInput, "no launch command is known: %q", b.Address()).
			WithHint("start it once by hand: substrate-agent %s --mind CMD", record.Shell(b.Dir()))
	}
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err == nil && (l.Schema != launchSchema || l.Mind == "" || !filepath.IsAbs(l.Program)) {
		err = errors.New("not the launch command of an agent")
	}
	if err != nil {
		return l, fault.New(fault.Corrupt, "%s: %w", b.Path(launchFile), err).
			WithHint("start it by hand: substrate-agent %s --mind CMD", record.Shell(b.Dir()))
	}
	return l, nil
}

func (l Launch) usable() error {
	if _, err := exec.LookPath(l.Program); err != nil {
		return fault.New(fault.BadInput, "the program it was started with is gone: %q", l.Program).
			WithHint("start it by hand with another")
	}
	return nil
}

// Python returns the interpreter of a virtual environment. Where in it that lies goes by
// the platform we run on, not by the one it was made on.
func Python(venv string) (string, error) {
	python := filepath.Join(venv, "bin", "python")
	if runtime.GOOS == "windows" {
		python = filepath.Join(venv, "Scripts", "python.exe")
	}
	info, err := os.Stat(python)
	if err != nil || !info.Mode().IsRegular() || runtime.GOOS != "windows" && info.Mode()&0o111 == 0 {
		return "", fault.New(fault.BadInput, "Configured venv_path is not usable: %q", python).
			WithHint("start the agent on the platform that its environment is for, or mend venv_path")
	}
	return python, nil
}

// launch is a command that is about to be started.
type launch struct {
	args []string
	env  []string
	dir  string
	log  string   // what it says is added to this file
	out  *os.File // its standard output, where that goes elsewhere
}

// command returns what starts a target: what it was started with last or, where that
// was never by us, its own interpreter, as the prior runtime was started.
func command(b body.Body, h preset.Host, environ []string, log string) (launch, error) {
	r := h.Read(b.Dir(), preset.AtBoot)
	if err := r.Err(); err != nil {
		return launch{}, err
	}
	python, err := "", error(nil)
	if venv := r.Config.Text("venv_path"); venv != "" {
		if python, err = Python(venv); err != nil {
			return launch{}, err
		}
	}
	env, _, err := r.Config.Env()
	if err != nil {
		return launch{}, err
	}
	out := launch{env: env.Over(environ, true), dir: b.Dir(), log: b.Path(log)}
	l, err := ReadLaunch(b)
	switch {
	case err == nil:
		out.args = []string{l.Program, b.Dir(), "--mind=" + l.Mind}
		err = l.usable()
	case !disk.Exists(b.Path(launchFile)) && python != "":
		out.args, err = []string{python, "-m", "lingtai", "run", b.Dir()}, nil
	}
	return out, err
}

// kept are the variables with our prefix that are no flag of a program.
var kept = []string{
	"SUBSTRATE_HOME", "SUBSTRATE_AGENT_ALIVE_THRESHOLD_SEC", "SUBSTRATE_ACTIVE_STUCK_THRESHOLD_S",
	"SUBSTRATE_SOUL_FLOW_ENABLED", "SUBSTRATE_NUDGE_ENABLED", "SUBSTRATE_CACHE_MISS_BUDGET",
}

// Clean returns an environment without what our programs read their flags from: one
// agent's --body and --as are not another's.
func Clean(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		key, _, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(key, "SUBSTRATE_") && !slices.Contains(kept, key)
	})
}

// process is one that was started.
type process struct {
	pid    int
	ended  chan struct{} // closed at its end
	status int           // how it ended, once it has
	log    string
	from   int64 // where in its log it began
}

// start starts a command detached from us: in a session of its own, so that neither our
// end nor that of our group is its end.
func start(l launch) (*process, error) {
	if err := disk.MakeLock(l.log); err != nil { // made the way its directory is shared
		return nil, err
	}
	log, err := disk.Append(l.log)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &process{ended: make(chan struct{}), log: l.log}
	if p.from, err = log.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	cmd := exec.Command(l.args[0], l.args[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = l.dir, l.env, log, log
	if l.out != nil {
		cmd.Stdout = l.out
	}
	detach(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fault.New(fault.BadInput, "cannot start the agent: %w", err)
	}
	p.pid = cmd.Process.Pid
	go func() {
		_ = cmd.Wait() // its status says it all
		p.status = cmd.ProcessState.ExitCode()
		close(p.ended)
	}()
	return p, nil
}

// maxTail is how much of a log is repeated, in characters.
const maxTail = 4000

// failed says how a process ended that should not have, and what it said last.
func (p *process) failed(b body.Body) error {
	how := "status " + strconv.Itoa(p.status)
	if p.status < 0 {
		how = "a signal"
	}
	err := fault.New(fault.BadInput, "the agent ended at once, with %s: %q", how, b.Address())
	if tail := p.tail(); tail != "" {
		err.Message += ": " + tail
	}
	return err.WithHint("its log is %s", p.log)
}

func (p *process) tail() string {
	f, _, err := disk.Open(p.log)
	if err != nil {
		return ""
	}
	defer f.Close()
	if end, err := f.Seek(0, io.SeekEnd); err == nil {
		_, err = f.Seek(max(p.from, end-4*maxTail), io.SeekStart)
		if err != nil {
			return ""
		}
	}
	data, _ := io.ReadAll(io.LimitReader(f, 4*maxTail)) // what could be read
	said := []rune(record.OneLine(strings.TrimSpace(strings.ToValidUTF8(string(data), "?"))))
	return string(said[max(0, len(said)-maxTail):])
}

func list(pids []int) string {
	var all []string
	for _, pid := range pids {
		all = append(all, fmt.Sprint(pid))
	}
	return strings.Join(all, ", ")
}

// capabilities returns the names of what an agent can do, as .agent.json has them.
func capabilities(m body.Manifest) []string {
	var pairs [][]json.RawMessage
	if json.Unmarshal(m.Get("capabilities"), &pairs) != nil {
		return nil
	}
	var names []string
	for _, pair := range pairs {
		var name string
		if len(pair) > 0 && json.Unmarshal(pair[0], &name) == nil {
			names = append(names, name)
		}
	}
	return names
}
