// Package archtest has no code, only a test: it reads the source of this repository and reports where it breaks the
// rules of the architecture. A compiler does not check these rules. They say which folder may import which, that
// decisions receive time as an argument, that there are no mutexes, and that there are few dependencies.
package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

const (
	module    = "github.com/lockwheel/lockwheel"
	rueidis   = "github.com/redis/rueidis"
	uuid      = "github.com/google/uuid"
	testify   = "github.com/stretchr/testify"
	goleak    = "go.uber.org/goleak"
	miniredis = "github.com/alicebob/miniredis/v2"
	porcupine = "github.com/anishathalye/porcupine"
)

// product lists the folders of the library, "" for its root, each with the folders of this module that it may
// import. A folder below one of them has the rules of the nearest one above it. Tests may also import their own folder
// and internal. Imports go one way: no folder imports one that imports it.
var product = map[string][]string{
	"": {
		"actor", "engine", "engine/coordinator", "engine/histogram", "engine/rediserr", "engine/slot", "engine/wire",
		"internal/async", "internal/busywait", "internal/ctxwatch", "internal/dial", "internal/identity", "internal/redisurl", "internal/sentinel",
	},
	"internal/async":     {"engine/mpsc"},
	"internal/busywait":  {},
	"internal/ctxwatch":  {"actor"},
	"internal/dial":      {"engine/rediserr", "internal/busywait", "internal/handshake"},
	"internal/identity":  {},
	"internal/handshake": {"actor", "engine/rediserr"},
	"internal/redisurl":  {"engine/rediserr"},
	"internal/sentinel":  {"engine/rediserr", "internal/dial"},

	"lockwheeltest": {"", "internal/embedded", "internal/identity"},
	"debug":         {""},
	"leader":        {""},
	"examples":      {"", "leader", "internal/embedded"},

	"engine":             {"actor", "engine/coordinator", "engine/mpsc", "engine/rediserr", "engine/slot", "engine/wire", "internal/identity", "scripts"},
	"engine/wire":        {"actor", "engine/coordinator", "engine/rediserr", "scripts"},
	"engine/coordinator": {"actor", "engine/histogram", "engine/mpsc", "engine/rediserr", "engine/slot", "scripts", "wheel"},
	"engine/sim":         {},
	"engine/rediserr":    {"actor"},
	"engine/slot":        {"scripts"},
	"engine/histogram":   {},
	"engine/mpsc":        {},

	"actor":   {"wheel", "scripts"},
	"scripts": {},
	"wheel":   {},
}

// usesLocks lists the folders that use locks as programs do. Their tests may import lockwheeltest.
var usesLocks = []string{"leader", "examples"}

// pure lists the folders that make decisions. They use no clock, no I/O and no goroutine, so that every race can be
// replayed. The folders below them are pure, too.
var pure = []string{"actor", "engine/coordinator", "engine/histogram", "engine/slot", "wheel", "scripts"}

// impureImports lists packages that decisions have no use for: those that wait, and those that reach outside.
var impureImports = []string{"context", "sync", "os"}

// netText lists the names of package net that only deal with text.
var netText = []string{"JoinHostPort", "SplitHostPort"}

// simulation is the folder of the simulation. Its files are tests, and may import what they run.
const simulation = "engine/sim"

// otherDirs lists the other folders that may hold code of this module. internal/embedded is apart from internal because
// a folder of product imports it.
var otherDirs = []string{"internal", "internal/embedded", "interop", "test"}

// clocks are the functions of package time that read or use a clock.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// allowedSync lists the names of package sync that are neither mutexes nor built on them. Once and Map contain one.
var allowedSync = []string{"Pool", "WaitGroup", "Locker"}

// dependencies are all direct dependencies, each with the rule of where it may be imported.
var dependencies = map[string]struct {
	where string
	ok    func(file) bool
}{
	rueidis: {"engine without its pure parts, the root, examples, internal and tests", func(f file) bool {
		return f.test || slices.Contains([]string{"", "engine", "engine/wire", "engine/rediserr", "examples", "internal", "internal/dial", "internal/embedded", "internal/identity", "internal/redisurl", "internal/sentinel"}, f.folder)
	}},
	uuid: {"the root, engine, internal and tests", func(f file) bool {
		return f.test || slices.Contains([]string{"", "engine", "internal", "internal/identity"}, f.folder)
	}},
	testify:   {"tests and internal", func(f file) bool { return f.test || f.folder == "internal" }},
	porcupine: {"tests", func(f file) bool { return f.test }},
	goleak:    {"tests and internal", func(f file) bool { return f.test || f.folder == "internal" }},
	miniredis: {"internal and tests", func(f file) bool {
		return f.test || slices.Contains([]string{"internal", "internal/embedded"}, f.folder)
	}},
}

