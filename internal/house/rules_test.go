// Package house has no code, only a test: it reads the source of this repository and complains where it breaks the rules of the
// house. These are the rules that no compiler knows: which folder may import which, that time is an argument where decisions are
// made, that there are no mutexes, and that there are few dependencies.
package house

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

// product names the folders of the library, "" for its root, with the folders of ours that each may import. Tests may
// import their own folder and internal as well. Arrows go one way: nothing imports what imports it.
var product = map[string][]string{
	"":        {"engine", "actor"},
	"engine":  {"actor", "wheel", "scripts"},
	"actor":   {"wheel", "scripts"},
	"scripts": {},
	"wheel":   {},
}

// pure names the folders where decisions are made: no clock, no I/O, no goroutine, so that every race can be replayed.
var pure = []string{"actor", "wheel", "scripts"}

// around names the other folders that may hold code of this module.
var around = []string{"cmd", "internal", "interop"}

// clocks are the functions of package time that read or use a clock.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// harmless is what package sync has besides mutexes and what is made of them. Once and Map have one inside.
var harmless = []string{"Pool", "WaitGroup", "Locker"}

// dependencies are all direct ones, with the rule of where they may be imported.
var dependencies = map[string]struct {
	where string
	ok    func(file) bool
}{
	rueidis: {"engine, the root, internal, cmd and tests", func(f file) bool {
		return f.test || slices.Contains([]string{"", "engine", "internal", "cmd"}, f.folder)
	}},
	uuid: {"the root, engine, internal, cmd and tests", func(f file) bool {
		return f.test || slices.Contains([]string{"", "engine", "internal", "cmd"}, f.folder)
	}},
	testify:   {"tests and internal", func(f file) bool { return f.test || f.folder == "internal" }},
	porcupine: {"tests", func(f file) bool { return f.test }},
	goleak:    {"tests and internal", func(f file) bool { return f.test || f.folder == "internal" }},
	miniredis: {"internal, cmd and tests", func(f file) bool { return f.test || f.folder == "internal" || f.folder == "cmd" }},
}

// file is one source file and where it stands.
type file struct {
	path   string // from the root, with slashes
	folder string // the first element of path, "" for a file in the root
	test   bool
	syntax *ast.File
	set    *token.FileSet
}

// inspectModule returns what is wrong in a repository, and how many files were read. Folders with a go.mod of their own, and
// those that the go command does not look into, are not part of it.
func inspectModule(repository fs.FS) (complaints []string, files int, err error) {
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
		complaints = append(complaints, inspect(name, source)...)
		return nil
	})
	return complaints, files, err
}

func notOfModule(repository fs.FS, folder string) bool {
	if folder == "." {
		return false
	}
	_, err := fs.Stat(repository, path.Join(folder, "go.mod"))
	base := path.Base(folder)
	return err == nil || base == "testdata" || base == "vendor" || strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_")
}

// inspect returns what is wrong in one source file, each complaint with its place.
func inspect(name string, source []byte) (complaints []string) {
	set := token.NewFileSet()
	syntax, err := parser.ParseFile(set, name, source, parser.SkipObjectResolution)
	if err != nil {
		return []string{err.Error()}
	}
	folder, _, found := strings.Cut(name, "/")
	if !found {
		folder = ""
	}
	f := file{path: name, folder: folder, test: strings.HasSuffix(name, "_test.go"), syntax: syntax, set: set}
	for _, rule := range []func(file) []complaint{folders, imports, thirdParties, purity, mutexes} {
		for _, c := range rule(f) {
			complaints = append(complaints, fmt.Sprintf("%s:%d: %s", name, set.Position(c.at).Line, c.text))
		}
	}
	return complaints
}

type complaint struct {
	at   token.Pos
	text string
}

func complain(at token.Pos, format string, args ...any) complaint {
	return complaint{at, fmt.Sprintf(format, args...)}
}

func (f file) ofProduct() bool {
	_, ok := product[f.folder]
	return ok && !f.test
}

// folders: a new folder must say where it stands before it holds code; otherwise no rule would reach it.
func folders(f file) []complaint {
	if _, ok := product[f.folder]; ok || slices.Contains(around, f.folder) {
		return nil
	}
	return []complaint{complain(f.syntax.Package, "folder %s is not one of the house", f.folder)}
}

