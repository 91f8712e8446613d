package bench

import (
	"fmt"
	"time"

	"github.com/lockwheel/lockwheel/bench/peers"
)

// stepWait is the timeout of a step without a fixed length, such as acquiring the locks that are to be held.
const stepWait = 30 * time.Second

// bounded returns f's error, or an error that says what hangs; f then continues to run.
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

// shut closes a contestant. If it hangs, it continues to run, as its goroutines do.
func shut(c peers.Contestant) {
	_ = bounded("Close", grace, func() error { c.Close(); return nil })
}
