package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

const (
	// asSubreaper makes the command the parent of orphans below it, as the first process of a container is.
	asSubreaper = "LOCKWHEEL_TEST_AS_SUBREAPER"
	// asRoot makes the test's own program one that becomes root and goes on until its input ends.
	asRoot = "LOCKWHEEL_TEST_AS_ROOT"
)

func init() {
	if os.Getenv(asSubreaper) != "" && os.Getenv(asCommand) != "" {
		unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	}
	if os.Getenv(asRoot) != "" && len(os.Args) == 2 && os.Args[1] == asRoot {
		if err := syscall.Setuid(0); err != nil {
			panic(err)
		}
		fmt.Println("started", os.Getpid())
		io.Copy(io.Discard, os.Stdin)
		os.Exit(5)
	}
}

// After a loss, the orphans of the program are gone when they have ended, also if run has become their parent.
func TestRun_FirstProcess_OrphansReaped(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	p := startWith(t, func(c *exec.Cmd) { c.Env = append(c.Env, asSubreaper+"=1") }, urlOf(s.Addr()),
		"run", "a", "--grace", "1h", "--", "sh", "-c", "sleep 300 & echo started $!; sleep 300")
	pidOf(t, p)
	status, _, stderr := result(t, urlOf(s.Addr()), "force", "--yes", "a")
	require.Equal(t, exitOK, status, stderr)
	assert.Equal(t, exitLost, p.status(t))
}

// An unprivileged run cannot end a program that has become root, as sudo does. It says so, and waits for it.
func TestRun_ProgramBecomesRoot_SaysItGoesOn(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, for a set-user-ID program")
	}
	s := redistest.Start(t)
	folder, err := os.MkdirTemp("", "lockwheel") // not t.TempDir, which other users cannot enter
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(folder) })
	require.NoError(t, os.Chmod(folder, 0o755))
	command, sudo := filepath.Join(folder, "command"), filepath.Join(folder, "sudo")
	for name, mode := range map[string]os.FileMode{command: 0o755, sudo: 0o755 | os.ModeSetuid} {
		// Another process writes it: of a file open for writing here, a process that another test starts has a copy, and
		// then the file cannot be run.
		out, err := exec.Command("cp", os.Args[0], name).CombinedOutput()
		require.NoError(t, err, string(out))
		require.NoError(t, os.Chmod(name, mode))
	}
	const unprivileged = 65534
	p := startWith(t, func(c *exec.Cmd) {
		c.Path, c.Dir = command, "/"
		c.Env = append(c.Env, asRoot+"=1")
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivileged, Gid: unprivileged}}
	}, urlOf(s.Addr()), "run", "a", "--grace", "200ms", "--", sudo, asRoot)
	pid := pidOf(t, p)
	t.Cleanup(func() { syscall.Kill(pid, syscall.SIGKILL) })
	status, _, stderr := result(t, urlOf(s.Addr()), "force", "--yes", "a")
	require.Equal(t, exitOK, status, stderr)
	want := fmt.Sprintf("process %d goes on: it belongs to another user and cannot be ended", pid)
	eventually(t, func() bool { return strings.Contains(p.err.String(), want) }, "it is not said, but: %s", p.err)
	assert.False(t, ended(pid))
	p.in.Close()
	assert.Equal(t, exitLost, p.status(t))
	assert.Contains(t, p.err.String(), "ended with status 5")
}
