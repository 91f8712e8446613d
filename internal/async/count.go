package async

import (
	"sync/atomic"
	"time"
)

// Count is the number of things that have begun and not ended. The zero Count is 0. Add, Done and Load are safe for
// concurrent use.
type Count struct {
	pending atomic.Int64
	idle    atomic.Pointer[chan struct{}] // closed when pending is 0; nil if no caller waits
}

// Add counts one more, and returns the number.
func (c *Count) Add() int64 { return c.pending.Add(1) }

// Load returns the number.
func (c *Count) Load() int64 { return c.pending.Load() }

// Done counts one less.
func (c *Count) Done() {
	if c.pending.Add(-1) == 0 {
		if empty := c.idle.Swap(nil); empty != nil {
			close(*empty)
		}
	}
}

// Wait waits until the number is 0, or until the given time; the zero time is no limit. Only one caller may wait at a
// time.
func (c *Count) Wait(until time.Time) {
	var timeout <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		timeout = timer.C
	}
	for {
		empty := make(chan struct{})
		c.idle.Store(&empty)
		if c.pending.Load() == 0 {
			return
		}
		select {
		case <-empty: // by a Done from before an Add, maybe: then it is not 0
		case <-timeout:
			return
		}
	}
}
