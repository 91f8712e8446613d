// Package locktest has what the tests of several packages share. It has a server with an engine on it, conditions to
// wait for, holds and waiters of every kind, and clusters. Each function fails the test that it is called with; none
// sleeps.
package locktest

import (
	"fmt"
	"os"
	"testing"

	"github.com/lockwheel/lockwheel/internal/leaks"
	"github.com/lockwheel/lockwheel/internal/redistest"
)

// RunTests runs the tests of a package, or the role that a variable selects.
func RunTests(m *testing.M) {
	for variable, role := range ProcessRoles {
		if argument := os.Getenv(variable); argument != "" {
			if err := role(argument); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	redistest.SetParallel(parallelTests)
	leaks.Main(m)
}

// parallelTests is the number of tests that run in parallel: each of them waits most of the time, and together they
// keep one processor busy.
const parallelTests = 12
