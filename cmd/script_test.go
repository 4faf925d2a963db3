// Package cmd_test builds the programs and runs the scripts in testdata on them, each in a fresh directory.
//
// Beside the commands of testscript a script has:
//
//	status N prog arg...   run prog (with stdin, if set); its exit status must be exactly N
//	mask FILE...           replace, in place: a time with three fraction digits by TIME, with none by
//	                       SECOND, an entry's stamp by STAMP, 64 hex digits by SHA256, $WORK by WORK
//	lines N FILE           FILE has exactly N lines
//	jsonl FILE             every line of FILE is a JSON object whose first key is "type"
//	absent PATH...         nothing is there, not even a dangling link; * and ? match as in a shell
//
// FILE may be stdout or stderr. The condition [root] holds for the user who may read and write everything, [mounts] where
// a file system may be mounted.
// "go test ./cmd -update" rewrites the files that cmp compares with inside the scripts.
package cmd_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the files that cmp compares with inside the scripts")

// root is the top of the tree; bin is where the programs under test are.
var root, bin string

func TestMain(m *testing.M) {
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	// What is ignored here, by nohup or in the background of a script, the programs would ignore as well. A signal
	// that is caught is none that a child ignores.
	for _, s := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	os.Exit(m.Run())
}

// build makes the programs, with the flags of the Makefile so that neither undoes the other's work.
func build() error {
	var err error
	if root, err = filepath.Abs(".."); err != nil {
		return err
	}
	args := []string{"build", "-trimpath"}
	bin = filepath.Join(root, "bin")
	if raceEnabled() {
		// The programs are what races; beside bin, so that nobody installs them by mistake.
		args = append(args, "-race")
		bin = filepath.Join(bin, "race")
	}
	if err := os.MkdirAll(bin, 0o777); err != nil {
		return err
	}
	cmd := exec.Command("go", append(args, "-o", bin+string(filepath.Separator), "./cmd/...")...)
	cmd.Dir = root
	if !raceEnabled() {
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("cannot build the programs: %v\n%s", err, out)
	}
	return nil
}

// touchSources stats what the programs and scripts are made of. The go command writes down which files a test
// looked at and answers from its cache while they are the same; what a child process reads it does not see,
// nor what TestMain reads before m.Run. So every test that runs programs begins with this.
func touchSources(t *testing.T) {
	t.Helper()
	for _, top := range []string{"lib", "cmd", "scripts"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(p string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			_, err = os.Stat(p)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"go.mod", "go.sum"} {
		if _, err := os.Stat(filepath.Join(root, f)); err != nil {
			t.Fatal(err)
		}
	}
}

func raceEnabled() bool {
	info, _ := debug.ReadBuildInfo()
	for _, s := range info.Settings {
		if s.Key == "-race" {
			return s.Value == "true"
		}
	}
	return false
}

func TestScripts(t *testing.T) {
	touchSources(t)
	testscript.Run(t, testscript.Params{
		Dir:                filepath.Join(root, "testdata"),
		RequireUniqueNames: true,
		UpdateScripts:      *update,
		Setup:              setup,
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "root":
				return os.Geteuid() == 0, nil
			case "mounts": // where we may mount, in a namespace of our own
				return exec.Command("unshare", "-m", "mount", "-t", "tmpfs", "none", os.TempDir()).Run() == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":      cmdStatus,
			"mask":        cmdMask,
			"lines":       cmdLines,
			"jsonl":       cmdJSONL,
			"absent":      cmdAbsent,
			"certificate": cmdCertificate,
		},
	})
}

// setup adds to testscript's environment, which starts from nothing: no SUBSTRATE_ variable of the caller
// gets in.
func setup(e *testscript.Env) error {
	path := []string{bin, filepath.Join(root, "scripts"), e.Getenv("PATH")}
	e.Setenv("PATH", strings.Join(path, string(filepath.ListSeparator)))
	home := filepath.Join(e.WorkDir, "home")
	e.Setenv("HOME", home)
	e.Setenv("TZ", "UTC")
	e.Setenv("GORACE", "atexit_sleep_ms=0") // or each program sleeps a second at its end
	e.Setenv("LANG", "C")
	e.Setenv("LC_ALL", "C")
	return os.MkdirAll(home, 0o777)
}

func cmdStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N prog [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	var exit *exec.ExitError
	switch err := ts.Exec(args[1], args[2:]...); {
	case errors.As(err, &exit) && !exit.Exited():
		ts.Fatalf("%s: %v, want status %d", args[1], exit, want)
	case errors.As(err, &exit):
		got = exit.ExitCode()
	default:
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("%s: status %d, want %d", args[1], got, want)
	}
}

var masks = []struct {
	what *regexp.Regexp
	mask string
}{
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`), "TIME"},
	{regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "SECOND"},
	{regexp.MustCompile(`\b\d{8}T\d{9}Z`), "STAMP"},
	{regexp.MustCompile(`\b[0-9a-f]{64}\b`), "SHA256"},
}

func cmdMask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: mask file...")
	}
	streams := map[string]string{"stdout": ts.ReadFile("stdout"), "stderr": ts.ReadFile("stderr")}
	masked := false
	for _, file := range args {
		text := strings.ReplaceAll(ts.ReadFile(file), ts.Getenv("WORK"), "WORK")
		for _, m := range masks {
			text = m.what.ReplaceAllString(text, m.mask)
		}
		if _, ok := streams[file]; ok {
			streams[file], masked = text, true
			continue
		}
		// Written over, not replaced: links and modes are often what the script looks at next.
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o666))
	}
	if masked {
		// What a command writes to either becomes both for the next one.
		_, err := io.WriteString(ts.Stdout(), streams["stdout"])
		ts.Check(err)
		_, err = io.WriteString(ts.Stderr(), streams["stderr"])
		ts.Check(err)
	}
}

func cmdLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines N file")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	for range strings.Lines(ts.ReadFile(args[1])) {
		got++
	}
	if got != want {
		ts.Fatalf("%s has %d lines, want %d", args[1], got, want)
	}
}

func cmdJSONL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsonl file")
	}
	n := 0
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		n++
		if err := checkRecord(line); err != nil {
			ts.Fatalf("%s line %d: %v: %q", args[0], n, err, line)
		}
	}
	if n == 0 {
		ts.Fatalf("%s is empty: no record", args[0])
	}
}

func checkRecord(line string) error {
	text, ended := strings.CutSuffix(line, "\n")
	if !ended {
		return errors.New("no newline at the end")
	}
	var any map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &any); err != nil {
		return err
	}
	// The line is one object, so a prefix decides which key is first; writers put no space before it.
	if !strings.HasPrefix(text, `{"type":"`) {
		return errors.New(`first key is not "type"`)
	}
	return nil
}

func cmdAbsent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: absent path...")
	}
	for _, arg := range args {
		found := []string{ts.MkAbs(arg)}
		if strings.ContainsAny(arg, "*?") {
			var err error
			found, err = filepath.Glob(ts.MkAbs(arg))
			ts.Check(err)
		}
		for _, p := range found {
			if _, err := os.Lstat(p); err == nil {
				ts.Fatalf("%s is there", p)
			} else if !errors.Is(err, fs.ErrNotExist) {
				ts.Check(err)
			}
		}
	}
}
