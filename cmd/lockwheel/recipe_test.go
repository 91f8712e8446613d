//go:build unix

package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

// onceADay is the script of docs/recipes.md, with a file in place of the record and a job that ends when the file go
// is there.
const onceADay = `[ -e done ] && exit 0
echo begun >>begun; echo begun
while ! [ -e go ]; do sleep 0.05; done
echo >done`

// A host that dies in the middle of the job is followed by another one, and once the job is done no host begins it.
func TestRun_JobOnSeveralHosts_DoneOnce(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	folder := t.TempDir()
	host := func() *process {
		in := func(c *exec.Cmd) { c.Dir = folder }
		return startWith(t, in, urlOf(s.Addr()), "run", "report", "--lease", "5s", "--", "sh", "-c", onceADay)
	}
	first := host()
	first.prints(t, "begun")
	others := []*process{host(), host()}
	first.signal(t, syscall.SIGKILL)
	assert.Equal(t, -int(syscall.SIGKILL), first.status(t))
	eventually(t, func() bool { return begun(t, folder) == 2 }, "a successor begins the job")
	require.NoError(t, os.WriteFile(folder+"/go", nil, 0o600))
	for _, p := range others {
		assert.Equal(t, exitOK, p.status(t), p.err)
	}
	assert.Equal(t, 2, begun(t, folder), "the last host finds it done")
}

// begun returns how often the job of a folder began.
func begun(t *testing.T, folder string) int {
	t.Helper()
	lines, err := os.ReadFile(folder + "/begun")
	require.NoError(t, err)
	return strings.Count(string(lines), "\n")
}
