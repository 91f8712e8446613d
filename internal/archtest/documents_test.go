package archtest

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// maxPage is how many lines README and a page of docs/ may have.
const maxPage = 200

// The Go names of the glossary are declared, and the files that documents name in backquotes exist. So are the methods
// and fields that documents name as Type.Name. No page is too long.
func TestDocuments_SourceComplies(t *testing.T) {
	repository := os.DirFS("../..")
	all := parseAll(t, repository)
	terms := 0
	for _, document := range append(pages(t, repository), "CONTRIBUTING.md", "test/README.md", "interop/README.md") {
		text, err := fs.ReadFile(repository, document)
		require.NoError(t, err)
		if document != "CONTRIBUTING.md" {
			require.LessOrEqual(t, strings.Count(string(text), "\n"), maxPage, "lines of %s", document)
		}
		for _, v := range all.inspectDocument(repository, document, string(text)) {
			t.Error(v)
		}
		if document == "docs/glossary.md" {
			terms = len(lastColumn.FindAllString(string(text), -1))
		}
	}
	require.Greater(t, terms, 40, "terms of the glossary")
}

// pages returns README and the pages in docs/ and docs/operate/.
func pages(t *testing.T, repository fs.FS) []string {
	t.Helper()
	all := []string{"README.md"}
	for pattern, atLeast := range map[string]int{"docs/*.md": 20, "docs/*/*.md": 12} {
		found, err := fs.Glob(repository, pattern)
		require.NoError(t, err)
		require.GreaterOrEqual(t, len(found), atLeast, pattern)
		all = append(all, found...)
	}
	return all
}

// A name that is not declared, and a file that is not there, are reported.
func TestDocuments_FindsViolations(t *testing.T) {
	repository := fstest.MapFS{"actor/lock.go": {}, "scripts/acquire.lua": {}, "docs/glossary.md": {}}
	names := map[string]map[string]bool{
		".":          {"Hold": true, "Hold.Err": true, "Engine": true},
		"actor":      {"Lock": true, "Lock.Step": true, "wantConfirm": true},
		"engine/sim": {"simWorld.check": true},
	}
	all := &source{names: names, library: names}
	for _, c := range []struct {
		name, document, text string
		want                 []string
	}{
		{"glossary", "docs/glossary.md", "| a | b `c` | `Hold.Err`, `lockwheel.Engine`, `actor.Lock`, `Lock.Step`, `wantConfirm`, `actor/lock.go`, `actor` |\n", nil},
		{"no name", "docs/glossary.md", "| a | b | `Hold.Gone`, `syncer`, `actor.Gone`, `actor/gone` |\n",
			[]string{"docs/glossary.md:1: no declaration `Hold.Gone`", "docs/glossary.md:1: no declaration `syncer`",
				"docs/glossary.md:1: no declaration `actor.Gone`", "docs/glossary.md:1: no declaration `actor/gone`"}},
		{"files", "docs/a.md", "See `actor/lock.go`, `acquire.lua`, `scripts/*.lua`, `actor/`, and `scripts/NAME.lua`, `go test ./actor`.\nNot `actor/wheel.go`, `gone/`.",
			[]string{"docs/a.md:2: no file `actor/wheel.go`"}},
		{"methods", "README.md", "`Hold.Err` and `Hold.Err()`, `ctx.Err`, not `Hold.Lost`",
			[]string{"README.md:1: no declaration `Hold.Lost`"}},
		{"checks", "docs/simulation.md", "| turn | it `holds` | `check` (of a quorum), `agree` |\n| engines | `any` |", []string{"docs/simulation.md:1: no check `agree`"}},
		{"code", "docs/a.md", "```\n`actor/wheel.go`\n```\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, all.inspectDocument(repository, c.document, c.text))
		})
	}
}

// Each file of the library that starts a goroutine is named in one of the two lists of goroutines, and no other is.
func TestGoroutines_AllListed(t *testing.T) {
	repository := os.DirFS("../..")
	all := parseAll(t, repository)
	for _, list := range []struct {
		document, from, to string
		folders            []string
	}{
		{"engine/doc.go", "The number of goroutines", "Engine.Wait waits", []string{"engine"}},
		{"docs/how-it-works.md", "| goroutine |", "\n## Commands", []string{".", "internal/async", "internal/ctxwatch", "internal/dial", "internal/handshake", "internal/redisurl", "internal/sentinel"}},
	} {
		text, err := fs.ReadFile(repository, list.document)
		require.NoError(t, err)
		_, section, found := strings.Cut(string(text), list.from)
		require.True(t, found)
		section, _, found = strings.Cut(section, list.to)
		require.True(t, found)
		starting := all.startGoroutines(list.folders)
		require.NotEmpty(t, starting)
		named := goFile.FindAllString(section, -1)
		for _, file := range starting {
			name := strings.TrimPrefix(file, "engine/")
			require.Contains(t, named, name, "%s starts a goroutine, and %s does not name it", file, list.document)
		}
		if list.document != "engine/doc.go" { // there, files with the body of a goroutine are named as well
			for _, name := range named {
				require.Contains(t, starting, name, "%s names a file that starts no goroutine", list.document)
			}
		}
	}
}

