package lockwheel

import (
	"sync/atomic"
	"time"
)

const (
	// mostEnding is the maximum number of an engine's goroutines that end contexts of holds. They never block, but
	// very many children take long.
	mostEnding = 4
	// mostLeaving is the maximum number of goroutines that unregister from callers' contexts, where each may hang in
	// code of the caller. mostLeft is the maximum number of contexts that wait while all of these hang. Further ones
	// stay registered until they end themselves.
	mostLeaving, mostLeft = 64, 1 << 20
)

// crew is a pool that runs functions beside the loop, in any order. Its goroutines are bounded in number and end when
// there is nothing to do. The zero crew runs nothing until most is set.
type crew struct {
	most    int32
	limit   int64 // maximum number of functions that were put in and have not ended
	newest  atomic.Pointer[task]
	working atomic.Int32
	open    atomic.Int64
	empty   atomic.Pointer[chan struct{}] // closed when open is 0
	panics  atomic.Uint64
	dropped atomic.Uint64
}

type task struct {
	next *task
	f    func()
}

// put never blocks. Beyond the limit it drops f and counts it.
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

// call starts another goroutine unless there are most already.
func (c *crew) call() {
	for n := c.working.Load(); n < c.most; n = c.working.Load() {
		if c.working.CompareAndSwap(n, n+1) {
			go c.work()
			return
		}
	}
}

// work continues with the next function after a panic or a Goexit.
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
	if c.newest.Load() != nil { // the function was put in after this goroutine's last check, while call found no room for another
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

// wait waits until all functions have ended, or until the given time; the zero time is no limit. Only one caller may
// wait at a time.
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
