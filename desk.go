package lockwheel

import "sync/atomic"

// desk runs functions from several goroutines one at a time. The goroutine that brings a function to an idle desk
// runs it, and all that are brought meanwhile. It never blocks another goroutine, and it has no goroutine of its own.
type desk struct {
	newest atomic.Pointer[note]
	manned atomic.Bool
}

// note is one queued function.
type note struct {
	next  *note
	event func()
}

// bring runs the event before it returns, or leaves it to the goroutine that is at the desk. An event may bring
// others.
func (d *desk) bring(event func()) {
	n := &note{event: event}
	for n.next = d.newest.Load(); !d.newest.CompareAndSwap(n.next, n); n.next = d.newest.Load() {
	}
	// After it has cleared manned, the goroutine checks the queue again: an event may have been brought just before that.
	for d.newest.Load() != nil && d.manned.CompareAndSwap(false, true) {
		d.work()
		d.manned.Store(false)
	}
}

func (d *desk) work() {
	var oldest *note
	for n := d.newest.Swap(nil); n != nil; {
		n.next, oldest, n = oldest, n, n.next
	}
	for ; oldest != nil; oldest = oldest.next {
		oldest.event()
	}
}
