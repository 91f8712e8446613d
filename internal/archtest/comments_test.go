package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// maxColumns is the width of a comment line. A tab counts as one column.
const maxColumns = 120

// Comments keep the rules of the architecture. A doc comment begins with the name that it documents, and its links lead
// to declarations. No line that is a comment is longer than maxColumns, and none has a word of deadWords.
func TestComments_SourceComplies(t *testing.T) {
	all := parseAll(t, os.DirFS("../.."))
	require.Greater(t, len(all.files), 300)
	for _, v := range all.inspectComments() {
		t.Error(v)
	}
}

// Each rule with a comment that breaks it, and with similar ones that do not.
func TestComments_FindsViolations(t *testing.T) {
	long := strings.Repeat("word ", 25)
	for _, c := range []struct {
		name, path, source string
		want               []string
	}{
		{"another word first", "a.go", "// Gives the answer.\nfunc f() {}", []string{`a.go:2: the comment of f begins with "Gives"`}},
		{"the old name first", "a.go", "// g returns.\nfunc f() {}", []string{`a.go:2: the comment of f begins with "g"`}},
		{"the name first", "a.go", "// f returns.\nfunc f() {}\n// t is a type.\ntype t struct{}\n// t's method.\nfunc (t) m() {}",
			[]string{`a.go:6: the comment of m begins with "t's"`}},
		{"a type in a group", "a.go", "type (\n\t// B is.\n\tA int\n)", []string{`a.go:3: the comment of A begins with "B"`}},
		{"an article before a type only", "a.go", "// A T is.\ntype T int\n// The f is.\nfunc f() {}", []string{`a.go:4: the comment of f begins with "The"`}},
		{"a const and a var", "a.go", "// Two of them.\nconst a = 1\n// b is.\nvar b int\n// Several together.\nconst (\n\tc = 1\n\td = 2\n)", []string{`a.go:2: the comment of a begins with "Two"`}},
		{"the first of several names", "a.go", "// a and b are.\nvar a, b int", nil},
		{"a directive is no comment", "a.go", "//go:noinline\nfunc f() {}", nil},
		{"tests tell a story", "a_test.go", "// A story.\nfunc TestA(t *testing.T) {}\n// A story.\nfunc BenchmarkA(b *testing.B) {}\n// A story.\nfunc ExampleA() {}\n// A story.\nfunc FuzzA(f *testing.F) {}", nil},

		{"a link to nothing", "a.go", "// f is like [G], [T.m], [T.n] and [a word].\nfunc f() {}\ntype T int\nfunc (T) m() {}",
			[]string{"a.go:2: no declaration [G]", "a.go:2: no declaration [T.n]"}},
		{"a link to a field", "a.go", "// T has [T.x], [*T] and [T.y].\ntype T struct { x int }", []string{"a.go:2: no declaration [T.y]"}},
		{"a link to another package", "a.go", "import \"github.com/lockwheel/lockwheel/actor\"\n// f is [actor.Lock], [actor.Lock.Step], [actor.Gone].\nfunc f() {}", []string{"a.go:3: no declaration [actor.Gone]"}},
		{"what is no link", "a.go", "// f has a[i], [1], [text in brackets] and x[T.q].\n//\n//\tcode [g]\nfunc f() {}", nil},
		{"a link to the library", "a.go", "import \"time\"\n// f is [time.Duration].\nfunc f() {}", nil},

		{"a dead word", "a.go", "// f leaves the roster.\nfunc f() {}", []string{`a.go:2: the dead word "roster"`}},
		{"a dead word in code", "a.go", "var spared = 1", nil},

		{"a long line", "a.go", "// f is " + long + "\nfunc f() {}", []string{"a.go:2: a comment of 133 columns"}},
		{"a comment behind code", "a.go", "var x = 1 // " + long, nil},
		{"a drawing", "a.go", "// x is.\n//\n//\tdrawn " + long + "\nvar x int", nil},
		{"a long line of code", "a.go", "var x = `" + long + "`", nil},
		{"an address cannot be broken", "a.go", "// x is at\n// https://example.org/" + strings.Repeat("x", 120) + "\nvar x int", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := &source{set: token.NewFileSet(), names: map[string]map[string]bool{"actor": {"Lock": true, "Lock.Step": true}}, imports: map[string]map[string]string{}}
			all.parse(t, c.path, []byte("package a\n"+c.source+"\n"))
			require.Equal(t, c.want, all.inspectComments())
		})
	}
}

