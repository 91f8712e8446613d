// Package async runs functions beside the loop: in order on one goroutine ([CallbackQueue]), on a few ([WorkerPool]),
// or on the goroutine that submits them, one at a time ([Executor]). None of them blocks the goroutine that submits.
package async

import (
	"sync/atomic"
	"time"
)

// WorkerPool is a pool that runs functions beside the loop, in any order. Its goroutines are bounded in number and end
// when there is nothing to do. The zero WorkerPool runs nothing until MaxWorkers is set.
type WorkerPool struct {
	MaxWorkers int32
	MaxTasks   int64 // maximum number of functions that were put in and have not ended
	head       atomic.Pointer[poolTask]
	workers    atomic.Int32
	pending    atomic.Int64
	idle       atomic.Pointer[chan struct{}] // closed when pending is 0
	Panics     atomic.Uint64
	dropped    atomic.Uint64
}

type poolTask struct {
	next *poolTask
	run  func()
}

// Submit never blocks. Beyond the limit it drops f and counts it.
func (c *WorkerPool) Submit(f func()) {
	if c.pending.Add(1) > c.MaxTasks {
		c.dropped.Add(1)
		c.taskDone()
		return
	}
	t := &poolTask{run: f}
	for t.next = c.head.Load(); !c.head.CompareAndSwap(t.next, t); t.next = c.head.Load() {
	}
	c.startWorker()
}

// startWorker starts another goroutine unless there are MaxWorkers already.
func (c *WorkerPool) startWorker() {
	for n := c.workers.Load(); n < c.MaxWorkers; n = c.workers.Load() {
		if c.workers.CompareAndSwap(n, n+1) {
			go c.work()
			return
		}
	}
}

// work continues with the next function after a panic or a Goexit.
func (c *WorkerPool) work() {
	ended := false
	defer func() {
		if !ended {
			_ = recover()
			c.Panics.Add(1)
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
	if c.head.Load() != nil { // the function was put in after this goroutine's last check, while startWorker found no room for another
		c.startWorker()
	}
}

func (c *WorkerPool) next() *poolTask {
	for {
		t := c.head.Load()
		if t == nil || c.head.CompareAndSwap(t, t.next) {
			return t
		}
	}
}

// taskDone counts a function that has ended.
func (c *WorkerPool) taskDone() {
	if c.pending.Add(-1) == 0 {
		if empty := c.idle.Swap(nil); empty != nil {
			close(*empty)
		}
	}
}

// Wait waits until all functions have ended, or until the given time; the zero time is no limit. Only one caller may
// wait at a time.
func (c *WorkerPool) Wait(until time.Time) {
	empty := make(chan struct{})
	c.idle.Store(&empty)
	if c.pending.Load() == 0 {
		return
	}
	var timeout <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-empty:
	case <-timeout:
	}
}
