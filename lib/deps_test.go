// Package lib_test holds the import policy of the house as data and fails the build when an import breaks it.
// It is policy: a build that fails here is mended in the importing package, never in this file.
package lib_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/substrate-tools/substrate"

// A package may import those before it in its own block, and the base.
var (
	base = []string{"fault", "name", "stamp", "record", "disk", "yamldoc", "wake", "spawn", "tool"}

	rooms = []string{
		"floor", "transcript", "store", "store/storetest", "room", "index", "files", "keyring", "home", "remote", "door", "export",
		"attend", "clients", "carrier", "gateway", "gateway/gatewaytest", "courier", "page", "mcpserver",
	}

	bodies = []string{"body", "body/bodytest", "preset", "prompt", "notice", "mail", "alarm", "control", "runner"}
)

// outside names, for each outside module, the packages that import it: one, so that replacing it is one
// package's work.
var outside = map[string][]string{
	"github.com/gofrs/flock":                 {"disk"},
	"golang.org/x/sys":                       {"disk"},
	"gopkg.in/yaml.v3":                       {"yamldoc", "files"},
	"github.com/fsnotify/fsnotify":           {"wake"},
	"github.com/peterbourgon/ff/v3":          {"tool"},
	"github.com/modelcontextprotocol/go-sdk": {"mcpserver"},
	"github.com/yuin/goldmark":               {"page"},
	"golang.org/x/time":                      {"gateway"},
	"github.com/tailscale/hujson":            {"preset"},
}

// behind lists what an outside module brings into our programs with it. Together with outside this is
// everything that may be linked: gum and the linters stand in a go.mod, never in a program.
var behind = map[string][]string{
	"github.com/modelcontextprotocol/go-sdk": {
		"github.com/google/jsonschema-go", "github.com/segmentio/asm", "github.com/segmentio/encoding",
		"github.com/yosida95/uritemplate/v3", "golang.org/x/oauth2", "golang.org/x/sync",
	},
}

// testOnly are the modules that only _test.go files import. Tests may import any module of outside too: a
// test of locks plays the other writer.
var testOnly = []string{
	"github.com/rogpeppe/go-internal", "pgregory.net/rapid", "github.com/santhosh-tekuri/jsonschema/v6",
}

// reserved names are used by one package each, in lib and in cmd; test files are free.
var reserved = map[string]string{
	// The streams and the status belong to the edge.
	"os.Args": "tool", "os.Stdout": "tool", "os.Stderr": "tool", "os.Exit": "tool",
	"fmt.Print": "tool", "fmt.Printf": "tool", "fmt.Println": "tool",
	// One package knows how to publish so that a crash leaves all or nothing.
	"os.Rename": "disk", "os.Link": "disk",
	"syscall.Rename": "disk", "syscall.Link": "disk", "syscall.Flock": "disk",
}

// banned package names say where code was dropped, not what it is.
var banned = []string{"util", "utils", "common", "types", "manager", "service", "internal"}

// A source is one Go file of lib or cmd.
type source struct {
	file string // path from the module root
	pkg  string // directory below lib or cmd, "" for the top
	lib  bool
	test bool
	tree *ast.File
	set  *token.FileSet
}

func TestFloors(t *testing.T) {
	for _, s := range sources(t) {
		if s.lib && s.pkg != "" && block(s.pkg) == nil {
			t.Errorf("%s: package %q is not in the house: give it a floor in the design first", s.file, s.pkg)
			continue
		}
		for _, imp := range s.tree.Imports {
			what, _ := strconv.Unquote(imp.Path.Value)
			if why := refuse(s, what); why != "" {
				t.Errorf("%s: imports %s: %s", s.at(imp), what, why)
			}
		}
	}
}

// refuse says why s may not import what, or "".
func refuse(s source, what string) string {
	if ours, ok := strings.CutPrefix(what, module+"/"); ok {
		to, ok := strings.CutPrefix(ours, "lib/")
		switch {
		case !ok:
			return "only packages below lib are imported"
		case s.lib && s.pkg != "":
			return climb(s, to)
		}
		return ""
	}
	if first, _, _ := strings.Cut(what, "/"); !strings.Contains(first, ".") {
		if s.lib && !s.test && s.pkg != "tool" && (what == "log" || strings.HasPrefix(what, "log/")) {
			return "libraries never log"
		}
		return ""
	}
	if s.test && slices.ContainsFunc(testOnly, func(m string) bool { return within(what, m) }) {
		return ""
	}
	for m, owners := range outside {
		switch {
		case !within(what, m):
		case s.test || s.lib && slices.Contains(owners, s.pkg):
			return ""
		default:
			return "only " + strings.Join(owners, " and ") + " may import this library"
		}
	}
	return "not one of the house's outside libraries"
}