// source is all Go files of a repository, with those of its other modules.
type source struct {
	set   *token.FileSet
	files []*parsed
	names map[string]map[string]bool // by folder: declarations, methods and fields as Type.Name
	// library is the same for the packages of the library, without their tests.
	library map[string]map[string]bool
	// imports has the packages that the files of a folder import, by the names that they use there.
	imports map[string]map[string]string
}

type parsed struct {
	path, folder string
	lines        []string
	syntax       *ast.File
}

func parseAll(t *testing.T, repository fs.FS) *source {
	t.Helper()
	all := &source{set: token.NewFileSet(), names: map[string]map[string]bool{}, library: map[string]map[string]bool{}, imports: map[string]map[string]string{}}
	require.NoError(t, fs.WalkDir(repository, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(repository, name)
		if err == nil {
			all.parse(t, name, text)
		}
		return err
	}))
	return all
}

func (s *source) parse(t *testing.T, name string, text []byte) {
	t.Helper()
	syntax, err := parser.ParseFile(s.set, name, text, parser.ParseComments|parser.SkipObjectResolution)
	require.NoError(t, err)
	f := &parsed{path: name, folder: path.Dir(name), lines: strings.Split(string(text), "\n"), syntax: syntax}
	s.files = append(s.files, f)
	if s.names[f.folder] == nil {
		s.names[f.folder] = map[string]bool{}
	}
	if s.imports[f.folder] == nil {
		s.imports[f.folder] = map[string]string{}
	}
	for _, spec := range syntax.Imports {
		name := path.Base(importPath(spec))
		if spec.Name != nil {
			name = spec.Name.Name
		}
		s.imports[f.folder][name] = importPath(spec)
	}
	declareAll(s.names[f.folder], syntax)
	if _, is := product[folderOf(f.folder)]; is && s.library != nil && !strings.HasSuffix(name, "_test.go") {
		if s.library[f.folder] == nil {
			s.library[f.folder] = map[string]bool{}
		}
		declareAll(s.library[f.folder], syntax)
	}
}

// declareAll adds the names that a file declares.
func declareAll(names map[string]bool, syntax *ast.File) {
	for _, d := range syntax.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names[d.Name.Name] = true
			} else {
				names[receiver(d)+"."+d.Name.Name] = true
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				declare(names, spec)
			}
		}
	}
}

// declare adds the names of a declaration, with those of fields and of an interface's methods.
func declare(names map[string]bool, spec ast.Spec) {
	switch s := spec.(type) {
	case *ast.ValueSpec:
		for _, name := range s.Names {
			names[name.Name] = true
		}
	case *ast.TypeSpec:
		names[s.Name.Name] = true
		var fields *ast.FieldList
		switch of := s.Type.(type) {
		case *ast.StructType:
			fields = of.Fields
		case *ast.InterfaceType:
			fields = of.Methods
		default:
			return
		}
		for _, field := range fields.List {
			for _, name := range field.Names {
				names[s.Name.Name+"."+name.Name] = true
			}
		}
	}
}

func (s *source) inspectComments() (violations []string) {
	for _, f := range s.files {
		for _, d := range f.syntax.Decls {
			violations = append(violations, s.inspectDoc(f, d)...)
		}
		violations = append(violations, s.inspectLinks(f)...)
		violations = append(violations, f.inspectLines(s.set)...)
		violations = append(violations, f.inspectWords(s.set)...)
	}
	return violations
}

// deadWords are names that others have replaced. A comment that still has one describes what no longer exists.
var deadWords = regexp.MustCompile(`\b(roster|audience|barred|spoiled|spared|nudges?|at most most|at most patience|far slot|expiration-renewal|letGo)\b`)

// inspectWords reports comments with dead words.
func (f *parsed) inspectWords(set *token.FileSet) (violations []string) {
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			if word := deadWords.FindString(c.Text); word != "" {
				violations = append(violations, fmt.Sprintf("%s:%d: the dead word %q", f.path, set.Position(c.Pos()).Line, word))
			}
		}
	}
	return violations
}

