package async

import "sync/atomic"

// Executor runs functions from several goroutines one at a time. The goroutine that submits a function to an idle executor
// runs it, and all that are submitted meanwhile. It never blocks another goroutine, and it has no goroutine of its own.
type Executor struct {
	head    atomic.Pointer[executorTask]
	running atomic.Bool
}

// executorTask is one queued function.
type executorTask struct {
	next *executorTask
	run  func()
}

// Submit runs the event before it returns, or leaves it to the goroutine that is draining the queue. An event may submit
// others.
func (d *Executor) Submit(event func()) {
	n := &executorTask{run: event}
	for n.next = d.head.Load(); !d.head.CompareAndSwap(n.next, n); n.next = d.head.Load() {
	}
	// After it has cleared manned, the goroutine checks the queue again: an event may have been brought just before that.
	for d.head.Load() != nil && d.running.CompareAndSwap(false, true) {
		d.drain()
		d.running.Store(false)
	}
}

func (d *Executor) drain() {
	var oldest *executorTask
	for n := d.head.Swap(nil); n != nil; {
		n.next, oldest, n = oldest, n, n.next
	}
	for ; oldest != nil; oldest = oldest.next {
		oldest.run()
	}
}
