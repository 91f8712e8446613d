package lockwheel

import "sync/atomic"

// desk is where what happens on several loops becomes one event after the other. Whoever brings an event works it
// off, and those that others bring meanwhile. Nobody waits, and there is no goroutine for it.
type desk struct {
	newest atomic.Pointer[note]
	manned atomic.Bool
}

// note is one event.
type note struct {
	next  *note
	event func()
}

// bring has an event happen: before it returns, or soon, by whoever is at the desk. An event may bring others.
func (d *desk) bring(event func()) {
	n := &note{event: event}
	for n.next = d.newest.Load(); !d.newest.CompareAndSwap(n.next, n); n.next = d.newest.Load() {
	}
	// Whoever leaves the desk looks once more, so what was brought before that is not left lying.
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
