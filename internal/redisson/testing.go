package redisson

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/lockwheel/lockwheel/internal/redistest"
)

// buildWait is for Maven, which may have to fetch what it builds with.
const buildWait = 10 * time.Minute

// small are options for a Java machine that is to start soon and to stay small.
var small = []string{"-Xmx128m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}

// Required tells whether what needs Java must fail without it.
func Required() bool {
	return os.Getenv(redistest.EnvRequire) == "1" || os.Getenv("CI") == "true"
}

// Need returns the program, built. Without Java or Maven the test is skipped, or fails where they are required. A program that
// cannot be built is a failure everywhere.
func Need(t testing.TB) *Program {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), buildWait)
	defer cancel()
	program, err := Build(ctx)
	switch {
	case err == nil:
	case errors.Is(err, exec.ErrNotFound) && !Required():
		t.Skipf("needs Java 17 and Maven: %v", err)
	default:
		t.Fatal(err)
	}
	return program
}

// Start starts a process of the test's own, which ends with it. What it logged is shown when the test fails.
func Start(t testing.TB) *Process {
	t.Helper()
	process, err := Need(t).StartSmall()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		process.Close()
		if t.Failed() {
			t.Logf("the end of what the Java program logged:\n%s", process.Log())
		}
	})
	return process
}

// StartSmall starts the program for tests: soon there, and small.
func (p *Program) StartSmall() (*Process, error) { return p.Start(small...) }
