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
	// mostEvents is the maximum number of events that wait for an Observer, mostRecords that of records that wait for
	// a log handler.
	mostEvents, mostRecords = 8192, 256
)

// beside runs the caller's functions on its own goroutine, so that they cannot block the loop. It runs them in the
// order of put, and drops those that arrive when its queue is full. A nil beside has nothing to run.
type beside struct {
	queue   chan func()
	over    chan struct{}                // closed when no function follows
	done    chan struct{}                // closed when all functions have run
	failed  func(what any, stack []byte) // called after a panic
	dropped atomic.Uint64
	panics  atomic.Uint64
}

func newBeside(most int, failed func(what any, stack []byte)) *beside {
	b := &beside{queue: make(chan func(), most), over: make(chan struct{}), done: make(chan struct{}), failed: failed}
	go b.run()
	return b
}

// put never blocks.
func (b *beside) put(f func()) {
	select {
	case b.queue <- f:
	default:
		b.dropped.Add(1)
	}
}

// run continues with the next function after a panic or a Goexit.
func (b *beside) run() {
	ended := false
	defer func() {
		if ended {
			close(b.done)
			return
		}
		what := recover()
		b.panics.Add(1)
		if b.failed != nil {
			b.failed(what, debug.Stack())
		}
		go b.run()
	}()
	for f := b.next(); f != nil; f = b.next() {
		f()
	}
	ended = true
}

// next returns nil once no function follows.
func (b *beside) next() func() {
	select {
	case f := <-b.queue:
		return f
	case <-b.over:
	}
	select {
	case f := <-b.queue:
		return f
	default:
		return nil
	}
}

// end lets the queued functions run, and then ends the goroutine.
func (b *beside) end() {
	if b != nil {
		close(b.over)
	}
}

// wait waits for that until the given time at most. What has not run by then continues without being waited for.
func (b *beside) wait(until time.Time) {
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

func (b *beside) counts() (dropped, panics uint64) {
	if b == nil {
		return 0, 0
	}
	return b.dropped.Load(), b.panics.Load()
}

// logBeside is a log handler that handles records beside the loop.
type logBeside struct {
	handler slog.Handler
	beside  *beside
}

// Enabled returns true. The caller's handler may block, so its Enabled is called later, beside the loop.
func (l *logBeside) Enabled(context.Context, slog.Level) bool { return true }

func (l *logBeside) Handle(ctx context.Context, r slog.Record) error {
	l.beside.put(func() {
		if l.handler.Enabled(ctx, r.Level) {
			_ = l.handler.Handle(ctx, r)
		}
	})
	return nil
}

func (l *logBeside) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logBeside{l.handler.WithAttrs(attrs), l.beside}
}

func (l *logBeside) WithGroup(name string) slog.Handler {
	return &logBeside{l.handler.WithGroup(name), l.beside}
}

// audience notifies an Observer and a log of what an engine does.
type audience struct {
	observer *Observer
	events   *beside      // nil without an Observer
	records  *beside      // nil without a Logger
	log      *slog.Logger // for the loop; nil without a Logger
}

func newAudience(options *Options) *audience {
	a := &audience{observer: &options.Observer}
	if options.Logger != nil {
		a.records = newBeside(mostRecords, nil)
		a.log = slog.New(&logBeside{options.Logger.Handler(), a.records})
	}
	if o := a.observer; o.Acquired != nil || o.Refused != nil || o.Released != nil || o.Lost != nil || o.Late != nil {
		a.events = newBeside(mostEvents, a.panicked)
	}
	return a
}

// panicked logs a panic of an Observer.
func (a *audience) panicked(what any, stack []byte) {
	if a.log != nil {
		a.log.Error("lockwheel: Options.Observer panicked", "panic", fmt.Sprint(what), "stack", string(stack))
	}
}

// end delivers the remaining events and records, until the given time at the latest.
func (a *audience) end(until time.Time) {
	a.events.end()
	a.events.wait(until)
	a.records.end()
	a.records.wait(until)
}

func (a *audience) acquired(name string, waited time.Duration) {
	if tell := a.observer.Acquired; tell != nil {
		a.events.put(func() { tell(name, waited) })
	}
}

func (a *audience) refused(name string, waited time.Duration, err error) {
	if tell := a.observer.Refused; tell != nil {
		a.events.put(func() { tell(name, waited, err) })
	}
}

// released and lost wait until the hold's Done is closed before they notify the Observer.
func (a *audience) released(name string, held time.Duration, told <-chan struct{}) {
	if tell := a.observer.Released; tell != nil {
		a.events.put(func() {
			after(told)
			tell(name, held)
		})
	}
}

func (a *audience) lost(name string, err error, told <-chan struct{}) {
	if tell := a.observer.Lost; tell != nil {
		a.events.put(func() {
			after(told)
			tell(name, err)
		})
	}
}

func after(told <-chan struct{}) {
	if told != nil {
		<-told
	}
}

func (a *audience) late(turn time.Duration) { a.events.put(func() { a.observer.Late(turn) }) }
