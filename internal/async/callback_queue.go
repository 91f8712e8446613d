package async

import (
	"runtime/debug"
	"sync/atomic"
	"time"
)

// CallbackQueue runs the caller's functions on its own goroutine, so that they cannot block the loop. It runs them in
// the order of Submit, and drops those that arrive when its queue is full. A nil CallbackQueue has nothing to run.
type CallbackQueue struct {
	queue   chan func()
	closing chan struct{}                // closed when no function follows
	done    chan struct{}                // closed when all functions have run
	onPanic func(what any, stack []byte) // called after a panic
	dropped atomic.Uint64
	panics  atomic.Uint64
}

// NewCallbackQueue starts the goroutine of a queue for at most limit functions. onPanic may be nil.
func NewCallbackQueue(limit int, onPanic func(what any, stack []byte)) *CallbackQueue {
	b := &CallbackQueue{queue: make(chan func(), limit), closing: make(chan struct{}), done: make(chan struct{}), onPanic: onPanic}
	go b.run()
	return b
}

// Submit never blocks.
func (b *CallbackQueue) Submit(f func()) {
	select {
	case b.queue <- f:
	default:
		b.dropped.Add(1)
	}
}

// run continues with the next function after a panic or a Goexit.
func (b *CallbackQueue) run() {
	ended := false
	defer func() {
		if ended {
			close(b.done)
			return
		}
		what := recover()
		b.panics.Add(1)
		if b.onPanic != nil {
			b.onPanic(what, debug.Stack())
		}
		go b.run()
	}()
	for f := b.next(); f != nil; f = b.next() {
		f()
	}
	ended = true
}

// next returns nil once no function follows.
func (b *CallbackQueue) next() func() {
	select {
	case f := <-b.queue:
		return f
	case <-b.closing:
	}
	select {
	case f := <-b.queue:
		return f
	default:
		return nil
	}
}

// Close lets the queued functions run, and then ends the goroutine.
func (b *CallbackQueue) Close() {
	if b != nil {
		close(b.closing)
	}
}

// Wait waits for that until the given time at most. What has not run by then continues without being waited for.
func (b *CallbackQueue) Wait(until time.Time) {
	if b == nil {
		return
	}
	select {
	case <-b.done:
		return
	default:
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-b.done:
	case <-timer.C:
	}
}

// Counts returns how many functions were dropped, and how many panicked or ended the goroutine.
func (b *CallbackQueue) Counts() (dropped, panics uint64) {
	if b == nil {
		return 0, 0
	}
	return b.dropped.Load(), b.panics.Load()
}
