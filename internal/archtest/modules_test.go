package archtest

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	workspaceUse        = regexp.MustCompile(`(?m)^\t\./?(\S*)$`)
	dependabotDirectory = regexp.MustCompile(`(?m)^      - /(\S*)$`)
)

// Dependabot updates each module of the workspace, and no folder that is none.
func TestDependabot_EveryModule_Listed(t *testing.T) {
	read := func(name string, entry *regexp.Regexp) (folders []string) {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		require.NoError(t, err)
		for _, match := range entry.FindAllStringSubmatch(string(text), -1) {
			folders = append(folders, match[1])
		}
		slices.Sort(folders)
		return folders
	}
	modules := read("go.work", workspaceUse)
	require.Contains(t, modules, "", "the root")
	require.Equal(t, modules, read(".github/dependabot.yml", dependabotDirectory))
}

// noAPI is in the comment of each package that can be imported and is no API: docs/versions.md promises nothing for it.
const noAPI = "is not part of lockwheel's API"

// A reader of a package learns from its comment that it is no API, and of no other package that it is none.
func TestPackageComment_NoAPI_Stated(t *testing.T) {
	root := filepath.Join("..", "..")
	internals := []string{"engine", "engine/coordinator", "engine/histogram", "engine/mpsc", "engine/rediserr", "engine/sim", "engine/slot",
		"engine/wire", "actor", "actor/quorum", "wheel", "scripts"}
	for _, folder := range []string{".", "leader", "lockwheeltest", "debug", "goredis", "lockwheelprom", "lockwheelotel"} {
		require.NotContains(t, packageComment(t, filepath.Join(root, folder)), noAPI, folder)
	}
	for _, folder := range internals {
		require.Contains(t, packageComment(t, filepath.Join(root, folder)), noAPI, folder)
	}
	for _, part := range []string{"engine", "actor"} {
		folders, err := filepath.Glob(filepath.Join(root, part, "*", "*.go"))
		require.NoError(t, err)
		for _, file := range folders {
			if folder := filepath.Base(filepath.Dir(file)); folder != "testdata" {
				require.Contains(t, internals, part+"/"+folder, "a new package: is it no API?")
			}
		}
	}
}

// packageComment returns the comments before the package clauses of a folder's files, with single spaces.
func packageComment(t *testing.T, folder string) string {
	files, err := filepath.Glob(filepath.Join(folder, "*.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, folder)
	var words []string
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.PackageClauseOnly)
		require.NoError(t, err)
		words = append(words, strings.Fields(file.Doc.Text())...)
	}
	return strings.Join(words, " ")
}
