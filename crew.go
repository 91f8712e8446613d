package lockwheel

import (
	"sync/atomic"
	"time"
)

const (
	// maxEndingWorkers is the maximum number of an engine's goroutines that end contexts of holds. They never block, but
	// very many children take long.
	maxEndingWorkers = 4
	// maxDetachingWorkers is the maximum number of goroutines that unregister from callers' contexts, where each may hang in
	// code of the caller. maxDetaching is the maximum number of contexts that wait while all of these hang. Further ones
	// stay registered until they end themselves.
	maxDetachingWorkers, maxDetaching = 64, 1 << 20
)

// workerPool is a pool that runs functions beside the loop, in any order. Its goroutines are bounded in number and end when
// there is nothing to do. The zero workerPool runs nothing until maxWorkers is set.
type workerPool struct {
	maxWorkers int32
	maxTasks   int64 // maximum number of functions that were put in and have not ended
	head       atomic.Pointer[poolTask]
	workers    atomic.Int32
	pending    atomic.Int64
	idle       atomic.Pointer[chan struct{}] // closed when open is 0
	panics     atomic.Uint64
	dropped    atomic.Uint64
}

type poolTask struct {
	next *poolTask
	run  func()
}

// submit never blocks. Beyond the limit it drops f and counts it.
func (c *workerPool) submit(f func()) {
	if c.pending.Add(1) > c.maxTasks {
		c.dropped.Add(1)
		c.taskDone()
		return
	}
	t := &poolTask{run: f}
	for t.next = c.head.Load(); !c.head.CompareAndSwap(t.next, t); t.next = c.head.Load() {
	}
	c.startWorker()
}

// startWorker starts another goroutine unless there are most already.
func (c *workerPool) startWorker() {
	for n := c.workers.Load(); n < c.maxWorkers; n = c.workers.Load() {
		if c.workers.CompareAndSwap(n, n+1) {
			go c.work()
			return
		}
	}
}

// work continues with the next function after a panic or a Goexit.
func (c *workerPool) work() {
	ended := false
	defer func() {
		if !ended {
			_ = recover()
			c.panics.Add(1)
			c.taskDone()
			go c.work()
		}
	}()
	for t := c.next(); t != nil; t = c.next() {
		t.run()
		c.taskDone()
	}
	ended = true
	c.workers.Add(-1)
	if c.head.Load() != nil { // the function was put in after this goroutine's last check, while call found no room for another
		c.startWorker()
	}
}

func (c *workerPool) next() *poolTask {
	for {
		t := c.head.Load()
		if t == nil || c.head.CompareAndSwap(t, t.next) {
			return t
		}
	}
}

// taskDone counts a function that has ended.
func (c *workerPool) taskDone() {
	if c.pending.Add(-1) == 0 {
		if empty := c.idle.Swap(nil); empty != nil {
			close(*empty)
		}
	}
}

// wait waits until all functions have ended, or until the given time; the zero time is no limit. Only one caller may
// wait at a time.
func (c *workerPool) wait(until time.Time) {
	empty := make(chan struct{})
	c.idle.Store(&empty)
	if c.pending.Load() == 0 {
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
