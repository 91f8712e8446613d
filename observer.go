package lockwheel

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/lockwheel/lockwheel/engine"
	"github.com/lockwheel/lockwheel/internal/async"
	"github.com/lockwheel/lockwheel/internal/identity"
)

const (
	// maxQueuedEvents is the maximum number of events that wait for an Observer, maxQueuedRecords that of records that
	// wait for a log handler.
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
func (l *listeners) logPanic(what any, stack []byte) {
	if l.log != nil {
		l.log.Error("lockwheel: Options.Observer panicked", "panic", fmt.Sprint(what), "stack", string(stack))
	}
}

// close delivers the remaining events and records, until the given time at the latest.
func (l *listeners) close(until time.Time) {
	l.events.Close()
	l.events.Wait(until)
	l.records.Close()
	l.records.Wait(until)
}

func (l *listeners) acquired(name string, waited time.Duration) {
	if notify := l.observer.Acquired; notify != nil {
		l.events.Submit(func() { notify(name, waited) })
	}
}

func (l *listeners) rejected(name string, waited time.Duration, err error) {
	if notify := l.observer.Rejected; notify != nil {
		l.events.Submit(func() { notify(name, waited, err) })
	}
}

// released and lost wait until the hold's Done is closed before they notify the Observer.
func (l *listeners) released(name string, held time.Duration, done <-chan struct{}) {
	if notify := l.observer.Released; notify != nil {
		l.events.Submit(func() {
			waitFor(done)
			notify(name, held)
		})
	}
}

func (l *listeners) lost(name string, err error, done <-chan struct{}) {
	if notify := l.observer.Lost; notify != nil {
		l.events.Submit(func() {
			waitFor(done)
			notify(name, err)
		})
	}
}

func waitFor(done <-chan struct{}) {
	if done != nil {
		<-done
	}
}

func (l *listeners) slowTurn(turn time.Duration) {
	l.events.Submit(func() { l.observer.SlowTurn(turn) })
}

// TracedCall says what a call does, for a [Tracer].
type TracedCall struct {
	Op   string // "lock", "try lock", "unlock", "extend" or "force unlock"
	Name string // of the lock, without the engine's prefix; of several locks as their errors have it
	Kind string // "plain", "fenced", "fair", "reader", "writer", "multi" or "quorum"; empty for "unlock" and "extend"

	// HandedOff is set for CallEnd only: the lock came from another caller of the same engine, without a release. Several
	// locks held as one are not handed off.
	HandedOff bool

	// Took is set for CallEnd only: how long the call took, from the return of CallStart. For a lock, that is how long it
	// waited.
	Took time.Duration
}

// Tracer follows the calls that lock, unlock, extend and force, for example with a span each. Its methods run on the
// goroutine of the call, never on the loop. They may block, which delays that call alone. Calls run concurrently.
// LockAsync is not traced.
//
// A call with a nil context, of a zero Engine or of a zero Hold is not traced, except for Unlock with a nil context: it
// unlocks, and is traced as such.
type Tracer interface {
	// CallStart is called before anything is checked or sent. The call continues with the context that it returns, which
	// must be ctx or made of it; nil is ctx. For Lock, TryLock and Do it is the parent of the hold's context. If CallStart
	// panics, nothing is sent, but an Unlock ends its hold and sends the release. It does not wait for the reply.
	CallStart(ctx context.Context, call TracedCall) context.Context

	// CallEnd is called before the call returns, with the context of CallStart. hold is what a Lock returns, nil with an
	// error; for "unlock" and "extend" it is their hold. If CallEnd panics, a Lock releases its hold.
	CallEnd(ctx context.Context, call TracedCall, hold *Hold, err error)
}

// startTrace returns the context with which a traced call continues.
func startTrace(ctx context.Context, tracer Tracer, call TracedCall) context.Context {
	if traced := tracer.CallStart(ctx, call); traced != nil {
		return traced
	}
	return ctx
}

// traceLock runs a call that acquires, between the start and the end of its trace.
func traceLock(ctx context.Context, tracer Tracer, call *TracedCall, lock func(context.Context) (*Hold, error)) (*Hold, error) {
	ctx = startTrace(ctx, tracer, *call)
	begun := time.Now()
	hold, err := lock(ctx)
	call.Took = time.Since(begun)
	ended := false
	defer func() {
		if !ended && hold != nil { // its caller will not have it
			hold.giveBack()
		}
	}()
	tracer.CallEnd(ctx, *call, hold, err)
	ended = true
	return hold, err
}

// traceUnlock runs an unlock, between the start and the end of its trace. If CallStart panics, the hold ends all the
// same: its caller will not unlock it again, and the engine would renew it for ever.
func (h *Hold) traceUnlock(ctx context.Context, tracer Tracer) error {
	begun := false
	defer func() {
		if !begun {
			h.giveBack()
		}
	}()
	return h.trace(ctx, tracer, "unlock", func(ctx context.Context) error {
		begun = true
		return h.unlockAny(ctx)
	})
}

// trace runs a call that concerns a hold, between the start and the end of its trace.
func (h *Hold) trace(ctx context.Context, tracer Tracer, op string, f func(context.Context) error) error {
	call := TracedCall{Op: op, Name: h.name}
	ctx = startTrace(ctx, tracer, call)
	begun := time.Now()
	err := f(ctx)
	call.Took = time.Since(begun)
	tracer.CallEnd(ctx, call, h, err)
	return err
}

// identity returns what the engine says about itself, nil if nothing.
func (e *Engine) identity() *engine.Identity {
	if e.options.Anonymous {
		return nil
	}
	about := &engine.Identity{Key: identity.Key(e.options.Prefix, e.ID())}
	if e.options.Notify != Poll {
		about.Channel = identity.EngineChannel(e.ID())
	}
	r := identity.OfProcess(e.options.Name, e.options.PageAddress)
	about.TTL = identity.TTL(e.options.Lease)
	about.Fields = r.Fields(about.TTL)
	return about
}

// EngineInfo is what an engine says about itself, for [Holder]. Any client that may write its record could have written
// something else.
type EngineInfo struct {
	ID      string    // as [Engine.ID]
	Name    string    // [Options].Name
	Program string    // the base name of the program
	Host    string    // as the operating system names it
	PID     int       // of the process, on that host
	Version string    // of lockwheel
	Started time.Time // when it was opened, by the clock of its host
	Page    string    // [Options].PageAddress
}

// Holder says who holds a lock, for [Mutex.Holder].
type Holder struct {
	ID string // as [State].Owner: empty if the lock is free, if several readers hold it, or if another library does ([State].Foreign)

	// Engine is the engine of the holder. It is zero if there is no record of it. The holder is then a Redisson client, an
	// anonymous engine, one of another Prefix, or one that may not write its record. Or it died longer ago than its record
	// lives ([Options].Anonymous), or it connected less than 0.25 s ago and has not written the record yet.
	Engine EngineInfo

	// Since is when the holder was granted the lock, by the clock of this machine. It is zero if the engine did not reply,
	// or replied that it does not hold the lock: the server keeps no such time.
	Since time.Time

	// NotHeld says that the engine replied, and that it does not hold the lock under this ID. A grant or an unlock of this
	// moment looks like that. If a later call returns it with the same ID, the key was left behind: the server lost an
	// unlock in a restart or a failover, or another client wrote the key. It stays until its TTL is over, or until
	// [Mutex.ForceUnlock], which then takes the lock from no caller.
	NotHeld bool
}

const (
	// maxQuestions is the maximum number of holders that an engine looks up at a time.
	maxQuestions = 8
	// answerTimeout is how long an engine has for an answer, unless Options.CallTimeout is shorter.
	answerTimeout = time.Second
)

// lookups are the goroutines of Holder. newLookups makes one; of the zero value none may begin. It is safe for
// concurrent use.
type lookups struct {
	slots  chan struct{}   // has a value for each goroutine
	ctx    context.Context // ends with the engine
	cancel context.CancelFunc
}

func newLookups() lookups {
	l := lookups{slots: make(chan struct{}, maxQuestions)}
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// begin reports whether one more goroutine may run. That goroutine calls done when it ends.
func (l *lookups) begin() bool {
	select {
	case l.slots <- struct{}{}:
		return true
	default:
		return false
	}
}

func (l *lookups) done() { <-l.slots }

// end takes all slots: it waits for the goroutines, and no other begins. At the given time it gives up, because the
// pool of Options.Client may have no connection for one of them.
func (l *lookups) end(until time.Time) {
	l.cancel()
	timeout := time.After(time.Until(until))
	for range maxQuestions {
		select {
		case l.slots <- struct{}{}:
		case <-timeout:
			return
		}
	}
}

// Holder says which program holds the lock, where, and since when. Locks of several readers have no holder; of one
// reader it says so.
//
// It takes the round trip of State and two more for the record. If there is a record, it asks the holder's engine
// since when, on a connection of its own. If no answer comes within 1 s or Options.CallTimeout, Since is zero. If the
// engine does not hold the lock, NotHeld is set. So it is for people and reports, not for the path of a lock. At most 8
// such calls of an engine are in flight; a further one returns only the holder's id.
//
// It blocks for at most two of Options.CallTimeout, or until ctx ends. It returns the errors of State. A record that
// cannot be read is no error: Engine is zero then. If the engine is closed meanwhile, the result has what is known.
func (m Mutex) Holder(ctx context.Context) (Holder, error) {
	state, err := m.State(ctx)
	if err != nil || state.Owner == "" {
		return Holder{}, err
	}
	h := Holder{ID: state.Owner}
	id, tenure, ok := identity.EngineOf(state.Owner)
	link, lookups := m.engine.link.Load(), &m.engine.lookups
	if !ok || link == nil || !lookups.begin() {
		return h, nil
	}
	within, cancel := context.WithTimeout(ctx, m.engine.config.CallTimeout)
	stop := context.AfterFunc(lookups.ctx, cancel)
	answers := make(chan Holder, 2) // the record, and then also the answer
	go func() {
		defer lookups.done()
		defer stop()
		defer cancel() // after the last answer, so that none is missed
		defer close(answers)
		m.resolve(within, link, h, id, tenure, answers)
	}()
	return latest(within, h, answers), nil
}

// latest returns the last of the answers that come before ctx ends, or h.
func latest(ctx context.Context, h Holder, answers <-chan Holder) Holder {
	for {
		select {
		case better, more := <-answers:
			if !more {
				return h
			}
			h = better
			continue
		default:
		}
		select {
		case better, more := <-answers:
			if !more {
				return h
			}
			h = better
		case <-ctx.Done():
			return h
		}
	}
}

// resolve sends what is known of a holder, each time that more is known. It runs on a goroutine of its own, because the
// calls of a client do not end with a context.
func (m Mutex) resolve(ctx context.Context, link *link, h Holder, id string, tenure uint64, answers chan<- Holder) {
	r, known, err := identity.Read(link.client, m.engine.options.Prefix, id)
	if err != nil || !known {
		return
	}
	h.Engine = EngineInfo(r)
	answers <- h
	ctx, cancel := context.WithTimeout(ctx, min(answerTimeout, m.engine.config.CallTimeout))
	defer cancel()
	if a, replied, _ := identity.Ask(ctx, link.client, m.engine.options.Prefix, id, tenure, m.key()); replied {
		if h.NotHeld = !a.Held; a.Held {
			h.Since = time.Now().Add(-a.Age)
		}
		answers <- h
	}
}