// file is one source file with its location.
type file struct {
	path   string // from the root, with slashes
	folder string // the folder with rules that path is in, "" for a file in the root
	test   bool
	syntax *ast.File
	set    *token.FileSet
}

// inspectModule returns the violations in a repository and the number of files it read. It skips folders with a
// go.mod of their own, and those that the go command ignores.
func inspectModule(repository fs.FS) (violations []string, files int, err error) {
	err = fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && notOfModule(repository, name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		source, err := fs.ReadFile(repository, name)
		if err != nil {
			return err
		}
		files++
		violations = append(violations, inspect(name, source)...)
		return nil
	})
	return violations, files, err
}

func notOfModule(repository fs.FS, folder string) bool {
	if folder == "." {
		return false
	}
	_, err := fs.Stat(repository, path.Join(folder, "go.mod"))
	base := path.Base(folder)
	return err == nil || base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

// inspect returns the violations in one source file, each with its position.
func inspect(name string, source []byte) (violations []string) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	f := file{path: name, folder: folderOf(path.Dir(name)), test: strings.HasSuffix(name, "_test.go"), syntax: syntax, set: set}
	for _, rule := range []func(file) []violation{folders, imports, thirdParties, purity, mutexes} {
		for _, c := range rule(f) {
			violations = append(violations, fmt.Sprintf("%s:%d: %s", name, set.Position(c.at).Line, c.text))
		}
	}
	return violations
}

type violation struct {
	at   token.Pos
	text string
}

func violationf(at token.Pos, format string, args ...any) violation {
	return violation{at, fmt.Sprintf(format, args...)}
}

func (f file) ofProduct() bool {
	_, ok := product[f.folder]
	return ok && !f.test
}

// folders requires a rule for every folder with code, because otherwise no rule would reach a new folder.
func folders(f file) []violation {
	if _, ok := product[f.folder]; ok || slices.Contains(otherDirs, f.folder) {
		return nil
	}
	return []violation{violationf(f.syntax.Package, "folder %s has no rule", f.folder)}
}

// imports checks that imports between folders of this module follow product.
func imports(f file) (violations []violation) {
	allowed, ok := product[f.folder]
	if !ok || f.folder == simulation {
		return nil
	}
	for _, spec := range f.syntax.Imports {
		to, ours := ourFolder(importPath(spec))
		own := to == f.folder && (f.test || to != "")
		forTests := strings.HasPrefix(to, "internal") || to == "lockwheeltest" && slices.Contains(usesLocks, f.folder)
		if ours && !own && !slices.Contains(allowed, to) && !(f.test && forTests) {
			violations = append(violations, violationf(spec.Pos(), "%s must not import %s", where(f.folder), where(to)))
		}
	}
	return violations
}

// thirdParties checks that dependencies are few, and imported only where they are allowed.
func thirdParties(f file) (violations []violation) {
	for _, spec := range f.syntax.Imports {
		imported := importPath(spec)
		domain, _, _ := strings.Cut(imported, "/")
		if _, ours := ourFolder(imported); ours || !strings.Contains(domain, ".") {
			continue
		}
		name := dependencyOf(imported)
		if name == "" {
			violations = append(violations, violationf(spec.Pos(), "%s is not one of the dependencies", imported))
		} else if rule := dependencies[name]; !rule.ok(f) {
			violations = append(violations, violationf(spec.Pos(), "%s belongs in %s only", imported, rule.where))
		}
	}
	return violations
}

