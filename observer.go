package lockwheel

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/lockwheel/lockwheel/internal/async"
)

const (
	// maxQueuedEvents is the maximum number of events that wait for an Observer, maxQueuedRecords that of records that wait for
	// a log handler.
	maxQueuedEvents, maxQueuedRecords = 8192, 256
)

// asyncLogHandler is a log handler that handles records beside the loop.
type asyncLogHandler struct {
	handler slog.Handler
	queue   *async.CallbackQueue
}

// Enabled returns true. The caller's handler may block, so its Enabled is called later, beside the loop.
func (l *asyncLogHandler) Enabled(context.Context, slog.Level) bool { return true }

func (l *asyncLogHandler) Handle(ctx context.Context, r slog.Record) error {
	l.queue.Submit(func() {
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
	events   *async.CallbackQueue // nil without an Observer
	records  *async.CallbackQueue // nil without a Logger
	log      *slog.Logger         // for the loop; nil without a Logger
}

func newListeners(options *Options) *listeners {
	a := &listeners{observer: &options.Observer}
	if options.Logger != nil {
		a.records = async.NewCallbackQueue(maxQueuedRecords, nil)
		a.log = slog.New(&asyncLogHandler{options.Logger.Handler(), a.records})
	}
	if o := a.observer; o.Acquired != nil || o.Rejected != nil || o.Released != nil || o.Lost != nil || o.SlowTurn != nil {
		a.events = async.NewCallbackQueue(maxQueuedEvents, a.logPanic)
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
	a.events.Close()
	a.events.Wait(until)
	a.records.Close()
	a.records.Wait(until)
}

func (a *listeners) acquired(name string, waited time.Duration) {
	if tell := a.observer.Acquired; tell != nil {
		a.events.Submit(func() { tell(name, waited) })
	}
}

func (a *listeners) rejected(name string, waited time.Duration, err error) {
	if tell := a.observer.Rejected; tell != nil {
		a.events.Submit(func() { tell(name, waited, err) })
	}
}

// released and lost wait until the hold's Done is closed before they notify the Observer.
func (a *listeners) released(name string, held time.Duration, told <-chan struct{}) {
	if tell := a.observer.Released; tell != nil {
		a.events.Submit(func() {
			waitFor(told)
			tell(name, held)
		})
	}
}

func (a *listeners) lost(name string, err error, told <-chan struct{}) {
	if tell := a.observer.Lost; tell != nil {
		a.events.Submit(func() {
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
	a.events.Submit(func() { a.observer.SlowTurn(turn) })
}
