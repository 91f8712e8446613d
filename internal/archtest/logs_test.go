package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// logRecord matches what the library writes to a log, behind the words with which each record begins.
	logRecord = regexp.MustCompile(`(?:\.(?:Debug|Info|Warn|Error)|logNotices)\("lockwheel: ([^"]+)"`)
	// documentedRecord matches a row of the page's tables of records.
	documentedRecord = regexp.MustCompile("(?m)^\\| (?:INFO|WARN|ERROR) \\| `([^`]+)` \\|")
	errorText        = regexp.MustCompile(`errors\.New\("([^"]+)"\)`)
)

// An operator finds on the page what is in a log: each record of the library, no other one, and each cause of a loss.
func TestLogs_EachRecordAndCause_Documented(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "docs", "operate", "logs.md"))
	require.NoError(t, err)
	page := string(text)
	logged := make(map[string]bool)
	for _, folder := range []string{".", "engine", "actor", "debug", "internal/sentinel", "internal/async", "leader"} {
		files, err := fs.Glob(os.DirFS(filepath.Join(root, folder)), "*.go")
		require.NoError(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			source, err := os.ReadFile(filepath.Join(root, folder, name))
			require.NoError(t, err)
			for _, found := range logRecord.FindAllStringSubmatch(string(source), -1) {
				logged[found[1]] = true
			}
		}
	}
	for record := range logged {
		require.Contains(t, page, "| `"+record+"` |")
	}
	for _, row := range documentedRecord.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(row[1], "by the debug page") {
			require.True(t, logged[row[1]], row[1])
			delete(logged, row[1])
		}
	}
	require.Empty(t, logged)

	source, err := os.ReadFile(filepath.Join(root, "actor", "errors.go"))
	require.NoError(t, err)
	_, causes, found := strings.Cut(string(source), "// Causes of a loss")
	require.True(t, found)
	causes, _, _ = strings.Cut(causes, "\n)")
	all := errorText.FindAllStringSubmatch(causes, -1)
	require.NotEmpty(t, all)
	for _, cause := range all {
		require.Contains(t, page, "| `"+cause[1]+"` |")
	}
	forced, err := os.ReadFile(filepath.Join(root, "debug", "force.go"))
	require.NoError(t, err)
	for _, record := range regexp.MustCompile(`return "(a lock [^"]*by the debug page[^"]*)"`).FindAllStringSubmatch(string(forced), -1) {
		require.Contains(t, page, "| `"+record[1]+"` |")
	}
}
