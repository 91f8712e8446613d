package bench

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// stepWait is how long a step may take that has no length of its own, such as to acquire what is to be held.
const stepWait = 30 * time.Second

// bounded returns f's error, or one that says what hangs. f is then left behind.
func bounded(what string, d time.Duration, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }()
	select {
	case err := <-done:
		return err
	case <-time.After(d):
		return fmt.Errorf("hangs: %s did not end within %v", what, d)
	}
}

// shut closes a contestant; one that hangs is left behind, as its goroutines were.
func shut(c peers.Contestant) {
	_ = bounded("Close", grace, func() error { c.Close(); return nil })
}
