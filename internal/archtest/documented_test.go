package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// Every exported name of the packages that programs use has documentation, even if it is only an alias for a name
// elsewhere.
func TestExportedNames_Documented(t *testing.T) {
	for _, folder := range []string{".", "debug", "leader", "lockwheeltest", "wheel"} {
		r := newReader(t, filepath.Join("..", "..", folder))
		r.read()
		require.Empty(t, r.undocumented, folder)
		require.NotZero(t, r.names, folder)
	}
}

// In the packages behind them each exported type, function, constant and variable has documentation, too. Fields and
// methods that only satisfy an interface may go without.
func TestInternalNames_Documented(t *testing.T) {
	for _, folder := range []string{
		"actor", "actor/quorum", "engine", "engine/coordinator", "engine/histogram", "engine/mpsc", "engine/rediserr", "engine/slot",
		"engine/wire", "internal/async", "internal/busywait", "internal/ctxwatch", "internal/dial", "internal/handshake", "internal/redisurl", "internal/sentinel", "scripts",
	} {
		r := newReader(t, filepath.Join("..", "..", folder))
		r.read()
		require.NotZero(t, r.names, folder)
		require.Empty(t, slices.DeleteFunc(r.undocumented, func(name string) bool {
			return strings.Contains(name, ".") || slices.Contains([]string{"Error", "Unwrap", "Is", "As", "Timeout"}, name)
		}), folder)
	}
}

// A name without documentation is found.
func TestExportedNames_Undocumented_Found(t *testing.T) {
	source := "package a\n// A is.\nfunc A() {}\nfunc B() {}\n// T is.\ntype T struct {\n\tX int\n}\nfunc (T) M() {}\nconst C = 1\nfunc d() {}\n"
	file, err := parser.ParseFile(token.NewFileSet(), "a.go", source, parser.ParseComments)
	require.NoError(t, err)
	r := &reader{t: t, files: []*ast.File{file}}
	r.read()
	require.Equal(t, []string{"B", "T.X", "M", "C"}, r.undocumented)
}

// reader collects the exported names of a package.
type reader struct {
	t            *testing.T
	files        []*ast.File
	names        int
	undocumented []string // names without a comment
}

func newReader(t *testing.T, folder string) *reader {
	t.Helper()
	r := &reader{t: t}
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(folder, name), nil, parser.ParseComments)
			require.NoError(t, err)
			r.files = append(r.files, file)
		}
	}
	return r
}

func (r *reader) read() {
	for _, file := range r.files {
		for _, declared := range file.Decls {
			switch d := declared.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || ast.IsExported(receiver(d)) {
					r.name(d.Name, d.Doc)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					r.spec(spec, d.Doc)
				}
			}
		}
	}
}

// name records a name with the comments on it.
func (r *reader) name(name *ast.Ident, comments ...*ast.CommentGroup) {
	if !name.IsExported() {
		return
	}
	r.names++
	for _, group := range comments {
		if strings.TrimSpace(group.Text()) != "" {
			return
		}
	}
	r.undocumented = append(r.undocumented, name.Name)
}

func (r *reader) spec(spec ast.Spec, of *ast.CommentGroup) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			r.name(name, s.Doc, s.Comment, of)
		}
	case *ast.TypeSpec:
		r.name(s.Name, s.Doc, s.Comment, of)
		if !s.Name.IsExported() {
			return
		}
		if s.Assign.IsValid() {
			r.alias(s, of.Text())
		}
		if fields, ok := s.Type.(*ast.StructType); ok {
			r.fields(s.Name.Name, fields)
		}
	}
}

func (r *reader) fields(of string, s *ast.StructType) {
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			before := len(r.undocumented)
			if r.name(name, field.Doc, field.Comment); len(r.undocumented) > before {
				r.undocumented[before] = of + "." + name.Name
			}
		}
	}
}

// alias handles an alias of a type with methods that the documentation does not show: its comment must name them.
func (r *reader) alias(s *ast.TypeSpec, text string) {
	original, ok := s.Type.(*ast.SelectorExpr)
	if !ok {
		return
	}
	elsewhere := newReader(r.t, filepath.Join("..", "..", r.folderOf(original.X.(*ast.Ident).Name)))
	found := false
	for _, file := range elsewhere.files {
		for _, declared := range file.Decls {
			d, ok := declared.(*ast.FuncDecl)
			if !ok || d.Recv == nil || receiver(d) != original.Sel.Name || !d.Name.IsExported() {
				continue
			}
			if found = true; !strings.Contains(text, s.Name.Name+"."+d.Name.Name+" ") {
				r.undocumented = append(r.undocumented, s.Name.Name+"."+d.Name.Name)
			}
		}
	}
	require.True(r.t, found, "the original of %s", s.Name.Name)
}

