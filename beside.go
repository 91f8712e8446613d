package lockwheel

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"
)

const (
	// maxQueuedEvents is the maximum number of events that wait for an Observer, maxQueuedRecords that of records that wait for
	// a log handler.
	maxQueuedEvents, maxQueuedRecords = 8192, 256
)

// callbackQueue runs the caller's functions on its own goroutine, so that they cannot block the loop. It runs them in the
// order of put, and drops those that arrive when its queue is full. A nil beside has nothing to run.
type callbackQueue struct {
	queue   chan func()
	closing chan struct{}                // closed when no function follows
	done    chan struct{}                // closed when all functions have run
	onPanic func(what any, stack []byte) // called after a panic
	dropped atomic.Uint64
	panics  atomic.Uint64
}

func newCallbackQueue(most int, failed func(what any, stack []byte)) *callbackQueue {
	b := &callbackQueue{queue: make(chan func(), most), closing: make(chan struct{}), done: make(chan struct{}), onPanic: failed}
	go b.run()
	return b
}

// submit never blocks.
func (b *callbackQueue) submit(f func()) {
	select {
	case b.queue <- f:
	default:
		b.dropped.Add(1)
	}
}

// run continues with the next function after a panic or a Goexit.
func (b *callbackQueue) run() {
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
func (b *callbackQueue) next() func() {
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

// close lets the queued functions run, and then ends the goroutine.
func (b *callbackQueue) close() {
	if b != nil {
		close(b.closing)
	}
}

// wait waits for that until the given time at most. What has not run by then continues without being waited for.
func (b *callbackQueue) wait(until time.Time) {
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

func (b *callbackQueue) counts() (dropped, panics uint64) {
	if b == nil {
		return 0, 0
	}
	return b.dropped.Load(), b.panics.Load()
}

// asyncLogHandler is a log handler that handles records beside the loop.
type asyncLogHandler struct {
	handler slog.Handler
	queue   *callbackQueue
}

// Enabled returns true. The caller's handler may block, so its Enabled is called later, beside the loop.
func (l *asyncLogHandler) Enabled(context.Context, slog.Level) bool { return true }

func (l *asyncLogHandler) Handle(ctx context.Context, r slog.Record) error {
	l.queue.submit(func() {
		if l.handler.Enabled(ctx, r.Level) {
			_ = l.handler.Handle(ctx, r)
		}
	})
	return nil
}

func (l *asyncLogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &asyncLogHandler{l.handler.WithAttrs(attrs), l.queue}
}

func (l *asyncLogHandler) WithGroup(name string) slog.Handler {
	return &asyncLogHandler{l.handler.WithGroup(name), l.queue}
}

// listeners notifies an Observer and a log of what an engine does.
type listeners struct {
	observer *Observer
	events   *callbackQueue // nil without an Observer
	records  *callbackQueue // nil without a Logger
	log      *slog.Logger   // for the loop; nil without a Logger
}

func newListeners(options *Options) *listeners {
	a := &listeners{observer: &options.Observer}
	if options.Logger != nil {
		a.records = newCallbackQueue(maxQueuedRecords, nil)
		a.log = slog.New(&asyncLogHandler{options.Logger.Handler(), a.records})
	}
	if o := a.observer; o.Acquired != nil || o.Rejected != nil || o.Released != nil || o.Lost != nil || o.SlowTurn != nil {
		a.events = newCallbackQueue(maxQueuedEvents, a.logPanic)
	}
	return a
}

// logPanic logs a panic of an Observer.
func (a *listeners) logPanic(what any, stack []byte) {
	if a.log != nil {
		a.log.Error("lockwheel: Options.Observer panicked", "panic", fmt.Sprint(what), "stack", string(stack))
	}
}

// close delivers the remaining events and records, until the given time at the latest.
func (a *listeners) close(until time.Time) {
	a.events.close()
	a.events.wait(until)
	a.records.close()
	a.records.wait(until)
}

func (a *listeners) acquired(name string, waited time.Duration) {
	if tell := a.observer.Acquired; tell != nil {
		a.events.submit(func() { tell(name, waited) })
	}
}

func (a *listeners) rejected(name string, waited time.Duration, err error) {
	if tell := a.observer.Rejected; tell != nil {
		a.events.submit(func() { tell(name, waited, err) })
	}
}

// released and lost wait until the hold's Done is closed before they notify the Observer.
func (a *listeners) released(name string, held time.Duration, told <-chan struct{}) {
	if tell := a.observer.Released; tell != nil {
		a.events.submit(func() {
			waitFor(told)
			tell(name, held)
		})
	}
}

func (a *listeners) lost(name string, err error, told <-chan struct{}) {
	if tell := a.observer.Lost; tell != nil {
		a.events.submit(func() {
			waitFor(told)
			tell(name, err)
		})
	}
}

func waitFor(told <-chan struct{}) {
	if told != nil {
		<-told
	}
}

func (a *listeners) slowTurn(turn time.Duration) {
	a.events.submit(func() { a.observer.SlowTurn(turn) })
}
