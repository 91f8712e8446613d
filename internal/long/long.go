// Package long tells the tests that everybody runs from those that take long: faults and histories on real servers, clusters in trouble,
// the whole simulation with the mistakes planted for it, and Redisson beside us. The latter run where LOCKWHEEL_LONG=1, as in CI.
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

// Env is the variable that asks for the long suite, with the value 1.
const Env = "LOCKWHEEL_LONG"

// Suite tells whether the long suite was asked for.
func Suite() bool { return os.Getenv(Env) == "1" }

// Only skips a test unless the long suite runs, or -run has the whole name of the test: then it was asked for. The reason says what takes so
// long, and follows "takes long: ".
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

// names tells whether a pattern of -run has the whole name of a test, which may be one of its own subtests.
func names(pattern, test string) bool {
	test, _, _ = strings.Cut(test, "/")
	return strings.Contains(pattern, test)
}

// Pick is how much of something there is in the quick suite, and how much in the long one.
func Pick[T any](quick, full T) T {
	if Suite() {
		return full
	}
	return quick
}