// folderOf returns the folder of a package of this module that a file imports.
func (r *reader) folderOf(name string) string {
	for _, file := range r.files {
		for _, spec := range file.Imports {
			if folder, ours := strings.CutPrefix(importPath(spec), module+"/"); ours && path.Base(folder) == name {
				return folder
			}
		}
	}
	return name
}

// receiver returns the name of the type that a method belongs to.
func receiver(d *ast.FuncDecl) string {
	of := d.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}

// walkStep matches a function or type and its file, as the walks in the documents name them.
var walkStep = regexp.MustCompile("`([\\w.]+)` in `([\\w/]+\\.(?:go|lua))`")

// walkFile matches each file that a walk names. A walk of maxWalkFiles and maxCrossings can be followed in one sitting.
var walkFile = regexp.MustCompile("`([\\w/]+\\.(?:go|lua))`")

const maxWalkFiles, maxCrossings = 25, 14

// The walk of one Lock from call to hold, and the one from a loss to the end of a context, name what exists. They do so
// in few files and with few crossings from one package to another.
func TestHowItWorks_WalkNamesExist(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-it-works.md"))
	require.NoError(t, err)
	for heading, atLeast := range map[string]int{"One Lock, from call to hold": 20, "From a loss to the end of a context": 10} {
		_, walk, found := strings.Cut(string(text), "\n## "+heading+"\n")
		require.True(t, found, heading)
		walk, _, _ = strings.Cut(walk, "\n## ")
		require.GreaterOrEqual(t, len(walkStep.FindAllString(walk, -1)), atLeast, heading)
		files, crossings := lengthOf(walk)
		require.LessOrEqual(t, files, maxWalkFiles, heading)
		require.LessOrEqual(t, crossings, maxCrossings, heading)
	}
	require.Empty(t, missingSteps(string(text), os.DirFS("../..")))
}

// A walk has as many files as it names, and a crossing where it goes on in another package.
func TestHowItWorks_WalkTooLong_Counted(t *testing.T) {
	files, crossings := lengthOf("1. `f` in `lock.go`, `g` in `hold.go`.\n2. `h` in `engine/a.go`, which has `scripts/a.lua` call\n" +
		"3. `i` in `scripts/lib/b.lua`, as `j.k` does.\n4. `l` in `engine/a.go` and `m` in `lock.go`")
	require.Equal(t, 5, files)
	require.Equal(t, 2, crossings)
}

// lengthOf returns how many files a walk names, and how often the next Go file is in another package. The server runs
// the scripts, so a walk does not leave its package for them.
func lengthOf(walk string) (files, crossings int) {
	seen, before := make(map[string]bool), ""
	for _, file := range walkFile.FindAllStringSubmatch(walk, -1) {
		seen[file[1]] = true
		if path.Ext(file[1]) != ".go" {
			continue
		}
		if folder := path.Dir(file[1]); folder != before {
			if before != "" {
				crossings++
			}
			before = folder
		}
	}
	return len(seen), crossings
}

// A step is reported if its function is not in its file.
func TestHowItWorks_MissingStep_Reported(t *testing.T) {
	repository := fstest.MapFS{"actor/lock.go": {Data: []byte("type Phase uint8\nfunc (l *Lock) Step(now int) {}\nfunc wake() {}\n")}}
	text := "`Lock.Step` in `actor/lock.go`, `wake` in `actor/lock.go`, `Phase` in `actor/lock.go`, " +
		"`Lock.Gone` in `actor/lock.go`, `Step` in `actor/lock.go`, `wake` in `actor/gone.go`"
	require.Equal(t, []string{"Lock.Gone in actor/lock.go", "Step in actor/lock.go", "wake in actor/gone.go"}, missingSteps(text, repository))
}

// missingSteps returns the functions and types that a document names in a file and that are not there.
func missingSteps(text string, repository fs.FS) (missing []string) {
	for _, step := range walkStep.FindAllStringSubmatch(text, -1) {
		name, file := step[1], step[2]
		declared := `(?m)^(local )?(func|function|type) ` + regexp.QuoteMeta(name) + `\b`
		if owner, method, is := strings.Cut(name, "."); is {
			declared = `(?m)^func \(\w+ \*?` + owner + `(?:\[\w+\])?\) ` + method + `\(`
		}
		source, err := fs.ReadFile(repository, file)
		if err != nil || !regexp.MustCompile(declared).Match(source) {
			missing = append(missing, name+" in "+file)
		}
	}
	return missing
}
