// Package leaks makes sure that the tests of a package leave no goroutine behind.
package leaks

import (
	"fmt"
	"os"
	"time"

	"go.uber.org/goleak"
)

// patience is how long goroutines may take to end after the last test. Some of rueidis sleep before they look whether they are
// still wanted, whatever is closed: for up to a second after an attempt to connect that failed, and for five where a client of a
// cluster has a connection that it needs no more.
const patience = 20 * time.Second

// Main is what a TestMain does: it runs the tests, waits until all goroutines have ended but those that were there before, and ends
// the program. It fails, with their stacks, when some go on.
func Main(m goleak.TestingM) {
	code := m.Run()
	if code == 0 {
		if err := await(patience); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines are left after the tests:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// await returns nil once no goroutine is left, or what is left after a while.
func await(most time.Duration) (left error) {
	for deadline := time.Now().Add(most); ; { // goleak itself looks for half a second
		if left = goleak.Find(); left == nil || time.Now().After(deadline) {
			return left
		}
	}
}
