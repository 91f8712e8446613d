package lockwheel

import (
	"sync/atomic"
	"time"
)

const (
	// mostEnding is how many goroutines of an engine end contexts of holds: they never block, but very many children take long.
	mostEnding = 4
	// mostLeaving is how many leave contexts of callers, where each may hang in code of the caller; mostLeft is how many
	// contexts wait to be left while all of these hang. Those beyond stay as they are until they end themselves.
	mostLeaving, mostLeft = 64, 1 << 20
)

// crew runs functions beside the loop, in any order, on a bounded number of goroutines that end when there is nothing to do.
// The zero crew runs none: most is to be set.
type crew struct {
	most    int32
	limit   int64 // of functions that were put in and have not ended
	newest  atomic.Pointer[task]
	working atomic.Int32
	open    atomic.Int64
	empty   atomic.Pointer[chan struct{}] // is closed when none is open
	panics  atomic.Uint64
	dropped atomic.Uint64
}

type task struct {
	next *task
	f    func()
}

// put never blocks.
func (c *crew) put(f func()) {
	if c.open.Add(1) > c.limit {
		c.dropped.Add(1)
		c.closed()
		return
	}
	t := &task{f: f}
	for t.next = c.newest.Load(); !c.newest.CompareAndSwap(t.next, t); t.next = c.newest.Load() {
	}
	c.call()
}

// call has one more goroutine work, if there is room for it.
func (c *crew) call() {
	for n := c.working.Load(); n < c.most; n = c.working.Load() {
		if c.working.CompareAndSwap(n, n+1) {
			go c.work()
			return
		}
	}
}

// work goes on after a panic, or a Goexit, with what comes next.
func (c *crew) work() {
	ended := false
	defer func() {
		if !ended {
			_ = recover()
			c.panics.Add(1)
			c.closed()
			go c.work()
		}
	}()
	for t := c.next(); t != nil; t = c.next() {
		t.f()
		c.closed()
	}
	ended = true
	c.working.Add(-1)
	if c.newest.Load() != nil { // it came when this one had looked, and before there was room for another
		c.call()
	}
}

func (c *crew) next() *task {
	for {
		t := c.newest.Load()
		if t == nil || c.newest.CompareAndSwap(t, t.next) {
			return t
		}
	}
}

// closed counts a function that has ended.
func (c *crew) closed() {
	if c.open.Add(-1) == 0 {
		if empty := c.empty.Swap(nil); empty != nil {
			close(*empty)
		}
	}
}

// wait waits until all that was put in has ended, but not beyond a moment; the zero moment is none. One waits at a time.
func (c *crew) wait(until time.Time) {
	empty := make(chan struct{})
	c.empty.Store(&empty)
	if c.open.Load() == 0 {
		return
	}
	var late <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-empty:
	case <-late:
	}
}
