// Package leaks verifies that the tests of a package leave no goroutine behind.
package leaks

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// endTimeout is how long goroutines may take to end after the last test. Some goroutines of rueidis sleep before they
// check whether their client is closed. They sleep up to 1 s after a failed connection attempt. In a cluster client
// with a connection that it no longer needs, they sleep up to 5 s.
const endTimeout = 20 * time.Second

// Main is the body of a TestMain. It runs the tests, waits until all goroutines have ended except those that
// existed before, and exits. If some do not end, it prints their stacks and exits with a failure.
func Main(m goleak.TestingM) {
	code := m.Run()
	if code == 0 {
		if err := await(endTimeout); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left after the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// await returns nil once no goroutine is left. Otherwise it returns the remaining ones as an error after the time
// most.
func await(timeout time.Duration) (left error) {
	for deadline := time.Now().Add(timeout); ; { // goleak itself waits for half a second
		if left = goleak.Find(); left == nil || time.Now().After(deadline) {
			return left
		}
	}
}
