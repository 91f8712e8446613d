package scripts_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every Lua file is part of a script, has a header, and raises no error.
func TestScripts_EveryFile_HasHeader(t *testing.T) {
	files, err := filepath.Glob("*.lua")
	require.NoError(t, err)
	shared, err := filepath.Glob("lib/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, shared)
	texts := map[string]string{}
	for _, script := range all {
		require.NotContains(t, texts, script.Name)
		texts[script.Name] = script.Text
	}
	for _, file := range slices.Concat(shared, files) {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		// An error that is raised ends the script halfway, for all keys after it.
		require.NotContains(t, string(text), "redis.call", file)
		require.NotContains(t, string(text), "error(", file)

		name := strings.TrimSuffix(file, ".lua")
		if slices.Contains(shared, file) {
			continue
		}
		require.True(t, strings.HasSuffix(texts[name], string(text)), file)
		delete(texts, name)
		header, _, _ := strings.Cut(string(text), "\n\n")
		for _, part := range []string{"\n-- KEYS ", "\n-- ARGV "} {
			require.Contains(t, header, part, file)
		}
		require.Regexp(t, `\n-- reply per (key|group)( \(1 alone if all are\))?: `, header, file)
		require.Regexp(t, `Sent twice|sent any number of times|Sent twice or late`, header, file)
	}
	require.Empty(t, texts, "no file of that name")
}
