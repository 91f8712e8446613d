package bench

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// stepTimeout is the timeout of a step without a fixed length, such as acquiring the locks that are to be held.
const stepTimeout = 30 * time.Second

// withTimeout returns f's error, or an error that says what hangs; f then continues to run.
func withTimeout(what string, d time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		return fmt.Errorf("hangs: %s did not end within %v", what, d)
	}
}

// closeWithTimeout closes a contestant. If it hangs, it continues to run, as its goroutines do.
func closeWithTimeout(c peers.Contestant) {
	_ = withTimeout("Close", grace, func() error { c.Close(); return nil })
}
