//go:build unix

package demo

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

// process runs the command as a separate process, and returns its output line by line. The process is killed at the
// end of the test, or when that takes too long.
func process(t *testing.T, args ...string) (*exec.Cmd, <-chan string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for text := bufio.NewScanner(out); text.Scan(); {
			lines <- text.Text()
		}
		io.Copy(io.Discard, out)
	}()
	return cmd, lines
}

// await reads until a line begins with the text.
func await(t *testing.T, lines <-chan string, beginning string) {
	t.Helper()
	late := time.After(20 * time.Second)
	for {
		select {
		case line, open := <-lines:
			require.True(t, open, "it ended before it printed %q", beginning)
			if strings.HasPrefix(line, beginning) {
				return
			}
		case <-late:
			require.Fail(t, "it never printed "+beginning)
		}
	}
}

func TestCommand_FirstSignal_EndsCleanly(t *testing.T) {
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd, lines := process(t, "-locks", "100", "-for", "1h")
		await(t, lines, "took     100 locks")
		require.NoError(t, cmd.Process.Signal(signal))
		await(t, lines, "interrupted")
		await(t, lines, "verdict: good")
		assert.NoError(t, cmd.Wait(), "status 0")
	}
}

// The signals are SIGTERM: if the tests run in the background of a shell, SIGINT is ignored, also by the command.
func TestCommand_SecondSignal_Kills(t *testing.T) {
	redis := redistest.Start(t)
	cmd, lines := process(t, "-locks", "100", "-for", "1h", "-lease", "1h", "-redis", redis.Addr())
	await(t, lines, "took     100 locks")
	require.NoError(t, redis.Pause(), "so that it cannot end cleanly")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	await(t, lines, "interrupted")
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	var exit *exec.ExitError
	require.True(t, errors.As(cmd.Wait(), &exit))
	assert.Equal(t, syscall.SIGTERM, exit.Sys().(syscall.WaitStatus).Signal())
}
