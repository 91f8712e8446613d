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
func (q *CallbackQueue) Submit(f func()) {
	select {
	case q.queue <- f:
	default:
		q.dropped.Add(1)
	}
}

// run continues with the next function after a panic or a Goexit.
func (q *CallbackQueue) run() {
	ended := false
	defer func() {
		if ended {
			close(q.done)
			return
		}
		what := recover()
		q.panics.Add(1)
		if q.onPanic != nil {
			q.onPanic(what, debug.Stack())
		}
		go q.run()
	}()
	for f := q.next(); f != nil; f = q.next() {
		f()
	}
	ended = true
}

// next returns nil once no function follows.
func (q *CallbackQueue) next() func() {
	select {
	case f := <-q.queue:
		return f
	case <-q.closing:
	}
	select {
	case f := <-q.queue:
		return f
	default:
		return nil
	}
}

// Close lets the queued functions run, and then ends the goroutine.
func (q *CallbackQueue) Close() {
	if q != nil {
		close(q.closing)
	}
}

// Wait waits for that until the given time at most. What has not run by then continues without being waited for.
func (q *CallbackQueue) Wait(until time.Time) {
	if q == nil {
		return
	}
	select {
	case <-q.done:
		return
	default:
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-q.done:
	case <-timer.C:
	}
}

// Counts returns how many functions were dropped, and how many panicked or ended the goroutine.
func (q *CallbackQueue) Counts() (dropped, panics uint64) {
	if q == nil {
		return 0, 0
	}
	return q.dropped.Load(), q.panics.Load()
}