// storyTeller matches the functions of tests that have a story in their comment.
var storyTeller = regexp.MustCompile(`^(Test|Benchmark|Fuzz|Example)`)

func (s *source) inspectDoc(f *parsed, d ast.Decl) (violations []string) {
	check := func(doc *ast.CommentGroup, isType bool, name string) {
		words := strings.Fields(doc.Text())
		if len(words) == 0 {
			return
		}
		if isType && len(words) > 1 && slices.Contains([]string{"A", "An", "The"}, words[0]) {
			words = words[1:]
		}
		line := s.set.Position(doc.Pos()).Line
		if strings.TrimRight(words[0], ",.:;") != name {
			violations = append(violations, fmt.Sprintf("%s:%d: the comment of %s begins with %q", f.path, line, name, words[0]))
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !strings.HasSuffix(f.path, "_test.go") || !storyTeller.MatchString(d.Name.Name) {
			check(d.Doc, false, d.Name.Name)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			doc, isType, name := d.Doc, false, ""
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				if d.Lparen.IsValid() {
					doc = spec.Doc
				}
				isType, name = true, spec.Name.Name
			case *ast.ValueSpec:
				if d.Lparen.IsValid() {
					doc = spec.Doc
				}
				name = spec.Names[0].Name
			}
			check(doc, isType, name)
		}
	}
	return violations
}

// docLink matches what a doc comment writes as a link to a declaration.
var docLink = regexp.MustCompile(`(?m)(?:^|[\s("])\[\*?([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\](?:$|[\s.,;:)"!?'-])`)

// inspectLinks checks the links in the doc comments of a file.
func (s *source) inspectLinks(f *parsed) (violations []string) {
	check := func(doc *ast.CommentGroup) {
		for line := range strings.Lines(doc.Text()) {
			if strings.HasPrefix(line, "\t") {
				continue // code
			}
			for _, link := range docLink.FindAllStringSubmatch(strings.ReplaceAll(line, " ", "  "), -1) {
				isLink := strings.Contains(link[1], ".") || ast.IsExported(link[1])
				if isLink && !s.declared(f.folder, link[1]) {
					violations = append(violations, fmt.Sprintf("%s:%d: no declaration [%s]", f.path, s.set.Position(doc.Pos()).Line, link[1]))
				}
			}
		}
	}
	check(f.syntax.Doc)
	for _, d := range f.syntax.Decls {
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				check(n.Doc)
				return false
			case *ast.GenDecl:
				check(n.Doc)
			case *ast.TypeSpec:
				check(n.Doc)
			case *ast.ValueSpec:
				check(n.Doc)
			case *ast.Field:
				check(n.Doc)
			}
			return true
		})
	}
	return violations
}

// declared reports whether a name that a comment in a folder uses is declared there, or in a package that the folder
// imports. It knows nothing of the packages of other modules, and presumes that they have it.
func (s *source) declared(folder, name string) bool {
	if s.names[folder][name] {
		return true
	}
	first, rest, qualified := strings.Cut(name, ".")
	imported, is := s.imports[folder][first]
	if !is {
		return false
	}
	to, ours := ourFolder(imported)
	if to == "" {
		to = "."
	}
	return !qualified || !ours || s.names[to][rest]
}

// inspectLines checks the width of the lines that are comments. Drawings and addresses cannot be broken.
func (f *parsed) inspectLines(set *token.FileSet) (violations []string) {
	for _, group := range f.syntax.Comments {
		for _, c := range group.List {
			first := set.Position(c.Pos()).Line
			for i := range strings.Split(c.Text, "\n") {
				line := f.lines[first+i-1]
				alone, drawn := strings.HasPrefix(strings.TrimSpace(line), "//"), strings.HasPrefix(c.Text, "//\t")
				breakable := strings.Count(strings.TrimSpace(c.Text), " ") > 1
				if n := utf8.RuneCountInString(line); n > maxColumns && alone && !drawn && breakable {
					violations = append(violations, fmt.Sprintf("%s:%d: a comment of %d columns", f.path, first+i, n))
				}
			}
		}
	}
	return violations
}
