// Package long separates the quick tests from those that take long. Those are faults and histories on real servers,
// clusters in trouble, the whole simulation with its planted mistakes, and tests with Redisson. The long ones run with
// LOCKWHEEL_LONG=1, as in CI.
//
//	long.Only(t, "it replaces the master of a cluster")   // skips the test, and says why and how it runs
//	seeds := long.Pick(300, 3000)                         // less of the same in the quick suite
package long

import (
	"flag"
	"os"
	"strings"
	"testing"
)

// Env is the environment variable that enables the long suite, with the value 1.
const Env = "LOCKWHEEL_LONG"

// Suite reports whether the long suite was requested.
func Suite() bool { return os.Getenv(Env) == "1" }

// Only skips a test unless the long suite runs. It does not skip a test with its whole name in -run, because that
// test was requested. The reason says what takes long, and follows "takes long: ".
func Only(t testing.TB, reason string) {
	t.Helper()
	pattern := ""
	if run := flag.Lookup("test.run"); run != nil {
		pattern = run.Value.String()
	}
	if !Suite() && !names(pattern, t.Name()) {
		t.Skipf("takes long: %s. %s=1 runs it", reason, Env)
	}
}

// names reports whether a pattern of -run contains the whole name of a test. For a subtest, the name of its
// top-level test counts.
func names(pattern, test string) bool {
	test, _, _ = strings.Cut(test, "/")
	return strings.Contains(pattern, test)
}

// Pick returns quick in the quick suite and full in the long one.
func Pick[T any](quick, full T) T {
	if Suite() {
		return full
	}
	return quick
}