// imports: arrows between our folders go one way.
func imports(f file) (complaints []complaint) {
	allowed, ok := product[f.folder]
	if !ok {
		return nil
	}
	for _, spec := range f.syntax.Imports {
		to, ours := ourFolder(importPath(spec))
		own := to == f.folder && (f.test || to != "")
		if ours && !own && !slices.Contains(allowed, to) && !(f.test && to == "internal") {
			complaints = append(complaints, complain(spec.Pos(), "%s must not import %s", where(f.folder), where(to)))
		}
	}
	return complaints
}

// thirdParties: few dependencies, each where it belongs.
func thirdParties(f file) (complaints []complaint) {
	for _, spec := range f.syntax.Imports {
		imported := importPath(spec)
		domain, _, _ := strings.Cut(imported, "/")
		if _, ours := ourFolder(imported); ours || !strings.Contains(domain, ".") {
			continue
		}
		name := dependencyOf(imported)
		if name == "" {
			complaints = append(complaints, complain(spec.Pos(), "%s is not one of the dependencies", imported))
		} else if rule := dependencies[name]; !rule.ok(f) {
			complaints = append(complaints, complain(spec.Pos(), "%s belongs in %s only", imported, rule.where))
		}
	}
	return complaints
}

// purity: where decisions are made, time is an argument, and nothing happens beside the caller.
func purity(f file) (complaints []complaint) {
	if f.test || !slices.Contains(pure, f.folder) {
		return nil
	}
	for _, spec := range f.syntax.Imports {
		if name := importPath(spec); name == "context" || name == "sync" {
			complaints = append(complaints, complain(spec.Pos(), "%s must not import %s", f.folder, name))
		}
	}
	complaints = append(complaints, f.dotImports("time")...)
	uses := f.usesOf("time")
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if name, ok := uses(n); ok && slices.Contains(clocks, name) {
			complaints = append(complaints, complain(n.Pos(), "%s must not use time.%s: time is an argument", f.folder, name))
		}
		if statement, ok := n.(*ast.GoStmt); ok {
			complaints = append(complaints, complain(statement.Pos(), "%s must not start goroutines", f.folder))
		}
		return true
	})
	return complaints
}

// givesWay is the one place that may call runtime.Gosched: once a turn, not until something has happened.
const givesWay = "engine/giveway.go"

// mutexes: ownership does the work. Neither locks, nor what is made of them, nor spinning in their place.
func mutexes(f file) (complaints []complaint) {
	if !f.ofProduct() {
		return nil
	}
	complaints = append(complaints, f.dotImports("sync", "runtime")...)
	fromSync, fromRuntime := f.usesOf("sync"), f.usesOf("runtime")
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		if name, ok := fromSync(n); ok && !slices.Contains(harmless, name) {
			complaints = append(complaints, complain(n.Pos(), "sync.%s: no mutexes, and nothing made of them", name))
		}
		if name, ok := fromRuntime(n); ok && name == "Gosched" && f.path != givesWay {
			complaints = append(complaints, complain(n.Pos(), "runtime.Gosched: no spinning"))
		}
		if loop, ok := n.(*ast.ForStmt); ok && len(loop.Body.List) == 0 && loop.Post == nil {
			complaints = append(complaints, complain(n.Pos(), "a loop without a body: no spinning"))
		}
		return true
	})
	return complaints
}

// usesOf returns a function that tells which name of the package named a node uses, whatever the file calls that package.
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

// dotImports complains of imports that would hide from usesOf.
func (f file) dotImports(forbidden ...string) (complaints []complaint) {
	for _, spec := range f.syntax.Imports {
		if spec.Name != nil && spec.Name.Name == "." && slices.Contains(forbidden, importPath(spec)) {
			complaints = append(complaints, complain(spec.Pos(), "a dot import of %s hides what is used", importPath(spec)))
		}
	}
	return complaints
}

func importPath(spec *ast.ImportSpec) string {
	name, _ := strconv.Unquote(spec.Path.Value)
	return name
}

// ourFolder returns the folder of this module that an import path leads to.
func ourFolder(imported string) (folder string, ours bool) {
	if imported == module {
		return "", true
	}
	rest, ours := strings.CutPrefix(imported, module+"/")
	folder, _, _ = strings.Cut(rest, "/")
	return folder, ours
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
