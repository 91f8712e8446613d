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

// buildWait bounds a build. Maven may have to download its dependencies first.
const buildWait = 10 * time.Minute

// smallJVM are options for a Java machine that starts quickly and stays small.
var smallJVM = []string{"-Xmx128m", "-Xss512k", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}

// Required reports whether tests that need Java must fail without it.
func Required() bool {
	return os.Getenv(redistest.EnvRequire) == "1" || os.Getenv("CI") == "true"
}

// Require returns the built program. Without Java or Maven it skips the test, or fails it where they are required. A
// program that cannot be built fails the test everywhere.
func Require(t testing.TB) *Program {
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

// Start starts a process for the test, which ends with it. Its log is shown if the test fails.
func Start(t testing.TB) *Process {
	t.Helper()
	process, err := Require(t).StartSmall()
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

// StartSmall starts the program with options for tests: it starts quickly and stays small.
func (p *Program) StartSmall() (*Process, error) { return p.Start(smallJVM...) }