// A file counts if it has a go statement, or has package sync, context or time start a goroutine.
func TestGoroutines_FindsStarts(t *testing.T) {
	all := &source{set: token.NewFileSet(), names: map[string]map[string]bool{}, imports: map[string]map[string]string{}}
	for name, code := range map[string]string{
		"a.go":        "func f() { go f() }",
		"b.go":        "func f() { wg.Go(f) }",
		"c.go":        "func f() { time.AfterFunc(1, f) }",
		"d.go":        "func f() { context.AfterFunc(ctx, f) }",
		"e.go":        "// go f()\nfunc f() { g.Post(f) }",
		"a_test.go":   "func f() { go f() }",
		"engine/a.go": "func f() { go f() }",
	} {
		all.parse(t, name, []byte("package a\n"+code))
	}
	require.Equal(t, []string{"a.go", "b.go", "c.go", "d.go"}, all.startGoroutines([]string{"."}))
}

var goFile = regexp.MustCompile(`[\w/]+\.go\b`)

// startGoroutines returns the files of some folders that start goroutines, sorted. Tests do not count.
func (s *source) startGoroutines(folders []string) (starting []string) {
	for _, f := range s.files {
		if strings.HasSuffix(f.path, "_test.go") || !slices.Contains(folders, f.folder) {
			continue
		}
		starts := false
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				starts = true
			case *ast.CallExpr:
				called, is := n.Fun.(*ast.SelectorExpr)
				starts = starts || is && (called.Sel.Name == "Go" || called.Sel.Name == "AfterFunc")
			}
			return true
		})
		if starts {
			starting = append(starting, f.path)
		}
	}
	slices.Sort(starting)
	return starting
}

var (
	backquoted = regexp.MustCompile("`([^`\n]+)`")
	lastColumn = regexp.MustCompile(`(?m)\| ([^|]*) ?\|$`)
	// filePath matches what can only be a file of the repository, or a pattern of such files.
	filePath = regexp.MustCompile(`^[\w.*-]+(/[\w.*-]+)+\.(go|lua|md|json|yml)$`)
	// simulationRow matches a row of the table of the simulation's checks.
	simulationRow = regexp.MustCompile(`^\| (event|turn|look|end) \| .* \| `)
	// memberName matches a method or field.
	memberName = regexp.MustCompile(`^([A-Z]\w+)\.([A-Z]\w*)(\(\))?$`)
	fenced     = regexp.MustCompile("(?s)```.*?```")
)

func (s *source) inspectDocument(repository fs.FS, document, text string) (violations []string) {
	text = fenced.ReplaceAllStringFunc(text, func(code string) string { return strings.Repeat("\n", strings.Count(code, "\n")) })
	number := 0
	for line := range strings.Lines(text) {
		number++
		report := func(what, name string) {
			violations = append(violations, fmt.Sprintf("%s:%d: no %s `%s`", document, number, what, name))
		}
		for _, match := range backquoted.FindAllStringSubmatch(line, -1) {
			name := match[1]
			switch member := memberName.FindStringSubmatch(name); {
			case filePath.MatchString(name) && !strings.Contains(name, "/NAME."):
				found, err := fs.Glob(repository, name)
				beside, _ := fs.Glob(repository, path.Join(path.Dir(document), name))
				if err != nil || len(found)+len(beside) == 0 {
					report("file", name)
				}
			case document != "docs/glossary.md" && member != nil && s.hasMembers(member[1]) && !declaredIn(s.names, member[1]+"."+member[2]):
				report("declaration", name)
			}
		}
		switch row := lastColumn.FindStringSubmatch(line); {
		case row == nil:
		case document == "docs/glossary.md":
			for _, match := range backquoted.FindAllStringSubmatch(row[1], -1) {
				info, err := fs.Stat(repository, match[1])
				if isFolder := err == nil && info.IsDir(); !isFolder && !filePath.MatchString(match[1]) && !declaredIn(s.library, match[1]) {
					report("declaration", match[1])
				}
			}
		case document == "docs/simulation.md" && simulationRow.MatchString(line):
			for _, match := range backquoted.FindAllStringSubmatch(row[1], -1) {
				if !s.hasMethod("engine/sim", match[1]) {
					report("check", match[1])
				}
			}
		}
	}
	return violations
}

// hasMembers reports whether some package declares a type of that name with methods or fields.
func (s *source) hasMembers(name string) bool {
	for _, names := range s.names {
		for declared := range names {
			if strings.HasPrefix(declared, name+".") {
				return true
			}
		}
	}
	return false
}

// hasMethod reports whether a package declares a method or field of that name.
func (s *source) hasMethod(folder, name string) bool {
	for declared := range s.names[folder] {
		if strings.HasSuffix(declared, "."+name) {
			return true
		}
	}
	return false
}

// declaredIn reports whether a name is declared in some package. It may begin with the package's name.
func declaredIn(packages map[string]map[string]bool, name string) bool {
	first, rest, _ := strings.Cut(name, ".")
	for folder, names := range packages {
		of := path.Base(folder)
		if folder == "." {
			of = "lockwheel"
		}
		if names[name] || of == first && names[rest] {
			return true
		}
	}
	return false
}
