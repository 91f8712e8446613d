package redisson

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/leaks"
	"github.com/lockwheel/lockwheel/internal/long"
	"github.com/lockwheel/lockwheel/internal/testoutcome"
)

// longReason is the reason why tests that need the program are not in the quick suite.
const longReason = "Maven fetches Redisson the first time, and a Java machine starts"

func TestMain(m *testing.M) { leaks.Main(m) }

func TestTheProgramIsBuiltOnce(t *testing.T) {
	long.Only(t, longReason)
	first := Require(t)
	built, err := os.Stat(first.jar())
	require.NoError(t, err)
	t.Setenv("PATH", filepath.Dir(first.java)) // Maven must not be called again
	t.Setenv("JAVA_HOME", "")
	second := Require(t)
	require.Equal(t, first.folder, second.folder)
	again, err := os.Stat(second.jar())
	require.NoError(t, err)
	require.Equal(t, built.ModTime(), again.ModTime())
	require.Regexp(t, `^4\.\d+\.\d+$`, first.Version())
}

// Any change of the sources gives the program another hash.
func TestJavaProgram_SourceChanged_NewHash(t *testing.T) {
	source := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(source, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	write("src/A.java", "0")
	seen := map[string]bool{}
	for _, change := range [][2]string{
		{"pom.xml", "1"}, {"src/A.java", "2"}, {"pom.xml", "3"}, {"src/A.java", "4"}, {"src/B.java", ""},
	} {
		write("pom.xml", "0")
		write(change[0], change[1])
		sum, err := hash(source)
		require.NoError(t, err)
		require.False(t, seen[sum], change)
		seen[sum] = true
	}
}

// Without Java a test is skipped, but fails where a server is required.
func TestJava_Missing_SkippedUnlessRequired(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("JAVA_HOME", "")
	for _, c := range []struct{ ci, server, want string }{
		{"", "", "skipped: needs Java 17 and Maven"},
		{"true", "", "failed: redisson: exec: \"java\""},
		{"", "1", "failed: redisson: exec: \"java\""},
	} {
		t.Setenv("CI", c.ci)
		t.Setenv("LOCKWHEEL_REQUIRE_SERVER", c.server)
		require.Contains(t, testoutcome.Of(t, func(t testing.TB) { Require(t) }, "went on"), c.want)
	}
}

// Each reply goes to its command, however many are in flight.
func TestJava_Replies_MatchCommands(t *testing.T) {
	long.Only(t, longReason)
	java := Start(t)
	var answers []<-chan Answer
	for i := range 20 {
		answers = append(answers, java.Send("thread", Fields{"owner": fmt.Sprint("o ", i%4)}))
	}
	numbers := map[string]bool{}
	for i, answer := range answers {
		got := <-answer
		require.NoError(t, got.Err)
		numbers[got.Fields["number"]] = true
		require.Len(t, numbers, min(i+1, 4), "an owner is a thread")
	}
	_, err := java.Do(t.Context(), "dance", nil)
	require.Equal(t, &JavaError{"IllegalArgumentException", "no command dance"}, err)
	_, err = java.Do(t.Context(), "lock", Fields{"client": "ä&=+ %"})
	require.Equal(t, &JavaError{"IllegalArgumentException", "no client ä&=+ %"}, err)
}

// Commands to a process that was killed fail with ErrEnded.
func TestJava_Killed_CommandsFail(t *testing.T) {
	long.Only(t, longReason)
	java := Start(t)
	java.Kill()
	_, err := java.Do(t.Context(), "thread", nil)
	require.ErrorIs(t, err, ErrEnded)
}

func TestTail_KeepsEndOfLog(t *testing.T) {
	var log tail
	for range maxTail {
		fmt.Fprint(&log, "ab")
	}
	fmt.Fprint(&log, "c")
	require.Len(t, log.String(), maxTail)
	require.Equal(t, "bc", log.String()[maxTail-2:])
}
