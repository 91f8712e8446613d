package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// privateWords lists words that this project once used for standard terms (docs/glossary.md has those).
var privateWords = regexp.MustCompile(`^(desk|bring|manned|ears|deaf|deafen|teach|pupils|judge|lead|errand|haunt|rare|giveway|relax|press|rhythm|crew|ordeal|liar|labour|realm|throne|dawdle)$`)

// vagueWords lists pronouns that hide the subject of a sentence.
var vagueWords = regexp.MustCompile(`(?i)\b(nobody|somebody|anybody|everybody|whoever|whose)\b`)

var (
	innerCapital = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	separators   = strings.NewReplacer("_", " ", "-", " ", ".", " ")
	quoted       = regexp.MustCompile("`[^`]*`|\"[^\"]*\"")
)

// wordsOf splits an identifier into its words, in lower case.
func wordsOf(name string) []string {
	return strings.Fields(strings.ToLower(innerCapital.ReplaceAllString(separators.Replace(name), "$1 $2")))
}

// vague reports whether a line has a vague word outside of quotes.
func vague(line string) bool {
	return vagueWords.MatchString(quoted.ReplaceAllString(line, ""))
}

// eachSource calls f with each file of the repository that people write: Go, Lua and Markdown.
func eachSource(t *testing.T, f func(name, text string)) {
	t.Helper()
	root := os.DirFS("../..")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "target"):
			return fs.SkipDir
		case d.IsDir() || path.Base(name) == "words_test.go":
			return nil
		}
		switch path.Ext(name) {
		case ".go", ".lua", ".md":
			text, err := fs.ReadFile(root, name)
			require.NoError(t, err)
			f(name, string(text))
		}
		return nil
	}))
}

// No identifier and no file has a private word for a standard term.
func TestWords_Private_None(t *testing.T) {
	eachSource(t, func(name, text string) {
		for _, word := range wordsOf(path.Base(name)) {
			if privateWords.MatchString(word) {
				t.Errorf("%s: the file's name has %q", name, word)
			}
		}
		if path.Ext(name) != ".go" {
			return
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, name, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				for _, word := range wordsOf(id.Name) {
					if privateWords.MatchString(word) {
						t.Errorf("%s: %s has %q", files.Position(id.Pos()), id.Name, word)
					}
				}
			}
			return true
		})
	})
}

// Sentences name their subject.
func TestWords_Vague_None(t *testing.T) {
	eachSource(t, func(name, text string) {
		for i, line := range strings.Split(text, "\n") {
			if vague(line) {
				t.Errorf("%s:%d: %s", name, i+1, strings.TrimSpace(line))
			}
		}
	})
}

// Both are found where they are, and not in other words.
func TestWords_Examples_Found(t *testing.T) {
	require.Equal(t, []string{"is", "rare", "lock"}, wordsOf("isRareLock"))
	require.Equal(t, []string{"rare", "go"}, wordsOf("rare.go"))
	require.True(t, privateWords.MatchString("lead"))
	require.False(t, privateWords.MatchString("leader"))
	require.True(t, vague("a lock that Nobody holds"))
	require.False(t, vague("a server says `nobody` there"))
}

// The root shows what a program calls: at most 16 files of code, and two of tests.
func TestRoot_Files_Few(t *testing.T) {
	entries, err := os.ReadDir("../..")
	require.NoError(t, err)
	code, tests := 0, 0
	for _, e := range entries {
		switch {
		case strings.HasSuffix(e.Name(), "_test.go"):
			tests++
		case path.Ext(e.Name()) == ".go":
			code++
		}
	}
	require.LessOrEqual(t, code, 16)
	require.LessOrEqual(t, tests, 2)
}