// climb says why package s may not import package to, both below lib, or "".
func climb(s source, to string) string {
	from := s.pkg
	mine, theirs := block(from), block(to)
	switch {
	case theirs == nil:
		return "not a package of the house"
	case to == "tool" && from != "tool":
		return "only programs import tool"
	case mine[0] == theirs[0]:
		// A test may use a later package of its own block: the conformance suite is one, a store to run it on
		// another.
		if !s.test && slices.Index(mine, to) >= slices.Index(mine, from) {
			return "it stands on a later floor than " + from
		}
	case theirs[0] != base[0]:
		return "rooms and bodies never import each other, and the base imports neither"
	}
	return ""
}

func TestReservedNames(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		local := map[string]string{} // name in this file: import path
		for _, imp := range s.tree.Imports {
			what, _ := strconv.Unquote(imp.Path.Value)
			name := path.Base(what)
			if imp.Name != nil {
				name = imp.Name.Name
			}
			if name == "." {
				t.Errorf("%s: imports %s with a dot: a name must say where it comes from", s.at(imp), what)
			}
			local[name] = what
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			use := local[x.Name] + "." + sel.Sel.Name
			if owner := reserved[use]; owner != "" && (!s.lib || s.pkg != owner) {
				t.Errorf("%s: uses %s: only lib/%s may", s.at(sel), use, owner)
			}
			return true
		})
	}
}

func TestPackageNames(t *testing.T) {
	for _, s := range sources(t) {
		for _, n := range append(strings.Split(s.pkg, "/"), strings.TrimSuffix(s.tree.Name.Name, "_test")) {
			if slices.Contains(banned, n) {
				t.Errorf("%s: package name %q says nothing about what is in it", s.file, n)
			}
		}
	}
}

func TestLinked(t *testing.T) {
	// Read here so that go test's cache sees a change; the rest of its inputs are read by the other tests.
	for _, f := range []string{"go.mod", "go.sum"} {
		if _, err := os.ReadFile(filepath.Join("..", f)); err != nil {
			t.Fatal(err)
		}
	}
	sources(t)
	if dirs, _ := filepath.Glob("../cmd/*/main.go"); len(dirs) == 0 {
		t.Fatal("no programs in cmd")
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}", "./cmd/...")
	cmd.Dir, cmd.Stderr = "..", os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	may := map[string]bool{module: true}
	for m := range outside {
		may[m] = true
		for _, b := range behind[m] {
			may[b] = true
		}
	}
	for m := range strings.FieldsSeq(string(out)) {
		if !may[m] {
			may[m] = true // said once
			t.Errorf("programs link %s: it is not an outside library of the house; gum, linters and test libraries never are", m)
		}
	}
}

// sources parses every Go file below lib and cmd.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, top := range []string{"lib", "cmd"} {
		err := filepath.WalkDir(filepath.Join("..", top), func(p string, d fs.DirEntry, err error) error {
			switch {
			case os.IsNotExist(err):
				return nil
			case err != nil:
				return err
			case d.IsDir() && d.Name() == "testdata":
				return filepath.SkipDir
			case d.IsDir() || !strings.HasSuffix(p, ".go"):
				return nil
			}
			src, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, p, src, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			file := filepath.ToSlash(strings.TrimPrefix(p, ".."+string(filepath.Separator)))
			all = append(all, source{
				file: file,
				pkg:  strings.TrimPrefix(strings.TrimPrefix(path.Dir(file), top), "/"),
				lib:  top == "lib",
				test: strings.HasSuffix(p, "_test.go"),
				tree: tree,
				set:  set,
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func (s source) at(n ast.Node) string {
	return s.file + ":" + strconv.Itoa(s.set.Position(n.Pos()).Line)
}

// block returns the floors that pkg stands in, or nil.
func block(pkg string) []string {
	for _, b := range [][]string{base, rooms, bodies} {
		if slices.Contains(b, pkg) {
			return b
		}
	}
	return nil
}

// within reports whether the import path is the module or one of its packages.
func within(path, module string) bool {
	return path == module || strings.HasPrefix(path, module+"/")
}