// purity checks that code which makes decisions receives time as an argument and starts nothing concurrent.
func purity(f file) (violations []violation) {
	if f.test || !slices.Contains(pure, f.folder) {
		return nil
	}
	for _, spec := range f.syntax.Imports {
		if name := importPath(spec); slices.Contains(impureImports, name) {
			violations = append(violations, violationf(spec.Pos(), "%s must not import %s", f.folder, name))
		}
	}
	violations = append(violations, f.dotImports("time")...)
	uses, network := f.usesOf("time"), f.usesOf("net")
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if name, ok := network(n); ok && !slices.Contains(netText, name) {
			violations = append(violations, violationf(n.Pos(), "%s must not use net.%s", f.folder, name))
		}
		if name, ok := uses(n); ok && slices.Contains(clocks, name) {
			violations = append(violations, violationf(n.Pos(), "%s must not use time.%s: time is an argument", f.folder, name))
		}
		if statement, ok := n.(*ast.GoStmt); ok {
			violations = append(violations, violationf(statement.Pos(), "%s must not start goroutines", f.folder))
		}
		return true
	})
	return violations
}

// goschedFiles are the only files that may call runtime.Gosched: once a turn or once in some calls, or between two
// looks for a reply, which Options.BusyWait bounds.
var goschedFiles = []string{"engine/yield.go", "internal/busywait/busywait.go"}

// mutexes checks that ownership replaces locks: no mutexes, nothing built on them, and no spinning instead of them.
func mutexes(f file) (violations []violation) {
	if !f.ofProduct() {
		return nil
	}
	violations = append(violations, f.dotImports("sync", "runtime")...)
	fromSync, fromRuntime := f.usesOf("sync"), f.usesOf("runtime")
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if name, ok := fromSync(n); ok && !slices.Contains(allowedSync, name) {
			violations = append(violations, violationf(n.Pos(), "sync.%s: no mutexes, and nothing made of them", name))
		}
		if name, ok := fromRuntime(n); ok && name == "Gosched" && !slices.Contains(goschedFiles, f.path) {
			violations = append(violations, violationf(n.Pos(), "runtime.Gosched: no spinning"))
		}
		if loop, ok := n.(*ast.ForStmt); ok && len(loop.Body.List) == 0 && loop.Post == nil {
			violations = append(violations, violationf(n.Pos(), "a loop without a body: no spinning"))
		}
		return true
	})
	return violations
}

// usesOf returns a function that reports which name of the imported package a node uses, whatever the file calls
// that package.
func (f file) usesOf(imported string) func(ast.Node) (name string, ok bool) {
	var local []string
	for _, spec := range f.syntax.Imports {
		if importPath(spec) != imported {
			continue
		}
		if spec.Name != nil {
			local = append(local, spec.Name.Name)
		} else {
			local = append(local, path.Base(imported))
		}
	}
	return func(n ast.Node) (string, bool) {
		selector, ok := n.(*ast.SelectorExpr)
		if !ok {
			return "", false
		}
		from, ok := selector.X.(*ast.Ident)
		return selector.Sel.Name, ok && slices.Contains(local, from.Name)
	}
}

// dotImports reports dot imports, which would hide names from usesOf.
func (f file) dotImports(forbidden ...string) (violations []violation) {
	for _, spec := range f.syntax.Imports {
		if spec.Name != nil && spec.Name.Name == "." && slices.Contains(forbidden, importPath(spec)) {
			violations = append(violations, violationf(spec.Pos(), "a dot import of %s hides what is used", importPath(spec)))
		}
	}
	return violations
}

func importPath(spec *ast.ImportSpec) string {
	name, _ := strconv.Unquote(spec.Path.Value)
	return name
}

// ourFolder returns the folder of this module that an import path refers to.
func ourFolder(imported string) (folder string, ours bool) {
	if imported == module {
		return "", true
	}
	rest, ours := strings.CutPrefix(imported, module+"/")
	return folderOf(rest), ours
}

// folderOf returns the nearest folder with rules at or above a path, or else its first element.
func folderOf(name string) string {
	if name == "." {
		return ""
	}
	for at := name; at != "."; at = path.Dir(at) {
		if _, ok := product[at]; ok || slices.Contains(otherDirs, at) {
			return at
		}
	}
	first, _, _ := strings.Cut(name, "/")
	return first
}

// dependencyOf returns which dependency an import path belongs to, "" for none.
func dependencyOf(imported string) string {
	for name := range dependencies {
		if imported == name || strings.HasPrefix(imported, name+"/") {
			return name
		}
	}
	return ""
}

func where(folder string) string {
	if folder == "" {
		return "the root"
	}
	return folder
}
